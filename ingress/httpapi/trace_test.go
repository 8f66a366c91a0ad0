package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTraceID(t *testing.T) {
	const trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	const whole = "00-" + trace + "-" + parent + "-01"
	for text, want := range map[string]string{
		whole:                                     trace,
		"00-" + trace + "-" + parent + "-00":      trace,
		"cc-" + trace + "-" + parent + "-01":      trace, // a later version
		"cc-" + trace + "-" + parent + "-01-more": trace,

		"cc-" + trace + "-" + parent + "-01more": "",
		whole + "-more":                          "",
		"":                                       "", "00": "", "00---": "", whole[:len(whole)-1]: "", whole + " ": "", " " + whole: "",
		"ff-" + trace + "-" + parent + "-01":                        "",
		"0g-" + trace + "-" + parent + "-01":                        "",
		"00-" + strings.ToUpper(trace) + "-" + parent + "-01":       "",
		"00-" + strings.Repeat("0", 32) + "-" + parent + "-01":      "",
		"00-" + trace + "-" + strings.Repeat("0", 16) + "-01":       "",
		"00-" + trace + "-" + parent + "-0x":                        "",
		"00_" + trace + "-" + parent + "-01":                        "",
		"00-" + trace + "_" + parent + "-01":                        "",
		"00-" + trace + "-" + parent + "_01":                        "",
		"00-" + trace[:31] + "\"-" + parent + "-01":                 "",
		"00-" + trace[:31] + "-" + parent + "00-01":                 "",
		"00-" + trace[:31] + "é-" + parent + "-01":                  "",
		"00-" + trace + "-" + parent[:15] + "\n-01":                 "",
		"00-" + trace + trace + "-" + parent + "-01":                "",
		strings.Repeat("00-"+trace+"-"+parent+"-01", 1000):          "",
		"cc-" + strings.Repeat("a", 31) + "-" + parent + "-01-more": "",
	} {
		require.Equal(t, want, traceID(http.Header{"Traceparent": {text}}), "%q", text)
	}
	require.Empty(t, traceID(http.Header{"Traceparent": {whole, whole}}), "two of them")
	require.Empty(t, traceID(nil))
}

// An ad request pays nothing for a header that it does not have.
func TestTraceIDAllocatesNothing(t *testing.T) {
	without := http.Header{"Accept": {"*/*"}, "Content-Type": {"application/json"}}
	with := http.Header{"Traceparent": {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}}
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = traceID(without) }))
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = traceID(with) }))
}
