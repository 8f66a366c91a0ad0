package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers is the import table of ARCHITECTURE.md: the packages of this module that a folder may
// import. The row with the longest matching prefix applies to a package. A package may always
// import packages below the folder of its row.
var layers = map[string][]string{
	"schemas":       {},
	"schemas/event": {"schemas/event"},
	"auction": {
		"auction", "internal/traffic/odds", "internal/money", "internal/jsonscan/eight",
		"internal/campaign/subject", "internal/compliance/adtext", "internal/campaign/locale",
	},
	"internal/errs":             {},
	"internal/campaign/subject": {},
	"internal/traffic/odds":     {},
	"internal/traffic/recent":   {},
	"internal/traffic":          {"internal/day", "internal/money", "internal/traffic/odds"},
	"internal/ledger/reserve":   {"internal/day", "internal/money"},
	"internal/stream":           {"internal/errs"},
	"internal/day":              {"internal/errs"},
	"internal/money/decimal":    {},
	"internal/money":            {"internal/money/decimal"},
	"internal/money/share":      {"internal/money/decimal"},
	"internal/account/family":   {"internal/compliance/adtext", "internal/traffic"},
	"internal/jsonscan/eight":   {},
	"internal/jsonscan":         {"internal/jsonscan/eight"},
	"internal/account": {
		"internal/account/family", "internal/compliance/adtext", "internal/campaign/subject",
		"internal/process/schedule", "internal/errs", "internal/money/share",
		"internal/account/typed",
	},
	"internal/token": {
		"internal/process/schedule", "internal/day", "internal/errs", "internal/money",
		"internal/traffic", "internal/account/typed",
		"schemas/event",
	},
	"internal/compliance/adtext":  {},
	"internal/account/typed":      {},
	"internal/campaign/locale":    {},
	"internal/compliance/consent": {"internal/jsonscan"},
	"internal/ranking":            {"internal/errs"},
	"internal/campaign": {
		"internal/campaign/subject", "internal/traffic", "internal/compliance/adtext",
		"internal/process/schedule", "internal/errs",
		"internal/money", "internal/money/share", "internal/jsonscan", "internal/account",
		"internal/campaign/locale",
		"internal/account/family",
	},
	"internal/ledger": {
		"internal/traffic", "internal/ledger/reserve", "internal/stream", "internal/day",
		"internal/errs", "internal/money",
		"internal/account", "internal/campaign", "schemas/event",
	},
	"internal/ledger/owed": {"internal/campaign", "internal/money"},
	"internal/ledger/standing": {
		"internal/campaign", "internal/day", "internal/account/family", "internal/money",
	},
	"internal/report": {
		"internal/traffic", "internal/stream", "internal/day", "internal/errs", "internal/money",
		"internal/account",
		"internal/campaign", "internal/ledger", "schemas/event",
	},

	"internal/compliance/auditlog": {
		"internal/ranking", "internal/traffic", "internal/day", "internal/errs", "internal/account",
		"internal/account/family", "internal/campaign", "internal/money", "internal/ledger",
	},
	"internal/compliance/adreport": {
		"internal/process/schedule", "internal/errs", "internal/compliance/auditlog",
		"internal/day", "internal/report", "schemas/event",
	},
	"internal/compliance/decision": {
		"internal/errs", "internal/compliance/auditlog", "internal/campaign",
	},
	"internal/once":            {"internal/errs"},
	"internal/outbound/outbox": {},
	"internal/outbound/webhook": {
		"internal/errs", "internal/compliance/auditlog", "internal/campaign", "internal/ledger",
		"internal/outbound/outbox",
	},
	"internal/outbound/notice": {
		"internal/errs", "internal/day", "internal/money", "internal/campaign", "internal/compliance/auditlog",
		"internal/ledger", "internal/outbound/outbox", "internal/outbound/webhook", "internal/account",
	},
	"internal/stream/deadletter": {
		"schemas", "internal/errs", "internal/stream", "internal/ledger",
	},

	"internal/payment": {
		"internal/account/family", "internal/process/schedule", "internal/errs", "internal/money",
		"internal/account", "internal/campaign",
		"internal/ledger",
	},

	"internal/compliance/person": {
		"internal/errs", "internal/money", "internal/account/family", "internal/account",
		"internal/campaign",
		"internal/compliance/decision", "internal/ledger", "internal/compliance/auditlog",
	},

	"internal/process/lifecycle": {},
	"internal/process/schedule":  {},
	"internal/process/roster":    {"internal/process/schedule"},
	"internal/process/link":      {},
	"internal/outbound":          {"internal/traffic"},
	"internal/process/alerts":    {},
	"internal/process/obs":       {"internal/process/lifecycle", "internal/process/link"},
	"internal/process/mail": {
		"internal/process/obs", "internal/account", "internal/compliance/adtext",
	},

	"internal/kafka":          adapter("internal/kafka"),
	"internal/store/postgres": adapter("internal/store/postgres"),
	"internal/store/redis":    adapter("internal/store/redis"),
	"internal/store/memory":   adapter("internal/store/memory"),
	"internal/classifier":     adapter("internal/classifier"),
	"internal/payment/stripe": adapter("internal/payment/stripe"),
	"internal/payment/paypal": adapter("internal/payment/paypal"),

	"internal/store/storetest":  append([]string{"internal/testenv"}, domain...),
	"internal/testenv":          {},
	"internal/testenv/linktest": {},
	"internal/testenv/cputime":  {},
	"internal/demo":             append([]string{"internal/process/obs"}, domain...),
	"cmd/load": append([]string{
		"internal/demo", "internal/process/obs",
	}, domain...),

	"ingress/httpapi":      ingress("ingress/httpapi"),
	"ingress/idempotency":  ingress("ingress/httpapi"),
	"ingress/limits":       ingress("ingress/httpapi"),
	"ingress/catalog":      ingress(),
	"ingress/budget":       ingress(),
	"ingress/offer":        ingress("ingress/httpapi", "ingress/catalog", "ingress/budget", "ingress/limits"),
	"ingress/serve":        ingress("ingress/httpapi", "ingress/offer"),
	"ingress/mcp":          ingress("ingress/httpapi", "ingress/offer", "ingress/track"),
	"ingress/rtb":          ingress("ingress/httpapi", "ingress/offer", "ingress/budget"),
	"ingress/track":        ingress("ingress/httpapi"),
	"ingress/api/manage":   ingress("ingress/httpapi"),
	"ingress/api/billing":  ingress("ingress/httpapi"),
	"ingress/api/webhooks": ingress("ingress/httpapi"),
	"ingress/api/notices":  ingress("ingress/httpapi"),
	"ingress/api/oversee":  ingress("ingress/httpapi"),
	"ingress/api/explain":  ingress("ingress/httpapi"),
	"ingress/api/docs":     ingress("ingress/httpapi"),
	"ingress/web/console":  ingress("ingress/httpapi"),
	"ingress/web/snippet":  ingress("ingress/httpapi"),
	"ingress/api/preview":  ingress("ingress/httpapi", "ingress/offer", "ingress/serve", "ingress/mcp", "ingress/rtb"),
	"ingress/api/benna":    ingress("ingress/httpapi"),
	// Test support: the world that an endpoint is tested in, and all endpoints mounted together.
	"ingress/ingresstest": append(
		[]string{"internal/store/memory"}, ingress("ingress/httpapi", "ingress/offer")...,
	),
	"ingress/ingresstest/endpoints": ingress("ingress"),
	// Test support of the roles: may bring the demo data in, as their tests may.
	"ingress/catalog/catalogtest": append([]string{"ingress", "internal/demo"}, domain...),
	// Compares settlement on PostgreSQL with a reference; tests only.
	"consumers/settle/modeltest": append([]string{
		"consumers", "schemas", "internal/store/postgres",
	}, domain...),
	"consumers": append(
		[]string{"consumers", "schemas", "internal/process/obs", "internal/process/lifecycle"}, domain...,
	),
	"consumers/webhooks": append([]string{"internal/process/obs", "internal/outbound"}, domain...),
	"consumers/goal":     append([]string{"internal/process/obs"}, domain...),
	// Simulates the auctions that goals steer: tests and lab only.
	"consumers/goal/goaltest": append([]string{"consumers/goal", "auction/ranker"}, domain...),
	// Trains the ranking, which is the decision's.
	"consumers/learn": append([]string{
		"auction", "internal/process/obs", "internal/process/lifecycle",
	}, domain...),
	"analytics": append([]string{
		"analytics", "schemas", "internal/process/obs", "internal/process/lifecycle",
	}, domain...),

	"cmd/cli": domain,
	"cmd/backends": append([]string{
		"analytics", "consumers", "ingress", "internal/process/lifecycle",
	}, outside...),
	"cmd/operate": append(
		[]string{"analytics", "consumers", "cmd/backends", "cmd/cli", "internal/process/obs", "schemas"}, outside...,
	),

	"web": {}, // the program that bundles the console and adnet.js

	"cmd": {"*"},
	"lab": {"*"},
	"":    {"*"},
}

