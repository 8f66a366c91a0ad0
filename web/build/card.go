package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/evanw/esbuild/pkg/api"
)

// buildCard builds the card for hosts of MCP Apps as a single page, because it cannot load other
// files there.
func buildCard() error {
	engines, err := oldest()
	if err != nil {
		return err
	}
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{"web/mcp/card.ts"}, Bundle: true, Format: api.FormatIIFE,
		MinifyIdentifiers: true, MinifySyntax: true, MinifyWhitespace: true, LegalComments: api.LegalCommentsNone,
		Engines: engines, TsconfigRaw: "{}", LogLevel: api.LogLevelWarning,
	})
	if len(result.Errors) > 0 {
		return fmt.Errorf("%d errors", len(result.Errors))
	}
	script := bytes.TrimSpace(result.OutputFiles[0].Contents)
	if bytes.Contains(bytes.ToLower(script), []byte("</script")) {
		return errors.New("the card's script would end its element")
	}
	page, err := os.ReadFile("web/mcp/card.html")
	if err != nil {
		return err
	}
	return os.WriteFile("ingress/mcp/card.html", bytes.Replace(page, []byte("ADNET_SCRIPT"), script, 1), 0o644)
}
