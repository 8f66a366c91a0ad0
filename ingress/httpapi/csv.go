package httpapi

import (
	"bytes"
	"encoding/csv"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"golang.org/x/text/unicode/norm"

	"adnet/internal/jsonscan"
)

// WantsCSV reports whether the caller requests a table as CSV, by format=csv in the query or by the
// header Accept.
func WantsCSV(c *gin.Context) bool {
	if format := c.Query("format"); format != "" {
		return format == "csv"
	}
	c.Writer.Header().Add("Vary", "Accept")
	return preferred(c.Request.Header["Accept"], "application/json", "text/csv") == 1
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
	return SendCSV(c, name, b.Bytes())
}

// SendCSV answers with a CSV text as a file named name.csv. If bom in the query is true, the text
// begins with a byte order mark, by which spreadsheets recognise UTF-8.
func SendCSV(c *gin.Context, name string, text []byte) error {
	if marked, _ := switchOf(c.Query("bom")); marked {
		text = append([]byte(jsonscan.ByteOrderMark), text...)
	}
	c.Header("Content-Disposition", `attachment; filename="`+name+`.csv"`)
	return sendPacked(c, text, func(body []byte) error {
		Send(c, http.StatusOK, "text/csv; charset=utf-8", body)
		return nil
	})
}

// cellOf returns a text that a spreadsheet displays and never evaluates. Some cells hold text from
// strangers, such as the name of an app, and a cell that begins with = or a similar character, full
// width and after spaces too, would be a formula in the reader's spreadsheet.
func cellOf(text string) string {
	if text == "" {
		return ""
	}
	begin := strings.TrimLeftFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cf)
	})
	first, size := utf8.DecodeRuneInString(begin)
	sign := norm.NFKC.String(string(first))
	formula := size > 0 && strings.Contains("=+@", sign) || sign == "-" && !isNumber(begin)
	if formula || strings.IndexByte("\t\r\n", text[0]) >= 0 {
		return "'" + text
	}
	return text
}

func isNumber(text string) bool {
	digits, negative := strings.CutPrefix(text, "-")
	return negative && strings.Trim(digits, "0123456789.") == "" && digits != ""
}