var domain = []string{
	"internal/errs", "internal/campaign/subject", "internal/traffic", "internal/ledger/reserve",
	"internal/stream", "internal/day",
	"internal/process/schedule", "internal/money/decimal", "internal/money", "internal/money/share",
	"internal/jsonscan/eight", "internal/jsonscan",
	"internal/account", "internal/compliance/adtext", "internal/campaign", "internal/ledger",
	"internal/report", "internal/token",
	"internal/compliance/consent", "internal/compliance/person", "internal/account/family",
	"internal/ledger/owed", "internal/ledger/standing",
	"internal/payment", "internal/compliance/auditlog", "internal/stream/deadletter",
	"internal/compliance/decision", "internal/compliance/adreport",
	"internal/once", "internal/process/link", "internal/ranking", "internal/traffic/recent",
	"internal/process/roster", "internal/account/typed", "internal/campaign/locale",
	"internal/ledger/owed", "internal/outbound/outbox", "internal/outbound/webhook", "internal/outbound/notice",
	"schemas/event",
}

// outside is the domain with every adapter, for the packages that connect them.
var outside = append(
	[]string{
		"internal/kafka", "internal/store/postgres", "internal/store/redis", "internal/store/memory",
		"internal/payment/stripe",
	}, domain...,
)

// ingress returns a row of the HTTP role: the named packages of the role, the domain and the
// decision.
func ingress(siblings ...string) []string {
	return append(append(siblings, "auction", "schemas", "internal/process/obs", "internal/process/lifecycle"), domain...)
}

