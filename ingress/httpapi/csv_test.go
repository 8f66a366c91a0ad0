package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSpreadsheetsDoNotEvaluateCells(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "app": "app", "-1.5": "-1.5", "12": "12", "=1+1": "'=1+1", "+cmd|' /C calc'!A0": "'+cmd|' /C calc'!A0",
		"@SUM(A1)": "'@SUM(A1)",
		"-2+3+cmd": "'-2+3+cmd", "-": "'-", "\t=1": "'\t=1", "\r=1": "'\r=1", "\n=1": "'\n=1", "a=1": "a=1",
		"＝1": "'＝1", "＋1": "'＋1", "－1": "'－1", "＠x": "'＠x", "﹦1": "'﹦1", "﹣1": "'﹣1",
		"  =1": "'  =1", " \t＝1": "' \t＝1", "\u00a0@x": "'\u00a0@x", "\ufeff=1": "'\ufeff=1", "\u200b+1": "'\u200b+1",
		" -1.5": " -1.5", " -x": "' -x", " app": " app", " ": " ", "\u3000－": "'\u3000－", "５": "５", "Ｅ＝1": "Ｅ＝1",
	} {
		require.Equal(t, want, cellOf(text), "%q", text)
	}
}
