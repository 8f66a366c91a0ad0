package rtb

import (
	"bytes"
	stdjson "encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	nativeresponse "github.com/prebid/openrtb/v20/native1/response"
	"github.com/prebid/openrtb/v20/openrtb2"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the replies of the table tests anew; read them before you commit")

// table is one request with its reply.
type table struct {
	Description string             `json:"description"`
	Campaigns   []string           `json:"campaigns"`
	Settings    *tableSettings     `json:"settings,omitempty"`
	Request     stdjson.RawMessage `json:"request"`
	Status      int                `json:"status"`
	Reply       stdjson.RawMessage `json:"reply,omitempty"`
}

type tableSettings struct {
	BaseURL    string            `json:"base_url,omitempty"`
	Rates      map[string]string `json:"rates,omitempty"`
	Categories []string          `json:"categories,omitempty"`
}

// Fields that differ in every reply.
var (
	newToken = regexp.MustCompile(`([&;6]t=|/s/|/r/|auction_id=)[A-Za-z0-9_-]{80,}`)
	newID    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
)

func steady(body []byte) []byte {
	return newID.ReplaceAll(newToken.ReplaceAll(body, []byte("${1}TOKEN")), []byte("BID-ID"))
}

func tables(t testing.TB) (files []string) {
	t.Helper()
	for _, kind := range []string{"exemplary", "supplemental"} {
		found, err := filepath.Glob(filepath.Join("../testdata", kind, "rtb-*.json"))
		require.NoError(t, err)
		require.NotEmpty(t, found, kind)
		files = append(files, found...)
	}
	return files
}

func readTable(t testing.TB, file string) (table, []byte) {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	var c table
	known(t, raw, &c)
	require.NotEmpty(t, c.Description)
	return c, raw
}

func TestTables(t *testing.T) {
	for _, file := range tables(t) {
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
			c, _ := readTable(t, file)
			cfg, base := defaults(), "https://ads.example"
			if s := c.Settings; s != nil {
				cfg.Rates, cfg.Categories = s.Rates, s.Categories
				if s.BaseURL != "" {
					base = s.BaseURL
				}
			}
			f := newFixtureOf(t, cfg, base)
			f.Shelf.Put(shelfOf(c.Campaigns...)...)
			w := f.send(c.Request)
			if *update {
				c.Status, c.Reply = w.Code, nil
				if w.Body.Len() > 0 {
					c.Reply = steady(w.Body.Bytes())
				}
				var out bytes.Buffer
				encoder := stdjson.NewEncoder(&out)
				encoder.SetEscapeHTML(false)
				encoder.SetIndent("", "  ")
				require.NoError(t, encoder.Encode(c))
				require.NoError(t, os.WriteFile(file, out.Bytes(), 0o644))
			}
			require.Equal(t, c.Status, w.Code, w.Body)
			if c.Reply == nil {
				require.Empty(t, w.Body.String())
				return
			}
			require.JSONEq(t, string(c.Reply), string(steady(w.Body.Bytes())))
			if w.Code == 200 {
				for _, seat := range strict(t, w.Body.Bytes()).SeatBid {
					for _, b := range seat.Bid {
						if b.MType == openrtb2.MarkupNative {
							known(t, unwrapped10([]byte(b.AdM)), new(nativeresponse.Response))
						}
					}
				}
			}
		})
	}
}

// unwrapped10 takes the root wrapper of Native 1.0 off a reply.
func unwrapped10(adm []byte) []byte {
	if inner, is := bytes.CutPrefix(adm, []byte(`{"native":`)); is {
		return bytes.TrimSuffix(inner, []byte("}"))
	}
	return adm
}

// The exemplary requests are the documentation's: the official type takes them without a field that
// it does not know.
func TestExemplaryRequestsAreOfTheStandard(t *testing.T) {
	for _, file := range tables(t) {
		if filepath.Base(filepath.Dir(file)) != "exemplary" {
			continue
		}
		c, _ := readTable(t, file)
		known(t, c.Request, new(openrtb2.BidRequest))
		require.Equal(t, 200, c.Status, file)
	}
}