// adapter returns the row of an adapter: it may import the domain, the schemas and itself, but no
// role and no other adapter.
func adapter(self string) []string {
	return append([]string{self, "schemas", "internal/process/obs", "internal/process/lifecycle"}, domain...)
}

// forTests may be imported by any test file.
var forTests = []string{
	"internal/store/storetest", "internal/testenv", "internal/testenv/cputime",
	"internal/testenv/linktest", "internal/kafka/kafkatest",
	"internal/store/memory", "internal/kafka", "internal/store/redis", "internal/demo",
	"internal/errs", "internal/payment/stripe",
	"internal/payment/paypal", "ingress/budget/budgettest", "consumers/goal/goaltest",
}

// libraries lists the only packages that may import a library: an adapter owns its technology.
var libraries = map[string][]string{
	"github.com/gin-gonic/gin": {
		"ingress", "cmd", "lab/bench",
	}, // there as the baseline
	"github.com/valyala/fasthttp": {
		"ingress/httpapi/wire", "lab/bench",
	}, // there as the load
	"github.com/pires/go-proxyproto":      {"ingress/httpapi"},
	"github.com/twmb/franz-go":            {"internal/kafka", "lab", "internal/testenv"},
	"github.com/jackc/pgx":                {"internal/store/postgres", "lab", "internal/testenv"},
	"github.com/redis/go-redis":           {"internal/store/redis", "lab", "internal/testenv"},
	"github.com/alicebob/miniredis":       {"internal/store/redis"},
	"github.com/ClickHouse/clickhouse-go": {"analytics/clickhouse", "lab", "internal/testenv"},
	"github.com/golang-jwt/jwt":           {"internal/token"},
	"github.com/stripe/stripe-go":         {"internal/payment/stripe"},
	"go.mau.fi/util":                      {"internal/compliance/adtext"},
	"github.com/prebid/go-gdpr":           {"internal/compliance/consent"},
	"golang.org/x/net/idna":               {"internal/compliance/adtext"},
	"golang.org/x/net/publicsuffix":       {"internal/compliance/adtext"},
	"github.com/modelcontextprotocol":     {}, // the official client, in tests of ingress/mcp
	"github.com/alecthomas/kong":          {"cmd", "lab"},
	"github.com/evanw/esbuild":            {"web/build", "lab/browser"},
	"github.com/segmentio/asm":            {"internal/token"},
	"github.com/andybalholm/brotli": {
		"ingress/httpapi", "ingress/web/console", "ingress/web/snippet",
	}, // the latter in tests
	"github.com/chromedp/chromedp": {"lab/browser"},
	"github.com/wneessen/go-mail":  {"internal/process/mail"},
	"github.com/prometheus/client_golang": {
		"internal/process/obs", "internal/classifier", "internal/process/mail", "ingress",
		"consumers", "analytics", "internal/kafka",
		"internal/store/postgres", "internal/store/redis", "cmd", "cmd/backends", "lab/bench",
		"lab/hostile",
	},
}

