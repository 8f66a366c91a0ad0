// Package apitest checks tests against schemas/openapi/openapi.json: the service must answer
// exactly as the document states.
package apitest

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"adnet/schemas/openapi"
)

// Contract holds the published document, for requests, and a strict form for replies, in which an
// unknown field is an error.
type Contract struct{ published, strict *openapi3.T }

// open lists the schemas that others extend, or that may have unlisted fields.
var open = []string{"Counts", "CampaignFields", "CampaignCreate", "CampaignUpdate"}

// Load reads and validates the document, examples included.
func Load(t testing.TB) *Contract {
	t.Helper()
	published, err := openapi3.NewLoader().LoadFromData(openapi.Document)
	require.NoError(t, err)
	require.NoError(t, published.Validate(t.Context(), openapi3.IsOpenAPI31OrLater()))
	for name, schema := range published.Components.Schemas {
		for _, example := range schema.Value.Examples {
			require.NoError(t, schema.Value.VisitJSON(example, openapi3.EnableJSONSchema2020()), "example of %s", name)
		}
	}

	var raw map[string]any
	require.NoError(t, json.Unmarshal(openapi.Document, &raw))
	for name, schema := range raw["components"].(map[string]any)["schemas"].(map[string]any) {
		if !slices.Contains(open, name) {
			closeObjects(schema)
		}
	}
	strict, err := json.Marshal(raw)
	require.NoError(t, err)
	doc, err := openapi3.NewLoader().LoadFromData(strict)
	require.NoError(t, err)
	return &Contract{published, doc}
}

func closeObjects(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		if _, object := s["properties"].(map[string]any); object {
			s["unevaluatedProperties"] = false
		}
		for _, part := range s {
			closeObjects(part)
		}
	case []any:
		for _, part := range s {
			closeObjects(part)
		}
	}
}

// Operations lists the methods and paths of the document, as "GET /api/keys/{id}".
func (c *Contract) Operations() (all []string) {
	for path, item := range c.strict.Paths.Map() {
		for method := range item.Operations() {
			all = append(all, method+" "+path)
		}
	}
	slices.Sort(all)
	return all
}

// Enum returns the values that a schema's property lists.
func (c *Contract) Enum(t testing.TB, schema, property string) (values []string) {
	t.Helper()
	s := c.strict.Components.Schemas[schema]
	require.NotNil(t, s, schema)
	for _, value := range s.Value.Properties[property].Value.Enum {
		values = append(values, value.(string))
	}
	return values
}

// Bounds returns the minimum and maximum of a numeric property, or 0 and the maximum length of a
// text.
func (c *Contract) Bounds(t testing.TB, schema, property string) (low, high float64) {
	t.Helper()
	s := c.strict.Components.Schemas[schema].Value.Properties[property].Value
	if s.MaxLength != nil {
		return 0, float64(*s.MaxLength)
	}
	require.NotNil(t, s.Min, property)
	require.NotNil(t, s.Max, property)
	return *s.Min, *s.Max
}

// Accepts fails the test if the document rejects a body that the service accepted.
func (c *Contract) Accepts(t testing.TB, r *http.Request, body string) {
	t.Helper()
	route := find(c.published, r)
	if route == nil || route.Operation.RequestBody == nil || body == "" {
		return
	}
	var value any
	require.NoError(t, json.Unmarshal([]byte(body), &value))
	schema := route.Operation.RequestBody.Value.Content.Get("application/json").Schema.Value
	require.NoError(t, schema.VisitJSON(value, openapi3.EnableJSONSchema2020()), "%s %s %s", r.Method, route.Path, body)
}

// Check fails the test if the answer w to r breaks the document. Where the document has no such
// operation, the answer must be an error of the path's form.
func (c *Contract) Check(t testing.TB, r *http.Request, w *httptest.ResponseRecorder) {
	t.Helper()
	route := find(c.strict, r)
	if route == nil {
		require.Contains(t, []int{http.StatusNotFound, http.StatusMethodNotAllowed}, w.Code, r.URL.Path)
		form := "Error"
		if r.URL.Path == "/api/mcp" {
			form = "McpError"
		}
		schema := c.strict.Components.Schemas[form].Value
		var body any
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
		require.NoError(t, schema.VisitJSON(body, openapi3.EnableJSONSchema2020()))
		return
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, Route: route},
		Status:                 w.Code, Header: w.Header(),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	input.SetBodyBytes(w.Body.Bytes())
	if err := openapi3filter.ValidateResponse(t.Context(), input); err != nil {
		t.Fatalf("%s %s answered %d against openapi.json: %s\n%s", r.Method, route.Path, w.Code, err, w.Body)
	}
}

