package oversee_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/ingress/api/oversee"
	"adnet/ingress/ingresstest"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/ledger"
	"adnet/internal/process/link"
	"adnet/internal/process/obs"
	"adnet/internal/process/roster"
	"adnet/internal/report"
)

type object = ingresstest.Object

type world struct {
	*ingresstest.World
	boss, owner *ingresstest.Person
	log         *log
	looks       int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: ingresstest.New(t, ingresstest.Options{}), log: &log{}}
	w.boss, w.owner = w.Login(t, account.User{Role: account.RoleAdmin}), w.Login(
		t, account.User{Role: account.RoleAdvertiser},
	)
	oversee.New(oversee.Deps{
		Ledger: w.Store.Ledger, History: w.Reports, Letters: w.Store.Letters, Broker: w.log, Look: w.look,
		Ready:    func() obs.Report { return obs.NewReadiness().Check(obs.Ads) },
		Settings: []oversee.Setting{{Name: "ADNET_X", Origin: oversee.FromFile, Secret: true, Value: "********"}},
		Now:      w.Clock,
	}).Mount(w.HTTP)
	return w
}

// look reports that PostgreSQL is unavailable.
func (w *world) look(context.Context) oversee.Health {
	w.looks++
	away := link.Report{Server: "PostgreSQL", Address: "db.example/adnet", Setting: "ADNET_POSTGRES_URL"}
	away.Mend("connection refused", "start it")
	return oversee.Health{Servers: []link.Seen{away.Seen()}, Nodes: []oversee.Node{{Name: "a", HeardAt: w.Now}},
		Processes: []roster.Process{
			{
				Name: "a", Role: roster.Ingress, Version: "v1", StartedAt: w.Now, SaidAt: w.Now,
				Serving: &roster.Serving{SpoolBytes: 7, Model: "m", Stage: "part", Trial: 2},
			}, {Name: "b", Role: roster.Consumers},
		},
		Jobs: roster.Jobs(
			[]roster.Process{{Plans: map[string]time.Time{roster.Train: w.Now}}},
			[]roster.Run{{Job: roster.Goals, EndedAt: w.Now, Failed: true, Why: "no disk"}},
		), Problems: []string{"the log is away"}}
}

// A check connects to every server, so one per half minute serves all callers.
func TestHealthChecksAreCached(t *testing.T) {
	w := newWorld(t)
	for range 3 {
		got := w.boss.Get(t, "/api/admin/health").As(200)
		require.Equal(t, false, got["servers"].([]any)[0].(object)["ok"])
		require.Nil(t, got["settlement"].(object)["behind"])
		require.Equal(t, true, got["node"].(object)["ready"])
		require.Equal(t, 7.0, got["processes"].([]any)[0].(object)["serving"].(object)["spool_bytes"])
		require.Nil(t, got["processes"].([]any)[1].(object)["serving"])
		require.Equal(
			t, []any{"goals", true, "no disk", nil}, pick(got["jobs"].([]any)[0], "name", "failed", "why", "next"),
		)
		require.Equal(t, []any{"train", nil}, pick(got["jobs"].([]any)[1], "name", "ended_at"))
	}
	w.owner.Get(t, "/api/admin/health").Fails(403, "forbidden")
	require.Equal(t, 1, w.looks)
	w.Now = w.Now.Add(30 * time.Second)
	w.boss.Get(t, "/api/admin/health").As(200)
	require.Equal(t, 2, w.looks)
}

// pick returns some members of an object.
func pick(of any, names ...string) (values []any) {
	for _, name := range names {
		values = append(values, of.(object)[name])
	}
	return values
}

// charged writes a charge of one micro-USD into the ledger.
func (w *world) charged(t *testing.T, advertiser, campaign uuid.UUID, ref string, at time.Time) uuid.UUID {
	t.Helper()
	id := uuid.New()
	require.NoError(t, w.Store.Ledger.InTx(t.Context(), func(tx ledger.Tx) error {
		return tx.Write(t.Context(), ledger.Effects{Transactions: []ledger.Transaction{{
			ID: id, Kind: ledger.KindCharge, Ref: ref, Subject: campaign, At: at,
			Entries: []ledger.Entry{
				{Account: ledger.AdvertiserCash(advertiser), Asset: ledger.USD, Amount: -1},
				{Account: ledger.Revenue, Asset: ledger.USD, Amount: 1},
			},
		}}})
	}))
	return id
}