// testLibraries may be imported by any test: registries to pass in, flags to parse.
var testLibraries = []string{
	"github.com/modelcontextprotocol", "github.com/prometheus/client_golang",
	"github.com/alecthomas/kong",
}

type imported struct {
	file, dir, path string
	test            bool
}

func imports(t *testing.T) []imported {
	t.Helper()
	var all []imported
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && path != "." || entry.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		if dir == "." {
			dir = ""
		}
		for _, spec := range file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			all = append(all, imported{file: path, dir: dir, path: name, test: strings.HasSuffix(path, "_test.go")})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 100 {
		t.Fatalf("found only %d imports: the walk is broken", len(all))
	}
	return all
}

func within(path string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool {
		return prefix == "*" || path == prefix || strings.HasPrefix(path, prefix+"/")
	})
}

func layerOf(dir string) (row string, may []string) {
	best := -1
	for prefix, allowed := range layers {
		if len(prefix) > best && (prefix == "" && dir == "" || prefix != "" && within(dir, []string{prefix})) {
			best, row, may = len(prefix), prefix, allowed
		}
	}
	return row, may
}

func TestArchitectureArrows(t *testing.T) {
	for _, i := range imports(t) {
		ours, is := strings.CutPrefix(i.path, "adnet/")
		if !is {
			continue
		}
		row, may := layerOf(i.dir)
		if row == "" && i.dir != "" {
			t.Errorf("%s: folder %s is not in the import table", i.file, i.dir)
			continue
		}
		if within(ours, may) || within(ours, []string{row}) && row != "" || i.test && within(ours, forTests) {
			continue
		}
		// Whole auctions are played with the votes and bounds that settled charges give.
		if i.test && row == "auction" &&
			within(ours, []string{"internal/campaign", "internal/ledger/owed", "internal/ledger/standing"}) {
			continue
		}
		// The tests of a package of ingress run it among the others.
		if i.test && within(i.dir, []string{"ingress"}) && within(ours, []string{"ingress"}) {
			continue
		}
		t.Errorf("%s: %s must not import %s", i.file, row, ours)
	}
}

func TestArchitectureLibraries(t *testing.T) {
	for _, i := range imports(t) {
		for library, owners := range libraries {
			if !strings.HasPrefix(i.path, library) || within(i.dir, owners) {
				continue
			}
			if i.test && slices.Contains(testLibraries, library) {
				continue
			}
			t.Errorf("%s: only %v may import %s", i.file, owners, library)
		}
	}
}

// TestArchitectureNamesFolders checks that every folder named in the tables exists and that every
// row has code.
func TestArchitectureNamesFolders(t *testing.T) {
	named := map[string]bool{}
	for row, may := range layers {
		named[row] = true
		for _, folder := range may {
			named[folder] = true
		}
	}
	for _, owners := range libraries {
		for _, folder := range owners {
			named[folder] = true
		}
	}
	for _, folder := range slices.Concat(forTests, domain, outside) {
		named[folder] = true
	}
	delete(named, "*")
	for folder := range named {
		found := false
		_ = filepath.WalkDir(filepath.Join(".", folder), func(path string, _ fs.DirEntry, err error) error {
			if found = found || err == nil && strings.HasSuffix(path, ".go"); found {
				return filepath.SkipAll
			}
			return nil
		})
		if !found {
			t.Errorf("the tables name %s, which has no Go files", folder)
		}
	}
}

