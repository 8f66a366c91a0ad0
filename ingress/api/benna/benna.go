// Package benna serves the ranking endpoint. For one context and one campaign that the caller
// describes, it returns the score that auctions would compute, and the version of the scorer.
//
// The endpoint needs no key, costs nothing and records nothing, since no auction takes place. Calls
// are limited per address. Scores come from the same code as in auctions (auction/ranker), so two
// replies with the same model version are comparable.
package benna

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"adnet/auction"
	"adnet/auction/ranker"
	"adnet/ingress/httpapi"
	"adnet/internal/process/schedule"
)

// Deps holds the dependencies of the endpoint. All are required.
type Deps struct {
	// Snapshot returns the campaigns and weights that auctions use now.
	Snapshot func() *auction.Snapshot
	// MinRelevance returns the minimum relevance of an ad for requests that set none.
	MinRelevance func() ranker.PPM
	Diagnostics  *Diagnostics
	Now          func() time.Time
}

// API is the endpoint.
type API struct{ deps Deps }

// New returns the endpoint.
func New(deps Deps) *API {
	deps.Now = schedule.Clock(deps.Now)
	return &API{deps: deps}
}

// Mount adds the route to h.
func (a *API) Mount(h *httpapi.Server) {
	// No Idempotency-Key: the endpoint changes nothing.
	h.HandleActions(http.MethodPost, "/api/benna", httpapi.Actions{Param: "op", Of: map[string]httpapi.Action{
		"": {Do: httpapi.Plain(a.score)}, "score": {Do: httpapi.Plain(a.score)}, "engine-status": {Do: httpapi.Plain(a.status)},
	}}, httpapi.Policy{Limit: httpapi.LimitRanking, Auth: httpapi.Anyone, Idempotent: httpapi.No, Audited: httpapi.No})
}

// share converts per mille to the fraction that replies use.
func share(p ranker.PerMille) float64 { return float64(p) / 1000 }

// chance converts parts per million to the probability that replies use.
func chance(p ranker.PPM) float64 { return float64(p) / float64(ranker.Certain) }

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

type weightsReply struct {
	Tool         float64 `json:"tool_overlap"` // weight of a matching tool in active_tools
	Host         float64 `json:"host_match"`
	Surface      float64 `json:"surface_match"`
	ClickRight   float64 `json:"p_click_relevant"`
	ClickWrong   float64 `json:"p_click_irrelevant"`
	ConvertRight float64 `json:"p_convert_relevant"`
	ConvertWrong float64 `json:"p_convert_irrelevant"`
	View         float64 `json:"p_view"`          // of an impression, if the placement can report views
	Usual        float64 `json:"usual_relevance"` // relevance at which a cpm bid counts in full
	Floor        float64 `json:"min_relevance"`   // for requests that set no minimum
	Terms        int     `json:"terms"`           // number of known words of campaigns
}

type statusReply struct {
	ModelVersion string       `json:"model_version"`
	Kind         string       `json:"kind"`
	Learned      bool         `json:"learned"`
	Signals      []string     `json:"signals"`
	Weights      weightsReply `json:"weights"`
	Diagnostics  Report       `json:"diagnostics"`
}

// status serves op=engine-status. It needs no body, but checks the one it gets.
func (a *API) status(c *gin.Context) error {
	if err := checkOptional(c); err != nil {
		return err
	}
	x := a.deps.Snapshot()
	t := x.Table()
	return httpapi.JSON(c, http.StatusOK, statusReply{
		ModelVersion: x.Model(), Kind: "text-match", Learned: x.Learnt() != nil, Signals: signalNames[:],
		Weights: weightsReply{
			Tool: share(t.Tool.PerMille()), Host: share(t.Host.PerMille()), Surface: share(t.Surface.PerMille()),
			ClickRight: chance(t.PClick(ranker.Certain)), ClickWrong: chance(t.PClick(0)),
			ConvertRight: chance(t.ConvertRight), ConvertWrong: chance(t.ConvertWrong),
			View: chance(t.PView()), Usual: chance(t.Usual), Floor: chance(a.deps.MinRelevance()),
			Terms: x.Words().Len(),
		},
		Diagnostics: a.deps.Diagnostics.Report(a.deps.Now()),
	})
}