func find(doc *openapi3.T, r *http.Request) *routers.Route {
	for _, path := range doc.Paths.InMatchingOrder() {
		item := doc.Paths.Value(path)
		if op := item.GetOperation(r.Method); op != nil && matches(path, r.URL.Path) {
			return &routers.Route{Spec: doc, Path: path, PathItem: item, Method: r.Method, Operation: op}
		}
	}
	return nil
}

func matches(template, path string) bool {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, got, func(w, g string) bool { return strings.HasPrefix(w, "{") && g != "" || w == g })
}

// Operation describes an operation for a test that calls it.
type Operation struct {
	Method, Path string
	Selector     string          // query parameter that selects a logical endpoint: action, type, op or none
	Values       []string        // values of the selector
	Callers      map[string]bool // names of the accepted schemes; "" for anyone
	IDs          []string        // query parameters that hold a UUID
	Query        []string        // query parameters
	Body         bool            // accepts application/json
	Idempotent   bool            // accepts an Idempotency-Key, and documents the 409 of its misuse
}

func takesJSON(op *openapi3.Operation) bool {
	return op.RequestBody != nil && op.RequestBody.Value.Content["application/json"] != nil
}

// Describe lists the operations.
func (c *Contract) Describe() (all []Operation) {
	for path, item := range c.published.Paths.Map() {
		for method, op := range item.Operations() {
			o := Operation{Method: method, Path: path, Callers: map[string]bool{}, Body: takesJSON(op)}
			for _, p := range op.Parameters {
				if p.Value.In == "query" {
					o.Query = append(o.Query, p.Value.Name)
				}
				switch {
				case p.Value.In == "header" && p.Value.Name == "Idempotency-Key":
					o.Idempotent = op.Responses.Value("409") != nil
				case p.Value.In == "query" && p.Value.Schema.Value.Format == "uuid":
					o.IDs = append(o.IDs, p.Value.Name)
				case p.Value.In == "query" && slices.Contains([]string{"action", "type", "op"}, p.Value.Name):
					o.Selector = p.Value.Name
					for _, v := range p.Value.Schema.Value.Enum {
						o.Values = append(o.Values, v.(string))
					}
				}
			}
			if op.Security == nil || len(*op.Security) == 0 {
				o.Callers[""] = true
			} else {
				for _, alternative := range *op.Security {
					for scheme := range alternative {
						o.Callers[scheme] = true
					}
					if len(alternative) == 0 {
						o.Callers[""] = true
					}
				}
			}
			all = append(all, o)
		}
	}
	return all
}

// Fields returns the fields of an operation's JSON body, at its top level.
func (c *Contract) Fields(method, path string) map[string]bool {
	fields := map[string]bool{}
	item := c.published.Paths.Value(path)
	if item == nil || item.GetOperation(method) == nil || !takesJSON(item.GetOperation(method)) {
		return fields
	}
	body := item.GetOperation(method).RequestBody.Value.Content["application/json"]
	addFields(body.Schema.Value, fields)
	return fields
}

func addFields(of *openapi3.Schema, to map[string]bool) {
	for name := range of.Properties {
		to[name] = true
	}
	for _, parts := range []openapi3.SchemaRefs{of.AllOf, of.AnyOf, of.OneOf} {
		for _, part := range parts {
			addFields(part.Value, to)
		}
	}
}

// Question is a query parameter whose values the document restricts.
type Question struct {
	Operation
	Name string
}

// Questions lists all such parameters.
func (c *Contract) Questions() (all []Question) {
	for _, op := range c.Describe() {
		for _, p := range c.published.Paths.Value(op.Path).GetOperation(op.Method).Parameters {
			s := p.Value.Schema.Value
			if p.Value.In == "query" &&
				(s.Format != "" || s.Enum != nil || s.Pattern != "" || s.MinLength > 0 || s.Type.Is("integer")) {
				all = append(all, Question{op, p.Value.Name})
			}
		}
	}
	return all
}

// CausesOfDiagnosis returns the causes that the document lists, in its order.
func (c *Contract) CausesOfDiagnosis(t testing.TB) (causes []string) {
	t.Helper()
	list := c.published.Components.Schemas["Diagnosis"].Value.Properties["causes"].Value.Items.Value
	for _, value := range list.Properties["cause"].Value.Enum {
		causes = append(causes, value.(string))
	}
	return causes
}
