package mcp

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
)

// stateless is the revision whose requests say everything themselves. The others, newest first,
// open with initialize; a client of theirs that names no version in its headers speaks the oldest.
const stateless = "2026-07-28"

var (
	handshake = []string{"2025-11-25", "2025-06-18", "2025-03-26"}
	supported = append([]string{stateless}, handshake...)
)

// The fields of a request's _meta that are read.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
)

const (
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
)

// era reports whether a request is of the stateless revision. It refuses one whose headers and body
// disagree, because proxies route by the headers while we act on the body.
func era(header http.Header, r *call) (modern bool, f *failure) {
	version, once := single(header, headerVersion)
	said := r.params.version
	switch {
	case !once:
		return false, mismatch("the header MCP-Protocol-Version occurs twice")
	case said != "" && version == "":
		return false, mismatch("the header MCP-Protocol-Version is required with a protocolVersion in _meta")
	case said != "" && version != said:
		return false, mismatch("the header MCP-Protocol-Version does not match the protocolVersion in _meta")
	case version != "" && !slices.Contains(supported, version):
		return false, &failure{
			status: http.StatusBadRequest, code: codeUnsupportedVersion, message: "unsupported protocol version",
			data: map[string]any{"supported": supported, "requested": shortened(version)},
		}
	case version != stateless:
		return false, nil
	case said == "":
		return false, incomplete("_meta must hold io.modelcontextprotocol/protocolVersion")
	case !strings.HasPrefix(r.params.abilities, "{"):
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

// single is a header's value; once is false when there are several.
func single(header http.Header, name string) (value string, once bool) {
	values := header[name]
	if len(values) == 0 {
		return "", true
	}
	return values[0], len(values) == 1
}

// shortened keeps an answer from growing with what was sent.
func shortened(version string) string {
	return strings.ToValidUTF8(version[:min(len(version), 32)], "")
}

func mismatch(text string) *failure {
	return &failure{status: http.StatusBadRequest, code: codeHeaderMismatch, message: text}
}

func incomplete(text string) *failure {
	return &failure{status: http.StatusBadRequest, code: codeInvalidParams, message: text}
}
