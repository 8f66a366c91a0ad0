package manage

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/compliance/decision"
	"adnet/internal/errs"
	"adnet/internal/ledger"
)

// Cases ends quarantine cases.
type Cases interface {
	EndQuarantine(ctx context.Context, v ledger.QuarantineVerdict) (ledger.Quarantine, error)
}

var ofDecisions = httpapi.Params{
	"owner_id": httpapi.IDForm, "id": httpapi.IDForm, "kind": httpapi.WordForm(decision.Kinds...),
	"appeal": httpapi.WordForm("open"),
	"limit":  httpapi.NumberForm(1, maxLimit), "offset": httpapi.NumberForm(0, httpapi.MaxOffset),
}

func (a *API) mountDecisions(s *httpapi.Server) {
	reads, changes := reads, changes
	reads.Admits, changes.Admits = httpapi.Suspended, httpapi.Suspended
	s.Handle(http.MethodGet, "/api/decisions", httpapi.Do(a.listDecisions), with(reads, ofDecisions))
	s.Handle(http.MethodPost, "/api/decisions/:id/appeal", httpapi.Do(a.appeal), changes)
	changes.Auth, changes.Admits = httpapi.AdminToken, 0
	s.Handle(http.MethodPost, "/api/admin/appeals/:id", httpapi.Do(a.answerAppeal), changes)
}

// listDecisions serves GET /api/decisions: the decisions against the caller with their reasons, or
// against any account for an administrator.
func (a *API) listDecisions(c *gin.Context, caller account.User, page httpapi.Page) (httpapi.Object, error) {
	q := decision.Query{
		Kind: decision.Kind(c.Query("kind")), Open: c.Query("appeal") == "open", Limit: page.Limit, Offset: page.Offset,
		OwnerID: httpapi.QueryID(c, "owner_id"), ID: httpapi.QueryID(c, "id"),
	}
	if !caller.IsAdmin() || caller.Disabled {
		if q.OwnerID != uuid.Nil && q.OwnerID != caller.ID {
			return nil, errs.New(errs.Forbidden, "owner_id must be your own")
		}
		q.OwnerID = caller.ID
	}
	list, total, err := a.deps.Decisions.Decisions(c.Request.Context(), q)
	if err != nil {
		return nil, err
	}
	if q.ID != uuid.Nil && total == 0 {
		return nil, decision.ErrUnknown
	}
	if list == nil {
		list = []decision.Statement{}
	}
	return httpapi.Object{"decisions": list, "total": total, "limit": q.Limit, "offset": q.Offset}, nil
}

type objection struct {
	Text string `json:"text"`
}

// appeal serves POST /api/decisions/{id}/appeal.
func (a *API) appeal(c *gin.Context, caller account.User, in httpapi.Of[objection]) (reply httpapi.Reply, err error) {
	text, err := decision.Clean("text", in.In.Text, decision.MaxText)
	if err != nil {
		return reply, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return reply, err
	}
	created := decision.Appeal{ID: id, DecisionID: in.ID, OwnerID: caller.ID, Text: text, CreatedAt: a.deps.Now().UTC()}
	if err := a.deps.Decisions.Appeal(c.Request.Context(), created); err != nil {
		return reply, err
	}
	return httpapi.With(http.StatusCreated, httpapi.Object{"appeal": created}), nil
}

type verdict struct {
	Outcome decision.Outcome `json:"outcome"`
	Words   string           `json:"words"`
}

// answerAppeal serves POST /api/admin/appeals/{id}. For the outcome reversed it takes the decision
// back first, which can be repeated, and then records the answer: an answer never promises an
// action that failed.
func (a *API) answerAppeal(c *gin.Context, admin account.User, in httpapi.Of[verdict]) (httpapi.Object, error) {
	answer := decision.Answer{AppealID: in.ID, Outcome: in.In.Outcome, By: admin.ID, At: a.deps.Now().UTC()}
	if answer.Outcome != decision.Upheld && answer.Outcome != decision.Reversed {
		return nil, errs.New(errs.InvalidRequest, "outcome must be upheld or reversed").With("field", "outcome")
	}
	var err error
	if answer.Words, err = decision.Clean("words", in.In.Words, decision.MaxWords); err != nil {
		return nil, err
	}
	ctx := c.Request.Context()
	of, err := a.appealed(ctx, answer.AppealID)
	if err != nil {
		return nil, err
	}
	if answer.Outcome == decision.Reversed {
		if err := a.reverse(ctx, admin, of, answer.Words); err != nil {
			return nil, err
		}
	}
	if err := a.deps.Decisions.Answer(ctx, answer); err != nil {
		return nil, err
	}
	list, _, err := a.deps.Decisions.Decisions(ctx, decision.Query{ID: of.ID, Limit: 1})
	if err != nil {
		return nil, err
	}
	return httpapi.Object{"decision": list[0]}, nil
}

