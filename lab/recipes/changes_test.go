package recipes

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var fieldChanges = []change{
	{0, "CHANGELOG.md", "### Changed\n", "- `tagline` of a campaign.\n"},
	{
		1, "internal/campaign/unreviewed.go", "	CTALabel  string `json:\"cta_label\"`\n",
		"	Tagline   string `json:\"tagline\"`\n",
	},
	{
		1, "internal/campaign/validate.go", "	CTALabel          *string       `json:\"cta_label\"`\n",
		"	Tagline           *string       `json:\"tagline\"`\n",
	},
	{
		2, "internal/campaign/fields.go", "	{Spec{Name: \"cta_label\"",
		"	{Spec{Name: \"tagline\", Kind: Text, Max: 30}, func(v *Creative) any { return &v.Tagline }},\n",
	},
	{
		3, "schemas/postgres/9999_tagline.sql", "",
		"ALTER TABLE campaign ADD COLUMN tagline text NOT NULL DEFAULT '';\n",
	},
	{7, "docs/integrating.md", "- `pacing`: ", "- `tagline`: a line below the headline\n"},
}

// eventChanges adds the event of a reader who turns the sound of a video off. baseline is the
// schema of ClickHouse.
func eventChanges(t *testing.T, baseline string) []change {
	return []change{
		{0, "CHANGELOG.md", "### Changed\n", "- Event `mute`.\n"},
		{1, "schemas/event/event.proto", "}\n\nenum BillingModel {", "  MUTE = 8;\n"},
		{
			2, "schemas/event/types.go", "	{Type_CONVERSION, ",
			"	{Type_MUTE, \"mute\", Anyone, \"playback\", Type_CLICK, \"mutes\", unbilled},\n",
		},
		{3, "schemas/clickhouse/0002_mute.sql", "", muteMigration(t, baseline)},
		{4, "schemas/openapi/openapi.json", "\"conversion\"]},\n      \"BatchedEvent\"", "\"mute\", "},
		{4, "schemas/openapi/openapi.json", `"viewable", "viewability", "spend_usd"`, `"mutes", `},
		{
			4, "schemas/openapi/openapi.json", `"video_completes": {"type": "integer"},`,
			`"mutes": {"type": "integer"},` + "\n          ",
		},
		{4, "ingress/mcp/tools.json", "\"conversion\"]},\n        \"auction_id\"", "\"mute\", "},
		{5, "docs/data.md", "`video_completes`: counted events", "`mutes`, "},
	}
}

// muteMigration returns the migration by the schema in force, which has the rest of the view.
func muteMigration(t *testing.T, baseline string) string {
	t.Helper()
	_, view, found := strings.Cut(baseline, "CREATE MATERIALIZED VIEW IF NOT EXISTS stats_daily_mv TO stats_daily AS\n")
	require.True(t, found)
	view, _, _ = strings.Cut(view, ";\n")
	const column = "mutes Int64 COMMENT 'counted mutes';\n"
	return "ALTER TABLE stats_daily ADD COLUMN IF NOT EXISTS " + column +
		"ALTER TABLE stats_rollup ADD COLUMN IF NOT EXISTS " + column +
		"ALTER TABLE stats_daily_mv MODIFY QUERY " + strings.Replace(
		view, "    toInt64(countIf(class = 'duplicate'))",
		"    toInt64(countIf(class = 'counted' AND type = 'mute')) AS mutes,\n    toInt64(countIf(class = 'duplicate'))", 1,
	) + ";\n"
}

const (
	countMethod = "	CountAudit(ctx context.Context, owner uuid.UUID) (int, error)\n"
	countPath   = `    "/api/audit/count": {
      "get": {
        "operationId": "countAudit", "tags": ["accounts"], "summary": "How often it was changed", "security": [{"userToken": []}],
        "responses": {
          "200": {"description": "The entries about the caller's account", "content": {"application/json": {"schema": {"type": "object", "required": ["entries"], "properties": {"entries": {"type": "integer", "minimum": 0}}}}}},
          "400": {"$ref": "#/components/responses/BadRequest"},
          "401": {"$ref": "#/components/responses/Unauthorized"},
          "403": {"$ref": "#/components/responses/Forbidden"},
          "429": {"$ref": "#/components/responses/RateLimited"},
          "500": {"$ref": "#/components/responses/Internal"},
          "503": {"$ref": "#/components/responses/Unavailable"}
        }
      }
    },
`
)

