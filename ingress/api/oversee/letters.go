package oversee

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/stream"
	"adnet/internal/stream/deadletter"
	"adnet/schemas/event"
)

const (
	maxLetters = 200
	maxProblem = 200     // bytes of a search text
	maxRaw     = 4 << 10 // bytes of a record in a reply
	replayWait = 10 * time.Second
)

var streamForm = regexp.MustCompile(`^[0-9a-f]{1,64}$`)

// letterReply is a dead letter. Data from strangers appears only in raw and decoded, and is
// bounded.
type letterReply struct {
	ID        string          `json:"id"`
	Topic     string          `json:"topic"`
	Stream    string          `json:"stream"` // id of the topic
	Partition int32           `json:"partition"`
	Offset    int64           `json:"offset"`
	Problem   string          `json:"problem"`
	At        time.Time       `json:"at"`
	Bytes     int             `json:"bytes"`
	Summary   string          `json:"summary"`
	Replays   int             `json:"replays"`
	StartedAt *time.Time      `json:"replay_started_at"`
	SentAt    *time.Time      `json:"replayed_at"`
	SentBy    string          `json:"replayed_by"`
	Raw       []byte          `json:"raw,omitempty"` // base64, the first 4 KiB
	Decoded   json.RawMessage `json:"decoded,omitempty"`
}

func answerLetter(l *ledger.StoredDeadLetter, whole bool) letterReply {
	r := letterReply{
		ID: deadletter.ID(l), Topic: event.TopicEvents, Stream: l.Stream, Partition: l.Number, Offset: l.Offset,
		Problem: l.Problem, At: l.At.UTC(),
		Bytes: len(l.Raw), Summary: deadletter.Short(l.Raw), Replays: l.Replays, SentBy: l.SentBy,
	}
	for _, at := range []struct {
		from time.Time
		to   **time.Time
	}{{l.StartedAt, &r.StartedAt}, {l.SentAt, &r.SentAt}} {
		if !at.from.IsZero() {
			utc := at.from.UTC()
			*at.to = &utc
		}
	}
	if whole {
		r.Raw, r.Decoded = l.Raw[:min(len(l.Raw), maxRaw)], deadletter.Decoded(l.Raw)
	}
	return r
}

// letters serves GET /api/admin/dead_letters: the undecodable records, oldest first.
func (a *API) letters(c *gin.Context, _ account.User, page httpapi.Page) (httpapi.Object, error) {
	q := ledger.DeadLetterQuery{Open: c.Query("state") != "all", Stream: c.Query("stream"), Problem: c.Query("problem")}
	if q.Stream != "" && !streamForm.MatchString(q.Stream) {
		return nil, errs.New(errs.InvalidRequest, "stream must be the id of a topic in hex").With("field", "stream")
	}
	if len(q.Problem) > maxProblem || !utf8.ValidString(q.Problem) || strings.ContainsRune(q.Problem, 0) {
		return nil, errs.New(
			errs.InvalidRequest, "problem must be a text of at most %d bytes", maxProblem,
		).With("field", "problem")
	}
	q.Limit, q.Offset = page.Limit+1, page.Offset // to see whether there is a next page
	list, err := a.deps.Letters.DeadLetters(c.Request.Context(), q)
	if err != nil {
		return nil, err
	}
	list, reply := httpapi.Paged(list, page)
	replies := make([]letterReply, len(list))
	for i := range list {
		replies[i] = answerLetter(&list[i], false)
	}
	reply["dead_letters"] = replies
	return reply, nil
}

// letter serves GET /api/admin/dead_letters/{id}, including the content of the record.
func (a *API) letter(c *gin.Context, _ account.User, _ httpapi.None) (httpapi.Object, error) {
	at, err := deadletter.ParseID(c.Param("id"))
	if err != nil {
		return nil, err
	}
	return a.one(c.Request.Context(), at)
}

// one returns a dead letter with its content.
func (a *API) one(ctx context.Context, at stream.Range) (httpapi.Object, error) {
	list, err := a.deps.Letters.DeadLetters(ctx, ledger.DeadLetterQuery{At: &at, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, errs.New(errs.NotFound, "there is no such dead letter")
	}
	return httpapi.Object{"dead_letter": answerLetter(&list[0], true)}, nil
}

type replay struct {
	Again bool `json:"again"`
}

// replayLetter serves POST /api/admin/dead_letters/{id}/replay: it sends the record to the events
// topic again, once, unless again is set. An event that was already applied counts as a duplicate.
func (a *API) replayLetter(c *gin.Context, admin account.User, in replay) (httpapi.Object, error) {
	s := deadletter.Sending{By: admin.ID.String()}
	var err error
	if s.At, err = deadletter.ParseID(c.Param("id")); err != nil {
		return nil, err
	}
	s.Again = in.Again
	ctx, stop := context.WithTimeout(c.Request.Context(), replayWait)
	defer stop()
	if err := deadletter.Replay(ctx, a.deps.Letters, a.deps.Broker, s); err != nil {
		return nil, err
	}
	return a.one(c.Request.Context(), s.At)
}
