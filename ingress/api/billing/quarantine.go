package billing

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/traffic"
)

// Publishers stores quarantine cases and mint caps.
type Publishers interface {
	Quarantines(ctx context.Context, q ledger.QuarantineQuery) ([]ledger.Quarantine, error)
	OpenQuarantine(ctx context.Context, c ledger.Quarantine) (bool, error)
	EndQuarantine(ctx context.Context, v ledger.QuarantineVerdict) (ledger.Quarantine, error)
	SetMintCap(ctx context.Context, c ledger.MintCap) error
}

const (
	maxCases = 500
	maxNote  = 500 // code points of an administrator's note
)

// caseReply is a quarantine case in a reply.
type caseReply struct {
	ID          uuid.UUID                 `json:"id"`
	DeveloperID uuid.UUID                 `json:"developer_id"`
	State       string                    `json:"state"` // open, released or clawed_back
	Rule        traffic.QuarantineRule    `json:"rule"`
	Evidence    evidenceReply             `json:"evidence"`
	OpenedAt    time.Time                 `json:"opened_at"`
	Held        money.Credits             `json:"credits_held"` // minted since the case was opened
	Charged     money.Micros              `json:"charged_usd"`  // to advertisers, for the traffic since then
	Decision    ledger.QuarantineDecision `json:"decision,omitempty"`
	DecidedAt   *time.Time                `json:"decided_at,omitempty"`
	DecidedBy   *uuid.UUID                `json:"decided_by,omitempty"`
	Note        string                    `json:"note,omitempty"`
}

type evidenceReply struct {
	Value       float64 `json:"value"`
	Threshold   float64 `json:"threshold"`
	Date        string  `json:"date"`
	Impressions int64   `json:"impressions"`
	Clicks      int64   `json:"clicks"`
	Invalid     int64   `json:"invalid_traffic"`
	Minted      int64   `json:"credits_minted"`

	By   *uuid.UUID `json:"by,omitempty"` // of a manual case: the administrator and the note
	Note string     `json:"note,omitempty"`

	CampaignID *uuid.UUID `json:"campaign_id,omitempty"` // of many_acts
}

func answerCase(c ledger.Quarantine) caseReply {
	e := c.Evidence
	r := caseReply{
		ID: c.ID, DeveloperID: c.DeveloperID, State: "open", Rule: e.Rule, OpenedAt: c.OpenedAt, Held: c.Held,
		Charged:  c.Charged,
		Decision: c.Decision, Note: c.Note,
		Evidence: evidenceReply{
			Value: e.Value, Threshold: e.Threshold, Date: e.Today.Day.String(),
			Impressions: e.Today.Impressions, Clicks: e.Today.Clicks, Invalid: e.Today.Invalid, Minted: e.Today.Minted,
		},
	}
	r.Evidence.Note = e.Note
	if e.By != uuid.Nil {
		r.Evidence.By = &e.By
	}
	if c.OfActs() {
		r.Evidence.CampaignID = &e.Campaign
	}
	switch c.Decision {
	case ledger.QuarantineRelease:
		r.State = "released"
	case ledger.QuarantineClawback:
		r.State = "clawed_back"
	}
	if c.Decision != "" {
		r.DecidedAt, r.DecidedBy = &c.DecidedAt, &c.DecidedBy
	}
	return r
}

// quarantines serves GET action=quarantine: the cases, newest first. Administrators only.
func (a *API) quarantines(c *gin.Context, _ account.User, page httpapi.Page) (httpapi.Object, error) {
	q := ledger.QuarantineQuery{
		Developer: httpapi.QueryID(c, "developer_id"), Open: c.Query("state") == "open", Limit: page.Limit,
	}
	list, err := a.deps.Publishers.Quarantines(c.Request.Context(), q)
	if err != nil {
		return nil, err
	}
	cases := make([]caseReply, len(list))
	for i := range list {
		cases[i] = answerCase(list[i])
	}
	return httpapi.Object{"cases": cases, "limit": q.Limit}, nil
}

// decision is an administrator's decision about a publisher.
type decision struct {
	ID          string `json:"id"`           // of a case, to release or claw back
	DeveloperID string `json:"developer_id"` // of a publisher, to hold
	Decision    string `json:"decision"`     // release, clawback or hold
	Note        string `json:"note"`
}

