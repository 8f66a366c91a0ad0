package mcp_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"adnet/ingress/track"
)

// TestToolSchemas holds what the tools take and answer in the exchanges against the schemas that
// tools/list hands out: clients check both.
func TestToolSchemas(t *testing.T) {
	f := newFixture(t, track.UnsignedRecord)
	var listed struct {
		Result struct {
			Tools []struct {
				Name         string         `json:"name"`
				InputSchema  jsontext.Value `json:"inputSchema"`
				OutputSchema jsontext.Value `json:"outputSchema"`
			} `json:"tools"`
		} `json:"result"`
	}
	require.NoError(t, json.Unmarshal(f.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).Body.Bytes(), &listed))
	input, output := map[string]*openapi3.Schema{}, map[string]*openapi3.Schema{}
	for _, tool := range listed.Result.Tools {
		input[tool.Name], output[tool.Name] = schemaOf(t, tool.InputSchema), schemaOf(t, tool.OutputSchema)
	}
	require.Len(t, input, 2)

	results, wrong := 0, 0
	files, err := filepath.Glob("../testdata/*/mcp-*.json")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var x exchange
		require.NoError(t, json.Unmarshal(text, &x))
		for _, step := range x.Steps {
			params := at(step.Request.Body, "params")
			name, _ := at(params, "name").(string)
			result, _ := at(step.Reply.Body, "result").(map[string]any)
			if input[name] == nil || result == nil {
				continue
			}
			if result["isError"] == true {
				wrong++
				continue
			}
			results++
			require.NoError(
				t, output[name].VisitJSON(result["structuredContent"], openapi3.EnableJSONSchema2020()), file,
			)
			if filepath.Base(filepath.Dir(file)) == "exemplary" {
				require.NoError(
					t, input[name].VisitJSON(at(params, "arguments"), openapi3.EnableJSONSchema2020()), file,
				)
			}
		}
	}
	require.Greater(t, results, 15)
	require.Greater(t, wrong, 15)
	for _, refused := range []string{
		`{}`, `{"ad":null}`, `{"ad":{},"reason":"x"}`, `{"headline":"x"}`, `{"campaign_id":7}`,
	} {
		var value any
		require.NoError(t, json.Unmarshal([]byte(refused), &value))
		require.Error(t, output["get_sponsored_content"].VisitJSON(value, openapi3.EnableJSONSchema2020()), refused)
	}
}

func schemaOf(t *testing.T, text []byte) *openapi3.Schema {
	t.Helper()
	s := new(openapi3.Schema)
	require.NoError(t, s.UnmarshalJSON(text))
	require.True(t, s.Type.Is("object"), "clients and models want an object at the root")
	return s
}

func at(value any, name string) any {
	object, _ := value.(map[string]any)
	return object[name]
}
