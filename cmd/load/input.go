package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"adnet/internal/demo"
)

// maxLine is the longest line of an input file in bytes, the service's limit of a body.
const maxLine = 64 << 10

// adRequest is the body of POST /v1/ad-request. Other fields of a context line are ignored.
type adRequest struct {
	Context      string   `json:"context"`
	Format       string   `json:"format,omitempty"`
	Placement    string   `json:"placement,omitempty"`
	Platform     string   `json:"platform,omitempty"`
	ActiveTools  []string `json:"active_tools,omitempty"`
	HostApp      string   `json:"host_app,omitempty"`
	UserRegion   string   `json:"user_region,omitempty"`
	UserLanguage string   `json:"user_language,omitempty"`
	SessionID    string   `json:"session_id,omitempty"`
}

// newCampaign is the body of POST /api/campaigns. Fields pass unchanged, so that only the service
// judges them.
type newCampaign map[string]jsontext.Value

func readContexts(name string) ([]adRequest, error) {
	list, err := readLines[adRequest](name, demo.RequestsJSONL)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("contexts: %s is empty", name)
	}
	return list, err
}

func readCampaigns(name string) ([]newCampaign, error) {
	if name == None {
		return nil, nil
	}
	return readLines[newCampaign](name, demo.CampaignsJSONL)
}

// readLines reads one JSON object per line; empty lines are skipped. Errors name file and line.
func readLines[T any](name string, builtIn func() ([]byte, error)) ([]T, error) {
	var input io.Reader
	if name == Demo {
		raw, err := builtIn()
		if err != nil {
			return nil, err
		}
		input = bytes.NewReader(raw)
	} else {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		input = file
	}
	scanner := bufio.NewScanner(input)
	scanner.Buffer(nil, maxLine)
	var list []T
	line := 0
	for scanner.Scan() {
		line++
		if len(bytes.TrimSpace(scanner.Bytes())) == 0 {
			continue
		}
		var value T
		if err := json.Unmarshal(scanner.Bytes(), &value); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, line, err)
		}
		list = append(list, value)
	}
	if errors.Is(scanner.Err(), bufio.ErrTooLong) {
		return nil, fmt.Errorf("%s, line %d: longer than %d bytes", name, line+1, maxLine)
	}
	return list, scanner.Err()
}
