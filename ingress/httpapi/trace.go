package httpapi

import "net/http"

// The parts of a traceparent of W3C Trace Context, "00-<trace id>-<parent id>-<flags>" in lower-case
// hex.
const (
	traceAt    = len("00-")
	parentAt   = traceAt + 32 + 1
	flagsAt    = parentAt + 16 + 1
	traceparts = flagsAt + 2
)

// traceID returns the trace id of a request's traceparent, or "" if there is none. Two of them, or
// a malformed one, count as none. It allocates nothing.
func traceID(header http.Header) string {
	sent := header["Traceparent"]
	if len(sent) != 1 || len(sent[0]) < traceparts {
		return ""
	}
	text := sent[0]
	version := text[:2]
	// Version ff is invalid. A later version may have more parts; version 00 has none.
	if version == "ff" || len(text) > traceparts && (version == "00" || text[traceparts] != '-') {
		return ""
	}
	trace, parent := text[traceAt:parentAt-1], text[parentAt:flagsAt-1]
	for _, at := range []int{traceAt, parentAt, flagsAt} {
		if text[at-1] != '-' {
			return ""
		}
	}
	if !lowerHex(version) || !lowerHex(trace) || !lowerHex(parent) || !lowerHex(text[flagsAt:traceparts]) || zero(trace) || zero(parent) {
		return ""
	}
	return trace
}

// lowerHex reports whether text consists of lower-case hex digits.
func lowerHex(text string) bool {
	for i := range len(text) {
		if b := text[i]; (b < '0' || b > '9') && (b < 'a' || b > 'f') {
			return false
		}
	}
	return true
}

// zero reports whether an id is the invalid one, all zeros.
func zero(id string) bool {
	for i := range len(id) {
		if id[i] != '0' {
			return false
		}
	}
	return true
}