// Every route is for administrators: others are refused without any data.
func TestOnlyAdministrators(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{
		"/api/admin/ledger", "/api/admin/ledger/heads", "/api/admin/verify", "/api/admin/dead_letters",
		"/api/admin/settings", "/api/admin/health",
	} {
		w.owner.Get(t, path).Fails(403, "forbidden")
		w.Caller("").Get(t, path).Fails(401, "invalid_token")
		w.boss.Get(t, path).As(200)
	}
	w.owner.Post(t, "/api/admin/verify", nil).Fails(403, "forbidden")
	id := w.dead(t, 0, []byte("x"))
	w.owner.Get(t, "/api/admin/dead_letters/"+id).Fails(403, "forbidden")
	w.owner.Post(t, "/api/admin/dead_letters/"+id+"/replay", object{}).Fails(403, "forbidden")
	require.Empty(t, w.log.sent)
	list, err := w.Store.Ledger.Verifications(t.Context(), 5)
	require.NoError(t, err)
	require.Empty(t, list)
}

func TestLedgerIsSearchedByPages(t *testing.T) {
	w := newWorld(t)
	advertiser, of := uuid.New(), uuid.New()
	ids := map[string]bool{}
	for i := range 5 {
		ids[w.charged(t, advertiser, of, string(rune('a'+i)), w.Now.Add(time.Duration(i)*time.Second)).String()] = true
	}
	other := w.charged(t, uuid.New(), uuid.New(), "z", w.Now)
	for _, query := range []string{
		"account=advertiser:" + advertiser.String(), "subject=" + of.String(),
		"kind=charge&since=2026-03-04T12:00:00Z&until=2026-03-05&subject=" + of.String(),
	} {
		seen, next := map[string]bool{}, ""
		for range 4 {
			page := w.boss.Get(t, "/api/admin/ledger?limit=2&"+query+next).As(200)
			for _, m := range page["movements"].([]any) {
				id := m.(object)["id"].(string)
				require.True(t, ids[id] && !seen[id], "%s: %s", query, id)
				seen[id] = true
				require.Len(t, m.(object)["entries"], 2)
			}
			if page["next"] == nil {
				break
			}
			next = "&before=" + page["next"].(string)
		}
		require.Len(t, seen, 5, query)
	}
	first := w.boss.Get(t, "/api/admin/ledger?transaction="+other.String()).As(200)["movements"].([]any)
	require.Len(t, first, 1)
	heads := w.boss.Get(t, "/api/admin/ledger/heads?account=house:revenue").As(200)["heads"].([]any)
	require.Len(t, heads, 1)
	require.EqualValues(t, 6, heads[0].(object)["seq"])
	require.Equal(
		t, first[0].(object)["entries"].([]any)[1].(object)["hash"], heads[0].(object)["hash"],
		"the newest entry is the head",
	)
	next, n := "", 0
	for range 5 {
		page := w.boss.Get(t, "/api/admin/ledger/heads?limit=1"+next).As(200)
		n += len(page["heads"].([]any))
		if page["next"] == nil {
			break
		}
		next = "&after=" + (page["next"].(string)[:len(page["next"].(string))-4]) + "%20USD"
	}
	require.Equal(t, 3, n)
}

func TestSearchRejectsInvalidParameters(t *testing.T) {
	w := newWorld(t)
	for _, query := range []string{
		"account=x", "account=house:'", "subject=x", "kind=theft", "since=today", "limit=0", "limit=201", "before=s1",
		"before=t", "before=t1.x", "before=t-1.00000000-0000-4000-8000-000000000000",
		"before=t99999999999999999.00000000-0000-4000-8000-000000000000",
		"account=house:revenue&before=t1.00000000-0000-4000-8000-000000000000", "account=house:revenue&before=s-1",
		"auction=" + uuid.Must(uuid.NewV7()).String() + "&subject=" + uuid.NewString(),
	} {
		w.boss.Get(t, "/api/admin/ledger?"+query).Fails(400, "invalid_request")
	}
	for _, query := range []string{"after=x", "after=house:revenue%20EUR", "account=x", "limit=x"} {
		w.boss.Get(t, "/api/admin/ledger/heads?"+query).Fails(400, "invalid_request")
	}
}