// decideQuarantine serves POST action=quarantine. release and clawback end a case; hold opens one
// manually. A repeated request changes nothing and returns the same case. Administrators only.
func (a *API) decideQuarantine(c *gin.Context, admin account.User, in decision) (httpapi.Object, error) {
	var err error
	if in.Note, err = noteOf(in.Note); err != nil {
		return nil, err
	}
	if in.Decision == "hold" {
		return a.hold(c, admin, in)
	}
	v := ledger.QuarantineVerdict{
		Decision: ledger.QuarantineDecision(in.Decision), By: admin.ID, Note: in.Note, At: a.deps.Now().UTC(),
	}
	if v.Decision != ledger.QuarantineRelease && v.Decision != ledger.QuarantineClawback {
		return nil, errs.New(
			errs.InvalidRequest, "decision must be release, clawback or hold",
		).With("field", "decision")
	}
	if v.Case, err = httpapi.ParseID("id", in.ID); err != nil {
		return nil, err
	}
	ended, err := a.deps.Publishers.EndQuarantine(c.Request.Context(), v)
	if err != nil {
		return nil, err
	}
	return httpapi.Object{"case": answerCase(ended)}, nil
}

// hold opens a case manually. Its evidence records the administrator and the note.
func (a *API) hold(c *gin.Context, admin account.User, in decision) (httpapi.Object, error) {
	developer, err := httpapi.ParseID("developer_id", in.DeveloperID)
	if err != nil {
		return nil, err
	}
	ctx, now := c.Request.Context(), a.deps.Now().UTC()
	before, err := a.deps.Publishers.Quarantines(ctx, ledger.QuarantineQuery{Developer: developer, Limit: maxCases})
	if err != nil {
		return nil, err
	}
	id := ledger.QuarantineID(developer, day.Of(now), len(before))
	_, err = a.deps.Publishers.OpenQuarantine(ctx, ledger.Quarantine{
		ID: id, DeveloperID: developer, OpenedAt: now,
		Evidence: traffic.Evidence{
			Rule: traffic.QuarantineManual, By: admin.ID, Note: in.Note,
			Today: traffic.PublisherDay{DeveloperID: developer, Day: day.Of(now)},
		},
	})
	if err != nil {
		return nil, err
	}
	open, err := a.deps.Publishers.Quarantines(
		ctx, ledger.QuarantineQuery{Developer: developer, Open: true, Limit: maxCases},
	)
	if err != nil {
		return nil, err
	}
	open = slices.DeleteFunc(open, func(c ledger.Quarantine) bool { return c.OfActs() })
	if len(open) == 0 {
		return nil, errs.New(errs.Conflict, "the case was ended meanwhile; try again")
	}
	return httpapi.Object{"case": answerCase(open[0])}, nil
}

// noteOf checks an administrator's note, which is stored permanently.
func noteOf(note string) (string, error) {
	note = strings.TrimSpace(note)
	if note == "" || utf8.RuneCountInString(note) > maxNote {
		return "", errs.New(
			errs.InvalidRequest, "note is required: state your reason in at most %d characters", maxNote,
		).With("field", "note")
	}
	return note, nil
}

// capRequest sets a publisher's own mint cap.
type capRequest struct {
	DeveloperID string `json:"developer_id"`
	Cap         *int64 `json:"cap"` // Credits per UTC day; 0 mints nothing, null restores the installation's cap
	Note        string `json:"note"`
}

// mintCap serves POST action=mint_cap: a publisher's own daily mint cap. Administrators only.
func (a *API) mintCap(c *gin.Context, admin account.User, in capRequest) (httpapi.Object, error) {
	var err error
	if in.Note, err = noteOf(in.Note); err != nil {
		return nil, err
	}
	set := ledger.MintCap{Cap: (*money.Credits)(in.Cap), By: admin.ID, Note: in.Note, At: a.deps.Now().UTC()}
	if set.DeveloperID, err = httpapi.ParseID("developer_id", in.DeveloperID); err != nil {
		return nil, err
	}
	if in.Cap != nil && *in.Cap < 0 {
		return nil, errs.New(errs.InvalidRequest, "cap must be 0 or more, or null").With("field", "cap")
	}
	if err := a.deps.Publishers.SetMintCap(c.Request.Context(), set); err != nil {
		return nil, err
	}
	return httpapi.Object{"developer_id": set.DeveloperID, "cap": set.Cap, "note": set.Note}, nil
}