var endpointChanges = []change{
	{0, "CHANGELOG.md", "### Changed\n", "- `GET /api/audit/count`.\n"},
	{1, "schemas/openapi/openapi.json", "    \"/api/admin/ledger\": {", countPath},
	{2, "ingress/api/manage/auditlog.go", "	AuditLog(ctx", countMethod},
	{
		2, "ingress/api/manage/auditlog.go", "	s.Handle(",
		"	s.Handle(http.MethodGet, \"/api/audit/count\", httpapi.Do(a.countAudit), reads)\n",
	},
	{2, "ingress/api/manage/auditlog.go", "func auditQuery(", `// countAudit serves GET /api/audit/count.
func (a *API) countAudit(c *gin.Context, caller account.User, _ httpapi.None) (httpapi.Object, error) {
	n, err := a.deps.Audit.CountAudit(c.Request.Context(), caller.ID)
	return httpapi.Object{"entries": n}, err
}

`},
	{3, "internal/store/storetest/auditlog.go", "	AuditLog(ctx", countMethod},
	{
		3, "internal/store/storetest/auditlog.go", "	require.Len(t, entries(t, o, auditlog.Query{OwnerID: a}), 4)\n",
		"	n, err := o.AuditLog.CountAudit(t.Context(), a)\n	require.NoError(t, err)\n	require.Equal(t, 4, n)\n",
	},
	{3, "internal/store/memory/auditlog.go", "// AuditLog returns", `// CountAudit counts the entries about an account.
func (s *Audit) CountAudit(_ context.Context, owner uuid.UUID) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.auditLog {
		if s.auditLog[i].OwnerID == owner {
			n++
		}
	}
	return n, nil
}

`},
	{3, "internal/store/memory/auditlog.go", "\n	\"adnet/internal/compliance/auditlog\"\n", "	\"github.com/google/uuid\"\n"},
	{3, "internal/store/postgres/audit/auditlog.go", "// AuditLog returns", `// CountAudit counts the entries about an account.
func (s *Audit) CountAudit(ctx context.Context, owner uuid.UUID) (n int, err error) {
	err = s.Pool.QueryRow(ctx, "SELECT count(*) FROM audit_log WHERE owner_id = $1", owner).Scan(&n)
	return n, pg.Failure("count audit log", err)
}

`},
	{4, "ingress/api/manage/auditlog_test.go", "", `package manage_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAuditEntriesAreCounted(t *testing.T) {
	w := newWorld(t)
	w.nobody().Get(t, "/api/audit/count").Fails(401, "invalid_token")
	me := w.advertiser(t)
	me.creates(t)
	me.creates(t)
	list := me.Get(t, "/api/audit").As(200)["entries"].([]any)
	require.Equal(t, float64(len(list)), me.Get(t, "/api/audit/count").As(200)["entries"])
	require.NotEqual(t, w.advertiser(t).Get(t, "/api/audit/count").As(200)["entries"], float64(len(list)))
}
`},
}

// nodeTest is a test of a whole node.
const nodeTest = `package cmd_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRecipes(t *testing.T) {
	m := newShop(t)
	ad := m.ad("chess", "rest")
	status, _ := m.follow(ad["impression_url"], reader)
	require.Equal(t, 200, status)
	m.get(fmt.Sprintf("%s/api/track?event=mute&campaign_id=%s&auction_id=%s", m.base, m.campaign, ad["auction_id"]), 200)
	m.settles(m.campaign, map[string]float64{"impressions": 1, "mutes": 1})
	m.do("GET", "/api/audit/count", "", "", 401)
	require.Positive(t, m.do("GET", "/api/audit/count", m.owner.token, "", 200)["entries"])
	requireVerified(t, m.admin)
}
`
