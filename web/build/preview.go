package main

import (
	"fmt"
	"os"

	"github.com/evanw/esbuild/pkg/api"
)

const previews = "ingress/api/preview/dist"

// buildPreview builds the script that draws ad previews, as a single file because modules in a
// sandboxed page are cross-origin.
func buildPreview() error {
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{"web/preview/preview.ts"}, Bundle: true, Format: api.FormatIIFE,
		MinifyIdentifiers: true, MinifySyntax: true, MinifyWhitespace: true, LegalComments: api.LegalCommentsNone,
		Target: api.ES2022, TsconfigRaw: "{}", LogLevel: api.LogLevelWarning,
	})
	if len(result.Errors) > 0 {
		return fmt.Errorf("%d errors", len(result.Errors))
	}
	if err := os.MkdirAll(previews, 0o755); err != nil {
		return err
	}
	_, err := measured(previews+"/preview.js", result.OutputFiles[0].Contents)
	return err
}
