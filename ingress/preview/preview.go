// Package preview shows what an ad would look like on every surface before anything is saved.
//
// POST /api/campaigns/preview writes a draft as each wire would: with the code of the wires
// (ingress/serve, ingress/mcp, ingress/rtb), so that a preview cannot differ from the ad. The pages
// below /console/preview/ draw that: each is the real thing (adnet.js, the card of MCP Apps, the
// markup of a banner, a player of the VAST document), in a sandbox, with a policy that lets it
// connect to nothing.
//
// A preview counts nothing and costs nothing: its tokens are signed by a key that is thrown away
// (offer.Preview), and its links lead below /console/preview/, where nothing records.
//
// # Not obvious
//
// The pages are the same for everybody and hold no ad; what they draw, the console's page that
// frames them tells them. So a stranger cannot make a link to this server that shows words of their
// own.
package preview

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/ingress/mcp"
	"adnet/ingress/offer"
	"adnet/ingress/rtb"
	"adnet/ingress/serve"
	"adnet/internal/campaign"
)

// sizes are those of the banners, in CSS pixels: the usual ones of pages and phones.
var sizes = [...][2]int{{300, 250}, {728, 90}, {320, 50}, {300, 600}, {160, 600}}

// Campaigns makes a campaign of fields without keeping it; see campaign.Service.
type Campaigns interface {
	Plan(in campaign.Fields) (campaign.Campaign, error)
}

// Deps are what previews are made with.
type Deps struct {
	Auth      *httpapi.Auth
	Campaigns Campaigns
	BaseURL   func() string
	// Disclosure is the label that marks an ad as one.
	Disclosure string
	// VideoSec is the length that VAST documents say of a video, in seconds.
	VideoSec int64
}

// API is the endpoint.
type API struct{ deps Deps }

// New makes the endpoint.
func New(deps Deps) *API { return &API{deps} }

// Mount adds the route to s.
func (a *API) Mount(s *httpapi.Server) {
	// No Idempotency-Key: it keeps nothing.
	s.Handle(http.MethodPost, "/api/campaigns/preview", a.preview, httpapi.Policy{
		Limit: httpapi.LimitRefused, Auth: httpapi.UserToken, Idempotent: httpapi.No, Audited: httpapi.No,
	})
}

type reply struct {
	Ad       jsontext.Value `json:"ad"`  // as POST /v1/ad-request answers it
	MCP      jsontext.Value `json:"mcp"` // as get_sponsored_content answers it
	Markdown jsontext.Value `json:"markdown"`
	Banners  []banner       `json:"banners"`
	VAST     string         `json:"vast"`
	// Sample says that the draft has no media that can be loaded, so that the demo's stand in.
	Sample bool `json:"sample"`
}

type banner struct {
	Width  int    `json:"width"`
	Height int    `json:"height"`
	HTML   string `json:"html"`
}

// preview answers what every wire would show of a draft, which may be incomplete.
func (a *API) preview(c *gin.Context) error {
	if _, err := a.deps.Auth.User(c); err != nil {
		return err
	}
	var in campaign.Fields
	if err := httpapi.Decode(c, &in); err != nil {
		return err
	}
	draft, err := a.deps.Campaigns.Plan(in)
	if err != nil {
		return err
	}
	made, err := a.of(draft)
	if err != nil {
		return err
	}
	return httpapi.JSON(c, http.StatusOK, made)
}

// of writes a draft on every surface. One without media that can be loaded has the demo's: a
// picture, and for the player a film.
func (a *API) of(draft campaign.Campaign) (reply, error) {
	draft.ID = uuid.New()
	base := strings.TrimSuffix(a.deps.BaseURL(), "/")
	links := base + "/console/preview"
	made := reply{Banners: []banner{}, Sample: !loads(draft.MediaURL)}
	if !loads(draft.LogoURL) {
		draft.LogoURL = ""
	}
	if !loads(draft.PosterURL) {
		draft.PosterURL = ""
	}
	film := draft
	if film.Format = campaign.Video; made.Sample || draft.Format != campaign.Video {
		film.MediaURL = base + filmPath
	}
	if made.Sample {
		draft.MediaURL = base + picturePath
		if draft.Format == campaign.Video {
			draft.MediaURL = base + filmPath
		}
	}
	shown, err := offer.Preview(&draft, links, a.deps.Disclosure)
	if err != nil {
		return reply{}, err
	}
	text, err := serve.AppendReply(nil, &shown)
	if err != nil {
		return reply{}, err
	}
	made.Ad = jsontext.Value(text[len(`{"ad":`) : len(text)-1])
	made.MCP, made.Markdown = mcp.AppendAd(nil, &shown), mcp.AppendMarkdown(nil, &shown)
	size := sizes[:]
	banners, _ := rtb.Preview(&shown, links, size, a.deps.VideoSec)
	for i, html := range banners {
		made.Banners = append(made.Banners, banner{size[i][0], size[i][1], html})
	}
	played, err := offer.Preview(&film, links, a.deps.Disclosure)
	if err != nil {
		return reply{}, err
	}
	_, made.VAST = rtb.Preview(&played, links, nil, a.deps.VideoSec)
	return made, nil
}

// loads says whether something may be at a link: not where there is none, and not at the names that
// are kept for examples (RFC 2606, RFC 6761), which the demo's campaigns have.
func loads(link string) bool {
	u, err := url.Parse(link)
	if err != nil || u.Hostname() == "" {
		return false
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	for _, kept := range [...]string{
		"example", "invalid", "test", "localhost", "example.com", "example.net", "example.org",
	} {
		if host == kept || strings.HasSuffix(host, "."+kept) {
			return false
		}
	}
	return true
}
