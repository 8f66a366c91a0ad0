// Package benna is the ranking endpoint: it shows the scorer that auctions use, for one context and
// one campaign that the caller describes, and which scorer that is.
//
// It needs no key, costs nothing and records nothing: no auction takes place. Calls are limited per
// address. The answer is the same arithmetic as in auctions (auction/ranker), so the model version
// says whether two answers are comparable.
package benna

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"adnet/auction"
	"adnet/auction/ranker"
	"adnet/ingress/httpapi"
	"adnet/internal/schedule"
)

// Deps are what the endpoint works with. All are required.
type Deps struct {
	// Snapshot is what auctions are decided by now.
	Snapshot func() *auction.Snapshot
	// MinRelevance is the least relevance of an ad where a request states none.
	MinRelevance func() ranker.PPM
	Diagnostics  *Diagnostics
	Now          func() time.Time
}

// API is the endpoint.
type API struct{ deps Deps }

// New makes the endpoint.
func New(deps Deps) *API {
	deps.Now = schedule.Clock(deps.Now)
	return &API{deps: deps}
}

// Mount adds the route to h.
func (a *API) Mount(h *httpapi.Server) {
	// No Idempotency-Key: it changes nothing.
	h.HandleActions(http.MethodPost, "/api/benna", httpapi.Actions{Param: "op", Of: map[string]httpapi.Action{
		"": {Do: a.score}, "score": {Do: a.score}, "engine-status": {Do: a.status},
	}}, httpapi.Policy{Limit: httpapi.LimitRanking, Auth: httpapi.Anyone, Idempotent: httpapi.No, Audited: httpapi.No})
}

// share is per mille as the wire's fraction.
func share(p ranker.PerMille) float64 { return float64(p) / 1000 }

// chance is parts per million as the wire's probability.
func chance(p ranker.PPM) float64 { return float64(p) / float64(ranker.Certain) }

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

type weightsReply struct {
	Tool         float64 `json:"tool_overlap"` // what a stated tool that is in use adds to a match
	Host         float64 `json:"host_match"`
	Surface      float64 `json:"surface_match"`
	ClickRight   float64 `json:"p_click_relevant"`
	ClickWrong   float64 `json:"p_click_irrelevant"`
	ConvertRight float64 `json:"p_convert_relevant"`
	ConvertWrong float64 `json:"p_convert_irrelevant"`
	View         float64 `json:"p_view"`          // of an impression, where a view can be reported
	Usual        float64 `json:"usual_relevance"` // at which a cpm bid is worth its full amount
	Floor        float64 `json:"min_relevance"`   // of ads, where a request states none
	Terms        int     `json:"terms"`           // known words of campaigns
}

type statusReply struct {
	ModelVersion string       `json:"model_version"`
	Kind         string       `json:"kind"`
	Learned      bool         `json:"learned"`
	Signals      []string     `json:"signals"`
	Weights      weightsReply `json:"weights"`
	Diagnostics  Report       `json:"diagnostics"`
}

// status serves op=engine-status.
func (a *API) status(c *gin.Context) error {
	// It needs no body; one that is sent is what the path takes.
	if err := readIfAny(c); err != nil {
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
