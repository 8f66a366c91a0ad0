// Package openapi is the description of the public HTTP API, served at GET /openapi.json. Routes
// and replies are tested against it in both directions.
package openapi

import _ "embed"

// Document is openapi.json: OpenAPI 3.1, written by hand except for the properties of campaigns
// (internal/campaign/gen).
//
//go:embed openapi.json
var Document []byte