// appealed returns the decision of an open appeal. Errors: errs.NotFound, errs.InvalidState.
func (a *API) appealed(ctx context.Context, appeal uuid.UUID) (decision.Statement, error) {
	of, err := a.deps.Decisions.AppealedBy(ctx, appeal)
	if err != nil {
		return of, err
	}
	for _, known := range of.Appeals {
		if known.ID == appeal && known.Outcome != "" {
			return of, decision.ErrEnded
		}
	}
	return of, nil
}

// reverse takes a decision back, unless it is no longer in force: it was taken back before, or
// superseded by a later decision, which has its own appeal. Credits clawed back in the meantime
// belong to others, so an administrator returns them by hand. It returns errs.Conflict if a new
// decision was made meanwhile: it changes only the state that it read before it checked for later
// decisions.
func (a *API) reverse(ctx context.Context, admin account.User, of decision.Statement, words string) error {
	id, err := uuid.Parse(of.TargetID)
	if err != nil {
		return err
	}
	seen, err := a.look(ctx, admin, of, id)
	if err != nil {
		return err
	}
	if superseded, err := a.superseded(ctx, of); err != nil || superseded {
		return err
	}
	switch of.Kind {
	case decision.Suspension:
		if _, err = a.deps.Accounts.RestoreSeen(
			ctx, admin, seen.account, firstRunes(words, account.MaxReason),
		); err == nil {
			a.deps.Auth.ForgetUser(id)
		}
	case decision.Rejection:
		if of.TargetKind == auditlog.TargetUser { // only its owner can set the name again; it is not stored
			return nil
		}
		_, err = a.deps.Campaigns.Reinstate(
			ctx, admin, id, campaign.Decision{Notes: firstRunes(words, 250), Seen: seen.version},
		)
	case decision.Pause:
		if of.Rule == decision.RuleReports {
			_, err = a.deps.Campaigns.Reinstate(
				ctx, admin, id, campaign.Decision{Notes: firstRunes(words, 250), Seen: seen.version},
			)
			break
		}
		_, err = a.deps.Campaigns.Release(ctx, admin, id, seen.version)
	case decision.Hold: // each hold is its own case, so a newer one has another id
		if a.deps.Cases == nil {
			return nil
		}
		_, err = a.deps.Cases.EndQuarantine(ctx, ledger.QuarantineVerdict{
			Case: id, Decision: ledger.QuarantineRelease, By: admin.ID, Note: firstRunes(words, 500),
			At: a.deps.Now().UTC(),
		})
		if errs.Is(err, errs.Conflict) { // clawed back meanwhile: another decision, with its own appeal
			return nil
		}
	}
	if errs.Is(err, errs.InvalidState) { // no longer in force
		return nil
	}
	return err
}

// looked is the target of a decision, read before the later decisions. It detects changes since
// then.
type looked struct {
	account account.User
	version int64 // of the campaign's config
}

func (a *API) look(ctx context.Context, admin account.User, of decision.Statement, id uuid.UUID) (l looked, err error) {
	switch of.TargetKind {
	case auditlog.TargetUser:
		l.account, err = a.deps.Accounts.Account(ctx, id)
	case auditlog.TargetCampaign:
		var c campaign.Campaign
		c, err = a.deps.Campaigns.Get(ctx, admin, id)
		l.version = c.ConfigVersion
	}
	return l, err
}

// superseded reports whether a later decision about the same target replaced this one.
func (a *API) superseded(ctx context.Context, of decision.Statement) (bool, error) {
	// Newest first, so later decisions come before this one on the page.
	list, _, err := a.deps.Decisions.Decisions(
		ctx, decision.Query{OwnerID: of.OwnerID, Target: of.TargetID, Limit: maxLimit},
	)
	for i := range list {
		if list[i].ID == of.ID {
			break
		}
		if list[i].Supersedes(&of) {
			return true, err
		}
	}
	return false, err
}

// sayWhy adds the decision and its reason to the error for an owner resuming a campaign that an
// administrator has paused. If it cannot find them, it returns the error unchanged.
func (a *API) sayWhy(ctx context.Context, caller account.User, campaignID uuid.UUID, refusal error) error {
	list, _, err := a.deps.Decisions.Decisions(
		ctx, decision.Query{OwnerID: caller.ID, Kind: decision.Pause, Target: campaignID.String(), Limit: 1},
	)
	if err != nil || len(list) == 0 {
		return refusal
	}
	why := errs.Of(refusal)
	return errs.New(why.Code, "%s", why.Message).With("decision_id", list[0].ID).With("reason", list[0].Reason)
}

func firstRunes(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most])
	}
	return text
}
