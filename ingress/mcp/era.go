package mcp

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
)

// stateless is the revision whose requests are self-contained. The others, newest first, begin with
// initialize. A client without a version in its headers counts as using 2025-03-26. Clients of
// 2024-11-05 send the same requests; that revision has no POST without a stream, but they need none.
const stateless = "2026-07-28"

var (
	handshake = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}
	supported = append([]string{stateless}, handshake...)

	// batched are the revisions with batches: those before the header existed.
	batched = []string{"", "2025-03-26", "2024-11-05"}
)

// The fields of a request's _meta that we read.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
)

const (
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
)

// era reports whether a request uses the stateless revision. It rejects a request whose headers and
// body disagree, because proxies route by the headers while we act on the body.
func era(header http.Header, r *call) (modern bool, f *failure) {
	version, once := single(header, headerVersion)
	inBody := r.params.version
	switch {
	case !once:
		return false, mismatch("the header MCP-Protocol-Version occurs twice")
	case inBody != "" && version == "":
		return false, mismatch("the header MCP-Protocol-Version is required with a protocolVersion in _meta")
	case inBody != "" && version != inBody:
		return false, mismatch("the header MCP-Protocol-Version does not match the protocolVersion in _meta")
	case version != "" && !slices.Contains(supported, version):
		return false, &failure{
			status: http.StatusBadRequest, code: codeUnsupportedVersion, message: "unsupported protocol version",
			data: map[string]any{"supported": supported, "requested": shortened(version)},
		}
	case version != stateless:
		return false, nil
	case inBody == "":
		return false, incomplete("_meta must hold io.modelcontextprotocol/protocolVersion")
	case !strings.HasPrefix(r.params.abilities, "{") && !emptyList(r.params.abilities):
		return false, incomplete("_meta must hold io.modelcontextprotocol/clientCapabilities, an object")
	}
	return true, mirrored(header, r)
}

// mirrored checks the headers that repeat the body.
func mirrored(header http.Header, r *call) *failure {
	if method, once := single(header, headerMethod); !once || method != r.method {
		return mismatch("the header Mcp-Method is missing or does not match the method")
	}
	want, field := r.params.name, "name"
	switch r.method {
	case methodRead:
		want, field = r.params.uri, "uri"
	case methodCall:
	default:
		return nil
	}
	name, once := single(header, headerName)
	if encoded, found := strings.CutPrefix(name, "=?base64?"); found && strings.HasSuffix(encoded, "?=") {
		plain, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(encoded, "?="))
		if err != nil {
			return mismatch("the header Mcp-Name is not valid Base64")
		}
		name = string(plain)
	}
	if !once || name == "" || name != want {
		return mismatch("the header Mcp-Name is missing or does not match params." + field)
	}
	return nil
}

// single returns a header's value. once is false if there are several.
func single(header http.Header, name string) (value string, once bool) {
	values := header[name]
	if len(values) == 0 {
		return "", true
	}
	return values[0], len(values) == 1
}

// shortened bounds the part of an answer that repeats the request.
func shortened(version string) string {
	return strings.ToValidUTF8(version[:min(len(version), 32)], "")
}

func mismatch(text string) *failure {
	return &failure{status: http.StatusBadRequest, code: codeHeaderMismatch, message: text}
}

func incomplete(text string) *failure {
	return &failure{status: http.StatusBadRequest, code: codeInvalidParams, message: text}
}
