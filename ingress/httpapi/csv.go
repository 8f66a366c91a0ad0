package httpapi

import (
	"bytes"
	"encoding/csv"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
)

// WantsCSV reports whether the caller requests a table as CSV, by format=csv in the query or by the
// header Accept.
func WantsCSV(c *gin.Context) bool {
	if format := c.Query("format"); format != "" {
		return format == "csv"
	}
	return strings.HasPrefix(strings.TrimSpace(c.GetHeader("Accept")), "text/csv")
}

// CSV answers with a table whose first row names the columns, as a file named name.csv.
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
	Send(c, http.StatusOK, "text/csv; charset=utf-8", b.Bytes())
	return nil
}

// cellOf returns a text that a spreadsheet displays and never evaluates. Some cells hold text from
// strangers, such as the name of an app, and a cell that begins with = or a similar character would
// be a formula in the reader's spreadsheet.
func cellOf(text string) string {
	if text != "" && (strings.ContainsRune("=+@\t\r\n", rune(text[0])) || text[0] == '-' && !isNumber(text)) {
		return "'" + text
	}
	return text
}

func isNumber(text string) bool { return strings.Trim(text[1:], "0123456789.") == "" && len(text) > 1 }
