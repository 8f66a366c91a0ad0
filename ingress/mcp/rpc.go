package mcp

import (
	"bytes"
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"adnet/ingress/httpapi"
	"adnet/internal/errs"
)

// The codes of JSON-RPC 2.0 and of MCP 2026-07-28. An error of the REST table without such a code
// has its HTTP status as its code, because MCP reserves the negative range.
const (
	codeParse              = -32700
	codeInvalidRequest     = -32600
	codeMethodNotFound     = -32601
	codeInvalidParams      = -32602
	codeInternal           = -32603
	codeResourceNotFound   = -32002
	codeHeaderMismatch     = -32020
	codeUnsupportedVersion = -32022
)

// message is a JSON-RPC request, notification or response.
type message struct {
	id       string // the text of a value; empty if absent
	method   string
	params   params
	response bool // has a result or an error in place of a method
}

// params holds the parameters of every method that are read.
type params struct {
	protocolVersion string // initialize
	capabilities    string // initialize: the text of a value; empty if absent
	uri             string // resources/read
	name            string // tools/call
	arguments       string // tools/call: the text of a value; empty if absent
	version         string // in _meta
	abilities       string // in _meta: the client's capabilities, the text of a value; empty if absent
}

// notification reports whether the sender expects no answer: the id is absent or null, or the
// message is itself a response.
func (m *message) notification() bool { return m.response || m.id == "" || m.id[0] == 'n' }

// echo returns the id for the answer, byte for byte; empty if the request has no valid id.
func (m *message) echo() string {
	if !echoes(m.id) {
		return ""
	}
	return m.id
}

// echoes reports whether id is a string or a number. A number that no number type can hold (1e400)
// would break the reader of the answer.
func echoes(id string) bool {
	switch {
	case id == "":
		return false
	case id[0] == '"':
		return true
	case id[0] != '-' && (id[0] < '0' || id[0] > '9'):
		return false
	}
	_, err := strconv.ParseFloat(id, 64)
	return err == nil
}

// envelope is a message in the form of the general decoder.
type envelope struct {
	JSONRPC string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Method  string         `json:"method"`
	Result  jsontext.Value `json:"result"`
	Error   jsontext.Value `json:"error"`
	Params  struct {
		ProtocolVersion string         `json:"protocolVersion"`
		Capabilities    jsontext.Value `json:"capabilities"`
		URI             string         `json:"uri"`
		Name            string         `json:"name"`
		Arguments       jsontext.Value `json:"arguments"`
		Meta            struct {
			Version      string         `json:"io.modelcontextprotocol/protocolVersion"`
			Capabilities jsontext.Value `json:"io.modelcontextprotocol/clientCapabilities"`
		} `json:"_meta"`
	} `json:"params"`
}

func (e *envelope) message() message {
	p := &e.Params
	return message{id: string(e.ID), method: e.Method, params: params{
		protocolVersion: p.ProtocolVersion, name: p.Name, arguments: string(p.Arguments), version: p.Meta.Version,
		capabilities: string(p.Capabilities), uri: p.URI, abilities: string(p.Meta.Capabilities),
	}}
}

var errID = errors.New("the id is not valid JSON")

// decode reads one message. With a failure the message holds the part that was understood, so that
// its id can be echoed.
func decode(body []byte) (message, *failure) {
	var e envelope
	body = bytes.Trim(body, " \t\r\n")
	sent := body
	switch {
	case len(body) == 0:
		return message{}, &failure{
			status: http.StatusBadRequest, code: codeParse, message: "the body is empty; send a JSON-RPC request",
		}
	case body[0] != '{' && jsontext.Value(body).IsValid():
		return message{}, refused("the body must be a JSON-RPC request object")
	}
	if err := json.Unmarshal(body, &e); err != nil {
		plain, changed := httpapi.Loosened(body, &e)
		if e = (envelope{}); changed {
			body, err = plain, json.Unmarshal(plain, &e)
		}
		if err != nil {
			return identified(body), malformed(err)
		}
		if !bytes.Contains(sent, e.ID) { // its sender would not find a mended id again
			return message{}, malformed(errID)
		}
	}
	m := e.message()
	m.response = m.method == "" && e.JSONRPC == "2.0" && (e.Result != nil || e.Error != nil)
	switch {
	case m.response: // to a request that was never sent; the protocol has no answer to it
		return m, nil
	case m.id != "" && m.id[0] != 'n' && !echoes(m.id):
		return m, refused("id must be a string or a number")
	case e.JSONRPC != "2.0":
		return m, refused(`jsonrpc must be "2.0"`)
	case m.method == "":
		return m, refused("method is required")
	}
	return m, nil
}

// identified returns a message with only an id. The id is empty if the text is not JSON or has two
// ids.
func identified(body []byte) message {
	var only struct {
		ID jsontext.Value `json:"id"`
	}
	if json.Unmarshal(body, &only) != nil {
		return message{}
	}
	return message{id: string(only.ID)}
}

func malformed(err error) *failure {
	switch field, problem, unfit := httpapi.Unfit(err); {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return refused("a field occurs twice")
	case unfit && (field == "params" || strings.HasPrefix(field, "params.")):
		return invalid(field + " " + problem)
	case unfit:
		return refused(field + " " + problem)
	}
	return &failure{status: http.StatusBadRequest, code: codeParse, message: "malformed JSON"}
}

func refused(text string) *failure {
	return &failure{status: http.StatusBadRequest, code: codeInvalidRequest, message: text}
}

func invalid(text string) *failure {
	return &failure{status: http.StatusOK, code: codeInvalidParams, message: text}
}

// failure is an error for the caller; message and data hold no internal details.
type failure struct {
	status     int // HTTP status
	code       int
	message    string
	data       any
	retryAfter int   // seconds
	cause      error // for the log; set if the failure is ours
}

// failed converts err to an error of this protocol.
func failed(err error) *failure {
	e := errs.Of(err)
	f := &failure{status: httpapi.Status(e.Code), message: e.Message}
	f.code = f.status
	f.retryAfter, _ = e.Extra["retry_after"].(int)
	data := map[string]any{"code": e.Code}
	for name, value := range e.Extra {
		data[name] = value
	}
	f.data = data
	if f.status >= http.StatusInternalServerError {
		// The request was valid, so the HTTP status is 200 and the answer holds the error.
		f.status, f.code, f.cause = http.StatusOK, codeInternal, err
	}
	return f
}

func (f *failure) reply(id string) ([]byte, error) {
	type body struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data,omitempty"`
	}
	return json.Marshal(struct {
		JSONRPC string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Error   body           `json:"error"`
	}{"2.0", jsontext.Value(cmp.Or(id, "null")), body{f.code, f.message, f.data}}, json.Deterministic(true))
}
