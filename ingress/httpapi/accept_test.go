package httpapi

import (
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"
)

func TestAcceptIsNegotiatedByWeight(t *testing.T) {
	for accept, csv := range map[string]bool{
		"": false, "*/*": false, "application/json": false, "text/html": false, "nonsense": false, ";;,": false,
		"text/csv": true, "text/*": true, "TEXT/CSV": true, " text/csv ; charset=utf-8": true,
		"application/json, text/csv": false, "text/csv, application/json": true, "text/csv, */*": true,
		"*/*, text/csv":                               true,
		"text/csv;q=0.5, application/json":            false,
		"application/json;q=0.4, text/csv;q=0.5":      true,
		"text/csv;q=0":                                false,
		"text/csv;q=0.000, */*;q=0.1":                 false,
		"text/html, text/csv;q=0.9, */*;q=0.8":        true,
		"text/csv;q=0.1, */*;q=0.8":                   false,
		"text/*;q=0.9, text/csv;q=0.2, */*;q=0.5":     false,
		"application/*;q=0.3, text/csv;header=absent": true,
		"text/csv;Q=0.2, application/json;q=0.3":      false,
		"text/csv;q=high, application/json;q=0.9":     true,
		"application/json;q=0, text/csv;q=0.001":      true,
		"text/csvx":                                   false,
	} {
		c, _ := gin.CreateTestContext(httptest.NewRecorder())
		c.Request = httptest.NewRequest("GET", "/x", nil)
		if accept != "" {
			c.Request.Header.Set("Accept", accept)
		}
		require.Equal(t, csv, WantsCSV(c), "%q", accept)
		require.Equal(t, "Accept", c.Writer.Header().Get("Vary"))
	}
	c, _ := gin.CreateTestContext(httptest.NewRecorder())
	c.Request = httptest.NewRequest("GET", "/x", nil)
	c.Request.Header["Accept"] = []string{"application/json;q=0.1", "text/csv"}
	require.True(t, WantsCSV(c), "two lines")
	c, _ = gin.CreateTestContext(httptest.NewRecorder())
	c.Request = httptest.NewRequest("GET", "/x?format=json", nil)
	c.Request.Header.Set("Accept", "text/csv")
	require.False(t, WantsCSV(c), "the query decides")
}

func TestByteOrderMarkIsSentOnRequest(t *testing.T) {
	for query, want := range map[string]string{
		"": "a,b\n", "?bom=0": "a,b\n", "?bom=1": "\xef\xbb\xbfa,b\n",
		"?bom=true": "\xef\xbb\xbfa,b\n", "?bom=Yes": "\xef\xbb\xbfa,b\n", "?bom=on": "\xef\xbb\xbfa,b\n",
		"?bom=false": "a,b\n", "?bom=No": "a,b\n", "?bom=": "a,b\n",
	} {
		w := httptest.NewRecorder()
		c, _ := gin.CreateTestContext(w)
		c.Request = httptest.NewRequest("GET", "/x"+query, nil)
		require.NoError(t, CSV(c, "x", [][]string{{"a", "b"}}))
		require.Equal(t, want, w.Body.String(), query)
	}
}

func TestAcceptJoinsTheOtherHeadersOfVary(t *testing.T) {
	c, _ := gin.CreateTestContext(httptest.NewRecorder())
	c.Request = httptest.NewRequest("GET", "/x", nil)
	c.Writer.Header()["Vary"] = varyOrigin
	WantsCSV(c)
	require.Equal(t, []string{"Origin", "Accept"}, c.Writer.Header().Values("Vary"))
	require.Equal(t, []string{"Origin"}, varyOrigin, "the shared value stays")
}

func TestSwitchParameterIsReadInItsUsualSpellings(t *testing.T) {
	for _, text := range []string{"1", "true", "TRUE", "yes", "on", "0", "false", "no", "Off"} {
		require.True(t, SwitchForm.fits(text), text)
	}
	for _, text := range []string{"2", "maybe", "truthy", "-1"} {
		require.False(t, SwitchForm.fits(text), text)
	}
}