// An auction leads to the movements of its campaign and publisher after its events, and to no
// others.
func TestLedgerByAuction(t *testing.T) {
	w := newWorld(t)
	auction := uuid.Must(uuid.NewV7())
	sec, nsec := auction.Time().UnixTime()
	at := time.Unix(sec, nsec).UTC()
	of, developer := uuid.New(), uuid.New()
	require.NoError(
		t,
		w.Reports.InsertAuctions(
			t.Context(), "a", []report.Auction{{AuctionID: auction, At: at, CampaignID: of, DeveloperID: developer}},
		),
	)
	path := "/api/admin/ledger?auction=" + auction.String()
	require.Empty(t, w.boss.Get(t, path).As(200)["movements"], "nothing was received yet")
	require.NoError(
		t,
		w.Reports.Insert(
			t.Context(), "b",
			[]report.Row{{
				EventID: uuid.New(), ReceivedAt: at, Type: ledger.Impression, Verdict: ledger.OK, AuctionID: auction,
				CampaignID: of, DeveloperID: developer, BillingModel: string(campaign.CPM),
			}},
		),
	)
	want := w.charged(t, uuid.New(), of, "a", at.Add(time.Second))
	w.charged(t, uuid.New(), of, "before", at.Add(-time.Hour))
	w.charged(t, uuid.New(), of, "long after", at.Add(time.Hour))
	w.charged(t, uuid.New(), uuid.New(), "another", at.Add(time.Second))
	found := w.boss.Get(t, path).As(200)["movements"].([]any)
	require.Len(t, found, 1)
	require.Equal(t, want.String(), found[0].(object)["id"])
	require.Empty(t, w.boss.Get(t, "/api/admin/ledger?auction="+uuid.Must(uuid.NewV7()).String()).As(200)["movements"])
	require.Empty(t, w.boss.Get(t, "/api/admin/ledger?auction="+uuid.NewString()).As(200)["movements"])
}

func TestVerificationIsRequestedAndListed(t *testing.T) {
	w := newWorld(t)
	requests := w.boss.Post(t, "/api/admin/verify", nil).As(202)["run"].(object)
	require.Equal(t, "waiting", requests["state"])
	require.Equal(
		t, requests["id"], w.boss.Post(t, "/api/admin/verify", nil).As(202)["run"].(object)["id"], "one at a time",
	)
	v, begun, err := w.Store.Ledger.BeginVerification(t.Context(), false, w.Now)
	require.NoError(t, err)
	require.True(t, begun)
	first := func() object {
		return w.boss.Get(t, "/api/admin/verify").As(200)["runs"].([]any)[0].(object)
	}
	require.Equal(t, "running", first()["state"])
	v.EndedAt, v.Checks = w.Now, []ledger.Check{
		{Name: ledger.CheckSumUSD}, {Name: ledger.CheckChain, Want: 2, Got: 1, Detail: "house:revenue"},
	}
	require.NoError(t, w.Store.Ledger.EndVerification(t.Context(), v))
	got := first()
	require.Equal(t, "broken", got["state"])
	require.Len(t, got["checks"], 2)
	require.Equal(t, false, got["checks"].([]any)[1].(object)["ok"])
	w.boss.Post(t, "/api/admin/verify", nil).Fails(409, "conflict")
	w.Now = w.Now.Add(ledger.VerifyGap)
	w.boss.Post(t, "/api/admin/verify", nil).As(202)
	runs := w.boss.Get(t, "/api/admin/verify").As(200)["runs"].([]any)
	require.Equal(t, "waiting", runs[0].(object)["state"])
	require.Len(t, runs[1].(object)["checks"], 2, "the newest that ended keeps its checks")
	entries, err := w.Store.Audit.AuditLog(t.Context(), auditlog.Query{TargetKind: auditlog.TargetStore, Limit: 9})
	require.NoError(t, err)
	require.Len(t, entries, 2)
}
