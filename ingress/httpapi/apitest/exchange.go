package apitest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

// Exchange is a file of ingress/testdata: requests and their expected replies. `${name}` in a
// request or an expected reply is replaced by the value that the test binds to the name. The
// expected text "${*}" matches any value.
type Exchange struct {
	Description string `json:"description"`
	Steps       []struct {
		Request struct {
			Method  string            `json:"method"`
			Path    string            `json:"path"`
			Headers map[string]string `json:"headers"`
			Body    any               `json:"body"`
			Raw     string            `json:"raw"` // instead of body
		} `json:"request"`
		Reply struct {
			Status  int               `json:"status"`
			Headers map[string]string `json:"headers"`
			Body    any               `json:"body"`
		} `json:"reply"`
	} `json:"steps"`
}

// Files calls each for every file of ingress/testdata with the prefix, exemplary and supplemental,
// decoded into X without unknown members. Each file is a subtest. A folder without such a file
// fails.
func Files[X any](t *testing.T, prefix string, each func(t *testing.T, x *X)) {
	for _, folder := range []string{"exemplary", "supplemental"} {
		files, err := filepath.Glob(filepath.Join(exchanges(), folder, prefix+"-*.json"))
		require.NoError(t, err)
		require.NotEmpty(t, files, folder)
		for _, file := range files {
			t.Run(folder+"/"+strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				x := new(X)
				require.NoError(t, json.Unmarshal(text, x, json.RejectUnknownMembers(true)))
				each(t, x)
			})
		}
	}
}

// exchanges returns the path of ingress/testdata: tests run in the folder of their package, somewhere
// below ingress.
func exchanges() string {
	path := filepath.Join("..", "testdata")
	for range 4 {
		if _, err := os.Stat(filepath.Join(path, "exemplary")); err == nil {
			break
		}
		path = filepath.Join("..", path)
	}
	return path
}

// Replay runs the files of ingress/testdata with the prefix, each in its own world, and also checks
// every reply against the contract.
func Replay(t *testing.T, prefix string, world func(t *testing.T) (http.Handler, map[string]string)) {
	contract := Load(t)
	Files(t, prefix, func(t *testing.T, x *Exchange) {
		require.NotEmpty(t, x.Description)
		require.NotEmpty(t, x.Steps)
		handler, names := world(t)
		x.run(t, contract, handler, names)
	})
}

func (x *Exchange) run(t *testing.T, contract *Contract, handler http.Handler, names map[string]string) {
	for i, step := range x.Steps {
		body := step.Request.Raw
		if step.Request.Body != nil {
			encoded, err := json.Marshal(step.Request.Body)
			require.NoError(t, err)
			body = string(encoded)
		}
		r := httptest.NewRequest(
			step.Request.Method, Fill(step.Request.Path, names), strings.NewReader(Fill(body, names)),
		)
		for name, value := range step.Request.Headers {
			r.Header.Set(name, Fill(value, names))
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		contract.Check(t, r, w)
		require.Equal(t, step.Reply.Status, w.Code, "step %d: %s", i+1, w.Body)
		for name, value := range step.Reply.Headers {
			require.Equal(t, Fill(value, names), w.Header().Get(name), name)
		}
		var got any
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		if err := match("body", step.Reply.Body, got, names); err != nil {
			t.Fatalf("step %d: %v\ngot %s", i+1, err, w.Body)
		}
	}
}

// match compares a text with the expected one after filling in names; "${*}" accepts any value.
func match(at string, want, got any, names map[string]string) error {
	return Match(at, want, got, func(at string, want, got any) (bool, error) {
		expected, is := want.(string)
		if !is || expected == "${*}" {
			return is, nil
		}
		if text, ok := got.(string); !ok || text != Fill(expected, names) {
			return true, fmt.Errorf("%s: want %q, got %v", at, Fill(expected, names), got)
		}
		return true, nil
	})
}
