package httpapi

import (
	"bytes"
	"encoding/csv"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
)

// WantsCSV says whether the caller asks for a table as CSV: by format=csv in the query, or by the
// header Accept.
func WantsCSV(c *gin.Context) bool {
	if format := c.Query("format"); format != "" {
		return format == "csv"
	}
	return strings.HasPrefix(strings.TrimSpace(c.GetHeader("Accept")), "text/csv")
}

// CSV answers a table whose first row names the columns, for a file of that name.
func CSV(c *gin.Context, name string, table [][]string) error {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	for _, row := range table {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = cellOf(cell)
		}
		if err := w.Write(cells); err != nil {
			return err
		}
	}
	w.Flush()
	c.Header("Content-Disposition", `attachment; filename="`+name+`.csv"`)
	c.Header("Vary", "Accept")
	c.Data(http.StatusOK, "text/csv; charset=utf-8", b.Bytes())
	return nil
}

// cellOf is a text that a spreadsheet shows and never computes: strangers choose some (the name of
// an app), and one that begins with = or the like would be a formula in whoever opens the file.
func cellOf(text string) string {
	if text != "" && (strings.ContainsRune("=+@\t\r\n", rune(text[0])) || text[0] == '-' && !isNumber(text)) {
		return "'" + text
	}
	return text
}

func isNumber(text string) bool { return strings.Trim(text[1:], "0123456789.") == "" && len(text) > 1 }
