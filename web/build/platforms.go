package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/evanw/esbuild/pkg/api"
)

// platforms lists the oldest versions that adnet.js, the card and the npm package run on. The build
// of the package and its tests read the same file.
const platforms = npm + "/platforms.json"

// oldest returns the platforms whose syntax a build may use.
func oldest() (list []api.Engine, err error) {
	text, err := os.ReadFile(platforms)
	if err != nil {
		return nil, err
	}
	var versions map[string]string
	if err := json.Unmarshal(text, &versions); err != nil {
		return nil, fmt.Errorf("%s: %w", platforms, err)
	}
	names := map[string]api.EngineName{
		"chrome": api.EngineChrome, "firefox": api.EngineFirefox, "node": api.EngineNode, "safari": api.EngineSafari,
	}
	for name, version := range versions {
		engine, known := names[name]
		if !known {
			return nil, fmt.Errorf("%s: unknown platform %s", platforms, name)
		}
		list = append(list, api.Engine{Name: engine, Version: version})
	}
	return list, nil
}
