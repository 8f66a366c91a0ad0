// Package preview shows an ad on every surface before it is saved.
//
// POST /api/campaigns/preview renders a draft for each protocol with the code of the protocols
// themselves (ingress/serve, ingress/mcp, ingress/rtb), so a preview cannot differ from the ad. The
// pages below /console/preview/ draw the result. Each uses the real renderer (adnet.js, the card of
// MCP Apps, the markup of a banner, a player of the VAST document) in a sandbox whose policy allows
// no connections.
//
// A preview counts nothing and costs nothing. Its tokens are signed with a throwaway key
// (offer.Preview), and its links lead below /console/preview/, where nothing is recorded.
//
// # Not obvious
//
// The pages are the same for every visitor and contain no ad: the console page that frames them
// sends the content. So a stranger cannot make a link to this server that shows text of their own.
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
	"adnet/internal/account"
	"adnet/internal/campaign"
)

// sizes are the common banner sizes of desktop and mobile pages, in CSS pixels.
var sizes = [...][2]int{{300, 250}, {728, 90}, {320, 50}, {300, 600}, {160, 600}}

// Campaigns builds a campaign from fields without storing it; see campaign.Service.
type Campaigns interface {
	Plan(in campaign.Fields) (campaign.Campaign, error)
}

// Deps holds the dependencies of previews.
type Deps struct {
	Campaigns Campaigns
	BaseURL   func() string
	// Labels returns the texts of the network beside an ad in a language.
	Labels func(language string) offer.Labels
	// VideoSec is the video length in VAST documents, in seconds.
	VideoSec int64
}

// API is the endpoint.
type API struct{ deps Deps }

// New returns the endpoint.
func New(deps Deps) *API { return &API{deps} }

// Mount adds the route to s.
func (a *API) Mount(s *httpapi.Server) {
	// No Idempotency-Key: the endpoint stores nothing.
	s.Handle(http.MethodPost, "/api/campaigns/preview", httpapi.Do(a.preview), httpapi.Policy{
		Limit: httpapi.LimitRefused, Auth: httpapi.UserToken, Idempotent: httpapi.No, Audited: httpapi.No,
	})
}

type reply struct {
	Ad       jsontext.Value `json:"ad"`  // as in the reply of POST /v1/ad-request
	MCP      jsontext.Value `json:"mcp"` // as in the result of get_sponsored_content
	Markdown jsontext.Value `json:"markdown"`
	Banners  []banner       `json:"banners"`
	VAST     string         `json:"vast"`
	// Sample reports whether the demo's media replace media of the draft that cannot be loaded.
	Sample bool `json:"sample"`
	// Unserved has the surfaces that cannot show the campaign, each with the reason.
	Unserved map[string]reason `json:"unserved"`
}

// reason is the cause for which a surface cannot show a campaign.
type reason string

const (
	needsImage reason = "image" // banners show images only
	needsVideo reason = "video" // players show videos only
	needsView  reason = "view"  // the campaign pays for views, which the surface cannot report
)

type banner struct {
	Width  int    `json:"width"`
	Height int    `json:"height"`
	HTML   string `json:"html"`
}

// preview returns the draft, possibly incomplete, as each protocol would show it.
func (a *API) preview(
	_ *gin.Context, _ account.User, in httpapi.AsRead[campaign.Fields, campaign.Sent],
) (reply, error) {
	draft, err := a.deps.Campaigns.Plan(in.In)
	if err != nil {
		return reply{}, err
	}
	return a.of(draft)
}

// readersOf returns the language of a draft's readers, if there is only one.
func readersOf(draft *campaign.Campaign) string {
	if len(draft.Languages) != 1 {
		return ""
	}
	return draft.Languages[0]
}

// of renders a draft for every surface that can show it. The demo's media stand in for media that
// cannot be loaded; a draft without media is shown without.
func (a *API) of(draft campaign.Campaign) (reply, error) {
	draft.ID = uuid.New()
	base := strings.TrimSuffix(a.deps.BaseURL(), "/")
	links := base + "/console/preview"
	result := reply{Banners: []banner{}, Sample: draft.MediaURL != "" && !loads(draft.MediaURL)}
	if result.Sample {
		draft.MediaURL = base + sampleOf(draft.Format)
	}
	if !loads(draft.LogoURL) {
		draft.LogoURL = ""
	}
	if !loads(draft.PosterURL) {
		draft.PosterURL = ""
	}
	ad, err := offer.Preview(&draft, links, a.deps.Labels(readersOf(&draft)))
	if err != nil {
		return reply{}, err
	}
	text, err := serve.AppendReply(nil, &ad)
	if err != nil {
		return reply{}, err
	}
	result.Ad = jsontext.Value(text[len(`{"ad":`) : len(text)-1])
	result.MCP, result.Markdown = mcp.AppendAd(nil, &ad), mcp.AppendMarkdown(nil, &ad)
	size := sizes[:]
	banners, vast := rtb.Preview(&ad, links, size, a.deps.VideoSec)
	for i, html := range banners {
		result.Banners = append(result.Banners, banner{size[i][0], size[i][1], html})
	}
	result.VAST, result.Unserved = vast, unserved(&draft, len(banners) > 0, vast != "")
	return result, nil
}

// unserved returns the surfaces that cannot show a draft, which fills banners or players or
// neither. Bids and chats cannot report a view, so a campaign that pays for views never wins there
// (auction.Request.Views).
func unserved(draft *campaign.Campaign, banners, player bool) map[string]reason {
	list := map[string]reason{}
	if !banners {
		list["banner"] = needsImage
	}
	if !player {
		list["vast"] = needsVideo
	}
	if draft.Billing() == campaign.VCPM {
		for _, surface := range [...]string{"banner", "embed", "vast"} {
			if list[surface] == "" {
				list[surface] = needsView
			}
		}
	}
	return list
}

// sampleOf returns the path of the demo's media of a format.
func sampleOf(f campaign.Format) string {
	if f == campaign.Video {
		return filmPath
	}
	return picturePath
}

// loads reports whether a link can be loaded. It cannot if it is empty or has one of the names
// reserved for examples (RFC 2606, RFC 6761), which the demo's campaigns use.
func loads(link string) bool {
	u, err := url.Parse(link)
	if err != nil || u.Hostname() == "" {
		return false
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	for _, reserved := range [...]string{
		"example", "invalid", "test", "localhost", "example.com", "example.net", "example.org",
	} {
		if host == reserved || strings.HasSuffix(host, "."+reserved) {
			return false
		}
	}
	return true
}