// TestArchitectureJudgesBeforeItSells checks that no protocol bypasses the verdict on a
// conversation. Only ingress/offer decides auctions, and only it sells: [offer.Seller.Sell] and
// [offer.Seller.Answer] refuse what [offer.Seller.Judge] did not judge, which a field that no wire
// can set tells, and nothing else hands an ad out. A wire takes the speakers of the texts from
// auction/suitability and nothing more.
func TestArchitectureJudgesBeforeItSells(t *testing.T) {
	deciding := []string{"Decide", "House", "PredictClick"}
	err := filepath.WalkDir("ingress", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			within(filepath.ToSlash(path), []string{"ingress/offer"}) {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		for _, use := range usesOf(file, "adnet/auction", "auction") {
			if slices.Contains(deciding, use) {
				t.Errorf("%s uses auction.%s: only ingress/offer decides auctions", path, use)
			}
		}
		for _, use := range usesOf(file, "adnet/auction/suitability", "suitability") {
			// The ranking endpoint sells nothing: it shows a verdict.
			if within(filepath.ToSlash(path), []string{"ingress/api/benna"}) || use == "User" || use == "Assistant" {
				continue
			}
			t.Errorf(
				"%s uses suitability.%s: a wire reads texts into an offer.Conversation, and the seller judges", path,
				use,
			)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sold := declared(t, "ingress/offer", "errUnjudged")
	if !slices.Equal(sold, []string{"Sell", "draw"}) {
		t.Errorf(
			"what hands ads out must refuse the unjudged: errUnjudged is returned by %v, expected Sell and draw", sold,
		)
	}
	if signed := declared(t, "ingress/offer", "hand"); !slices.Equal(signed, []string{"draw", "sign"}) {
		t.Errorf("ads are signed by %v: only Sell (by sign) and draw may", signed)
	}
	if signed := declared(t, "ingress/offer", "sign"); !slices.Equal(signed, []string{"Sell"}) {
		t.Errorf("ads of auctions are signed by %v: only Sell may", signed)
	}
}

// usesOf lists the names of a package that file uses, whatever name it imports it under.
func usesOf(file *ast.File, path, name string) (used []string) {
	imported := false
	for _, spec := range file.Imports {
		if spec.Path.Value == strconv.Quote(path) {
			if imported = true; spec.Name != nil {
				name = spec.Name.Name
			}
		}
	}
	if !imported {
		return nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, is := n.(*ast.SelectorExpr); is {
			if of, is := s.X.(*ast.Ident); is && of.Name == name && of.Obj == nil {
				used = append(used, s.Sel.Name)
			}
		}
		return true
	})
	return used
}

// declared lists the functions of a folder that use a name of the folder, sorted.
func declared(t *testing.T, folder, name string) (in []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || f.Body == nil {
				continue
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if id, is := n.(*ast.Ident); is && id.Name == name && !slices.Contains(in, f.Name.Name) {
					in = append(in, f.Name.Name)
				}
				return true
			})
		}
	}
	slices.Sort(in)
	return in
}

// adapters lists the packages inside the domain's folders that call servers.
var adapters = []string{"internal/payment/stripe", "internal/payment/paypal"}

// httpClient lists the names of net/http that make outgoing calls.
var httpClient = []string{
	"Client", "Transport", "DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm",
	"NewRequest",
	"NewRequestWithContext",
}

// TestArchitectureDomainCallsNoServer allows the domain and the decision no more of HTTP than its
// statuses and headers.
func TestArchitectureDomainCallsNoServer(t *testing.T) {
	for _, folder := range append([]string{"auction"}, domain...) {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				if path != folder && slices.Contains(adapters, path) {
					return fs.SkipDir
				}
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			for _, used := range clientUses(file) {
				t.Errorf("%s uses http.%s: the domain calls no server, an adapter does", path, used)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// clientUses lists the names of httpClient that file uses, whatever name it imports net/http under.
func clientUses(file *ast.File) (used []string) {
	name := ""
	for _, spec := range file.Imports {
		if spec.Path.Value == `"net/http"` {
			if name = "http"; spec.Name != nil {
				name = spec.Name.Name
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		selector, is := n.(*ast.SelectorExpr)
		if !is || name == "" {
			return true
		}
		if of, is := selector.X.(*ast.Ident); is && of.Name == name && slices.Contains(httpClient, selector.Sel.Name) {
			used = append(used, selector.Sel.Name)
		}
		return true
	})
	return used
}
