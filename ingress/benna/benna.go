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

	"adnet/auction/ranker"
	"adnet/ingress/httpapi"
	"adnet/internal/schedule"
)

// Deps are what the endpoint works with. All are required.
type Deps struct {
	// Table is the weights that auctions use now.
	Table       func() ranker.Table
	Diagnostics *Diagnostics
	Now         func() time.Time
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
	Base          float64 `json:"base"` // relevance without any overlap
	IntentOverlap float64 `json:"intent_overlap"`
	ToolOverlap   float64 `json:"tool_overlap"`
	HostMatch     float64 `json:"host_match"`
	Enough        uint16  `json:"complete_overlap"` // shared tokens or tools that count as a complete overlap
	PClick        float64 `json:"base_p_click"`     // at a relevance of 0.5
	PConvert      float64 `json:"base_p_convert"`
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
func (a *API) status(c *httpapi.Context) error {
	// It needs no body; one that is sent is what the path takes.
	if err := readIfAny(c); err != nil {
		return err
	}
	t := a.deps.Table()
	return httpapi.JSON(c, http.StatusOK, statusReply{
		ModelVersion: t.Version, Kind: "targeting-overlap", Signals: signalNames[:],
		Weights: weightsReply{
			Base: share(t.Base), IntentOverlap: share(t.Intent), ToolOverlap: share(t.Tool), HostMatch: share(t.Host),
			Enough: t.Enough, PClick: chance(t.ClickRate), PConvert: chance(t.ConvertRate),
		},
		Diagnostics: a.deps.Diagnostics.Report(a.deps.Now()),
	})
}
