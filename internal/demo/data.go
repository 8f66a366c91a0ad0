// Package demo is what a first run of adnet shows: real campaigns and contexts, accounts to log in with,
// and four commands to paste.
//
// The password is public. Whoever loads the demo gives everybody who can reach the service the rights of
// its administrator, so it belongs into the in-memory mode on a loopback address.
package demo

import (
	"bytes"
	"embed"
	"fmt"
	"io"

	"adnet/internal/campaign"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Origin and licence of the files: data/README.md.
//
//go:embed data
var files embed.FS

const (
	campaignsFile = "data/campaigns.jsonl"
	contextsFile  = "data/contexts.jsonl"
)

// Context is one request of a user to an AI assistant.
type Context struct {
	Source   string `json:"source"` // data set it comes from
	ID       string `json:"id"`     // its id there
	Category string `json:"category"`
	Context  string `json:"context"` // at most 2,000 code points, as an ad request allows
}

// Campaigns are the demo campaigns in the order of the file: what their advertiser would send to create them.
func Campaigns() ([]campaign.Fields, error) { return read[campaign.Fields](campaignsFile) }

// Contexts are the demo contexts in the order of the file.
func Contexts() ([]Context, error) { return read[Context](contextsFile) }

// CampaignsJSONL is the file of [Campaigns], one JSON object a line.
func CampaignsJSONL() ([]byte, error) { return files.ReadFile(campaignsFile) }

// ContextsJSONL is the file of [Contexts], one JSON object a line.
func ContextsJSONL() ([]byte, error) { return files.ReadFile(contextsFile) }

func read[T any](name string) ([]T, error) {
	raw, err := files.ReadFile(name)
	if err != nil {
		return nil, err
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(raw))
	var list []T
	for {
		var value T
		// A misspelt field would silently be a default.
		err := json.UnmarshalDecode(decoder, &value, json.RejectUnknownMembers(true))
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: object %d: %w", name, len(list)+1, err)
		}
		list = append(list, value)
	}
}
