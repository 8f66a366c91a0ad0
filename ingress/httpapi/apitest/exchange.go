package apitest

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

// Exchange is a file of ingress/testdata: requests and what they are answered. In a request `${name}` is replaced by
// what the test calls so; in an expected reply too. An expected text "${*}" matches any value.
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

// Replay runs the files of ingress/testdata that begin with prefix, each in a world of its own, and holds every reply
// to the contract too.
func Replay(t *testing.T, prefix string, world func(t *testing.T) (http.Handler, map[string]string)) {
	contract := Load(t)
	for _, folder := range []string{"exemplary", "supplemental"} {
		files, err := filepath.Glob("../testdata/" + folder + "/" + prefix + "-*.json")
		require.NoError(t, err)
		require.NotEmpty(t, files, folder)
		for _, file := range files {
			t.Run(folder+"/"+strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				var x Exchange
				require.NoError(t, json.Unmarshal(text, &x, json.RejectUnknownMembers(true)))
				require.NotEmpty(t, x.Description)
				require.NotEmpty(t, x.Steps)
				handler, names := world(t)
				x.run(t, contract, handler, names)
			})
		}
	}
}

func (x *Exchange) run(t *testing.T, contract *Contract, handler http.Handler, names map[string]string) {
	for i, step := range x.Steps {
		body := step.Request.Raw
		if step.Request.Body != nil {
			encoded, err := json.Marshal(step.Request.Body)
			require.NoError(t, err)
			body = string(encoded)
		}
		r := httptest.NewRequest(step.Request.Method, fill(step.Request.Path, names), strings.NewReader(fill(body, names)))
		for name, value := range step.Request.Headers {
			r.Header.Set(name, fill(value, names))
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		contract.Check(t, r, w)
		require.Equal(t, step.Reply.Status, w.Code, "step %d: %s", i+1, w.Body)
		for name, value := range step.Reply.Headers {
			require.Equal(t, fill(value, names), w.Header().Get(name), name)
		}
		var got any
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		if err := match("body", step.Reply.Body, got, names); err != nil {
			t.Fatalf("step %d: %v\ngot %s", i+1, err, w.Body)
		}
	}
}

var variable = regexp.MustCompile(`\$\{(\w+)\}`)

// fill replaces the names that are known; others stay, so that a mistake is seen.
func fill(text string, names map[string]string) string {
	return variable.ReplaceAllStringFunc(text, func(v string) string {
		if value, known := names[v[2:len(v)-1]]; known {
			return value
		}
		return v
	})
}

func match(at string, want, got any, names map[string]string) error {
	switch want := want.(type) {
	case string:
		if want == "${*}" {
			return nil
		}
		if text, ok := got.(string); !ok || text != fill(want, names) {
			return fmt.Errorf("%s: want %q, got %v", at, fill(want, names), got)
		}
		return nil
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return fmt.Errorf("%s: want an object, got %v", at, got)
		}
		if a, b := slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(object)); !slices.Equal(a, b) {
			return fmt.Errorf("%s: want the fields %v, got %v", at, a, b)
		}
		for name, value := range want {
			if err := match(at+"."+name, value, object[name], names); err != nil {
				return err
			}
		}
		return nil
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return fmt.Errorf("%s: want %d items, got %v", at, len(want), got)
		}
		for i := range want {
			if err := match(fmt.Sprintf("%s[%d]", at, i), want[i], list[i], names); err != nil {
				return err
			}
		}
		return nil
	}
	if want != got {
		return fmt.Errorf("%s: want %v, got %v", at, want, got)
	}
	return nil
}
