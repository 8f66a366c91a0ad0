// Package demo provides the data of a first run of adnet, and of tests and benchmarks: invented
// companies, their campaigns, requests labelled with suitable campaigns, accounts to log in with,
// and four commands to paste.
//
// The password is public. Loading the demo gives administrator rights to every client that can
// reach the service, so it belongs in in-memory mode on a loopback address.
package demo

import (
	"bytes"
	"embed"
	"fmt"
	"io"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"adnet/internal/campaign"
)

// Origin, licence and fields of the files: data/README.md.
//
//go:embed data
var files embed.FS

const (
	companiesFile = "data/companies.jsonl"
	campaignsFile = "data/campaigns.jsonl"
	requestsFile  = "data/requests.jsonl"
	needsFile     = "data/needs.jsonl"
)

// Company is an invented advertiser.
type Company struct {
	Domain   string `json:"domain"` // host of the landing pages of all its campaigns
	Name     string `json:"name"`
	Category string `json:"category"` // its products, one of 15
}

// Request is the text of an AI app's user with the app's facts about the user, in the form of an ad
// request's body, and a judgement of which campaigns would be right.
type Request struct {
	ID   string `json:"id"`   // language and number, unique
	Lang string `json:"lang"` // ISO 639-1 code of the main language of the context

	// Label lists the campaigns that fit the request, best first. If it is empty, no ad should be
	// shown. The targeting of a labelled campaign, except for words, matches the request.
	Label []string `json:"label"`
	// Category is the category of the first labelled campaign, empty without one. Other campaigns
	// of this category are acceptable answers. Campaigns of another category are wrong unless they
	// are labelled.
	Category string `json:"category"`

	Context      string   `json:"context"` // at most 2,000 code points, as an ad request allows
	UserLanguage string   `json:"user_language,omitempty"`
	UserRegion   string   `json:"user_region,omitempty"`
	HostApp      string   `json:"host_app,omitempty"`
	Placement    string   `json:"placement,omitempty"`
	ActiveTools  []string `json:"active_tools,omitempty"`
}

// Companies returns the advertisers in the order of the file. It fails if a file cannot be read,
// which does not happen in a built binary.
func Companies() ([]Company, error) { return read[Company](companiesFile) }

// Campaigns returns the demo campaigns in the order of the file, in the form in which their
// advertisers would send them. Their names are unique. Errors: as of [Companies].
func Campaigns() ([]campaign.Fields, error) { return read[campaign.Fields](campaignsFile) }

// Requests returns the labelled requests in the order of the file, grouped by language. They
// measure the relevance of the ads chosen by a ranking model and serve as the traffic of
// benchmarks. The first one finds an ad. Errors: as of [Companies].
func Requests() ([]Request, error) { return read[Request](requestsFile) }

// Needs returns requests of people in need, beside which no ad is shown.
func Needs() ([]Request, error) { return read[Request](needsFile) }

// Categories returns the category of each campaign by name. It fails like [Companies], or if the
// landing page of a campaign belongs to no company.
func Categories() (map[string]string, error) {
	companies, err := Companies()
	if err != nil {
		return nil, err
	}
	campaigns, err := Campaigns()
	if err != nil {
		return nil, err
	}
	of := make(map[string]string, len(campaigns))
	for i := range campaigns {
		k, err := companyOf(companies, &campaigns[i])
		if err != nil {
			return nil, err
		}
		of[*campaigns[i].Name] = companies[k].Category
	}
	return of, nil
}

// Words returns the intent tokens of all campaigns and the longer words of their texts, repeated as
// often as they occur, in lower case, with letters and digits only. Benchmarks draw the targeting
// of their campaigns from them. The tokens alone, chosen to set companies apart, are shared by far
// fewer campaigns than in a large network. Errors: as of [Companies].
func Words() ([]string, error) {
	campaigns, err := Campaigns()
	if err != nil {
		return nil, err
	}
	var words []string
	for i := range campaigns {
		f := &campaigns[i]
		words = append(words, f.IntentTokens...)
		for _, word := range strings.FieldsFunc(strings.ToLower(*f.Headline+" "+*f.Subtext), notOfAWord) {
			if utf8.RuneCountInString(word) > 3 { // most shorter ones are articles, pronouns and the like
				words = append(words, word)
			}
		}
	}
	return words, nil
}

func notOfAWord(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
}

// companyOf returns the index of the company that owns campaign f.
func companyOf(companies []Company, f *campaign.Fields) (int, error) {
	landing, err := url.Parse(*f.CTAURL)
	if err != nil {
		return 0, fmt.Errorf("campaign %q: %w", *f.Name, err)
	}
	for i := range companies {
		if companies[i].Domain == landing.Hostname() {
			return i, nil
		}
	}
	return 0, fmt.Errorf("campaign %q: no company has the domain %s", *f.Name, landing.Hostname())
}

// CampaignsJSONL returns the file of [Campaigns], one JSON object per line.
func CampaignsJSONL() ([]byte, error) { return files.ReadFile(campaignsFile) }

// RequestsJSONL returns the file of [Requests], one JSON object per line.
func RequestsJSONL() ([]byte, error) { return files.ReadFile(requestsFile) }

func read[T any](name string) ([]T, error) {
	raw, err := files.ReadFile(name)
	if err != nil {
		return nil, err
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(raw))
	var list []T
	for {
		var value T
		// A misspelt field would silently get its default.
		err := json.UnmarshalDecode(decoder, &value, json.RejectUnknownMembers(true))
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: object %d: %w", name, len(list)+1, err)
		}
		list = append(list, value)
	}
}
