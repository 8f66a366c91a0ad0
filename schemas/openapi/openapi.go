// Package openapi is the description of the public HTTP API, served at GET /openapi.json. Routes
// and replies are tested against it in both directions.
package openapi

import _ "embed"

// Document is openapi.json: OpenAPI 3.1, kept by hand.
//
//go:embed openapi.json
var Document []byte
