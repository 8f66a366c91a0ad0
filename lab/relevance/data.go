package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"adnet/auction"
	"adnet/auction/words"
	"adnet/internal/campaign"
	"adnet/internal/demo"
)

// labelled is a request and the campaigns that answer it; none means that no ad should be shown.
type labelled struct {
	Context string   `json:"context"`
	Labels  []string `json:"label"`
	Lang    string   `json:"lang"`

	place *demo.Request // its origin, with the data of the app; nil: only the language
}

// request returns the auction's request.
func (l *labelled) request(terms []words.Term) auction.Request {
	r := auction.Request{Words: terms, Language: l.Lang}
	if at := l.place; at != nil {
		r.Language, r.Region, r.HostApp = at.UserLanguage, at.UserRegion, at.HostApp
		r.Surface, r.ActiveTools = cmp.Or(at.Placement, "card"), at.ActiveTools
	}
	return r
}

// advertiser is one campaign as set up by an inexperienced advertiser: a name and a description.
type advertiser struct {
	Label       string `json:"label"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Lang        string `json:"lang"`

	stated *auction.Targeting // nil: only the language
}

func (a *advertiser) targeting() *auction.Targeting {
	if a.stated != nil {
		return a.stated
	}
	return &auction.Targeting{Languages: []string{a.Lang}}
}

// set is one set of labelled requests with its campaigns.
type set struct {
	name      string
	campaigns []advertiser
	requests  []labelled
}

// setNames are the sets in the shared data.
var setNames = []string{"metatool", "clinc", "livemcp", "xsid", "sib"}

// load reads a set from a folder.
func load(folder, name string) (s set, err error) {
	s.name = name
	if s.campaigns, err = lines[advertiser](filepath.Join(folder, name+".campaigns.jsonl")); err != nil {
		return s, err
	}
	s.requests, err = lines[labelled](filepath.Join(folder, name+".dev.jsonl"))
	return s, err
}

const demoName = "demo"

// demoSet returns the world of a first run, which every checkout has: short texts with tokens
// chosen by their advertisers. An ad is right if it is labelled or of the same category.
func demoSet() (s set, err error) {
	s.name = demoName
	campaigns, err := demo.Campaigns()
	if err != nil {
		return s, err
	}
	categories, err := demo.Categories()
	if err != nil {
		return s, err
	}
	requests, err := demo.Requests()
	if err != nil {
		return s, err
	}
	within := map[string][]string{}
	for i := range campaigns {
		f := &campaigns[i]
		within[categories[*f.Name]] = append(within[categories[*f.Name]], *f.Name)
		s.campaigns = append(s.campaigns,
			advertiser{Label: *f.Name, Name: *f.Headline, Description: *f.Subtext, stated: &auction.Targeting{
				IntentTokens: f.IntentTokens, Keywords: f.Keywords, ActiveTools: f.ActiveTools, HostApps: f.HostApps,
				Surfaces: f.Surfaces, IntegrationMethods: f.IntegrationMethods, Regions: f.Regions,
				Languages: f.Languages,
			}})
	}
	for i := range requests {
		r := &requests[i]
		s.requests = append(
			s.requests, labelled{Context: r.Context, Lang: r.Lang, Labels: within[r.Category], place: r},
		)
	}
	return s, nil
}

// lines reads one JSON value per line.
func lines[T any](path string) (list []T, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w (put the folder shared, which is not part of adnet, beside the repository)", err)
	}
	defer func() { _ = f.Close() }()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var value T
		if err := json.Unmarshal(in.Bytes(), &value); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		list = append(list, value)
	}
	return list, in.Err()
}

// loadAny reads a set from a folder, or the demo set.
func loadAny(folder, name string) (set, error) {
	if name == demoName {
		return demoSet()
	}
	return load(folder, name)
}

// text returns the form fields of the advertiser: the name as headline and the description below,
// both cut to the length of the field. Without a name the description begins in the headline.
func (a *advertiser) text() (headline, subtext string) {
	headline, subtext = cut(a.Name, campaign.MaxHeadline), cut(a.Description, campaign.MaxSubtext)
	if headline == "" {
		headline = cut(a.Description, campaign.MaxHeadline)
	}
	return headline, subtext
}

func cut(text string, most int) string {
	letters := []rune(text)
	return string(letters[:min(len(letters), most)])
}

// inScope returns the requests that some campaign answers.
func (s *set) inScope() (list []labelled) {
	for _, r := range s.requests {
		if len(r.Labels) > 0 {
			list = append(list, r)
		}
	}
	return list
}
