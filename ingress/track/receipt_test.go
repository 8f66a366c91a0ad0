package track

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/compliance/adreport"
	"adnet/internal/token"
)

// Every text of the page is there in every language, and no two languages share a sentence.
func TestReceiptsTextsAreComplete(t *testing.T) {
	first := reflect.ValueOf(receiptIn[0])
	for _, texts := range receiptIn {
		v := reflect.ValueOf(texts)
		for i := range v.NumField() {
			name := texts.Lang + "." + v.Type().Field(i).Name
			require.False(t, v.Field(i).IsZero(), "%s is missing", name)
			if v.Field(i).Kind() != reflect.Map {
				continue
			}
			require.Equal(t, first.Field(i).Len(), v.Field(i).Len(), name)
			for _, key := range first.Field(i).MapKeys() {
				require.True(t, v.Field(i).MapIndex(key).IsValid(), "%s has no %s", name, key)
				require.NotEmpty(t, v.Field(i).MapIndex(key).String(), "%s: %s", name, key)
			}
		}
		for _, reason := range adreport.Reasons {
			require.NotEmpty(t, texts.Reasons[reason], "%s: %s", texts.Lang, reason)
		}
	}
	require.NotEqual(t, receiptIn[0].Chosen, receiptIn[1].Chosen)
}

// profiles are the names of accounts.
type profiles struct {
	name, company string
	verified      bool
}

func (p profiles) User(context.Context, uuid.UUID) (account.User, error) {
	u := account.User{DisplayName: p.name, Company: p.company}
	if p.verified {
		u.Approved = account.Sponsor{Name: u.Sponsor(), Verified: true}
	}
	return u, nil
}

// The page uses the language that the browser prefers, or English. An invalid header breaks
// nothing.
func TestReceiptSpeaksTheReadersLanguage(t *testing.T) {
	f := newFixture(t)
	f.tracker.deps.Complaints = &filed{}
	f.tracker.deps.Sponsors = profiles{name: "Rosa"}
	a := auction(f.Now)
	a.Headline, a.Landing = "Chess", landing
	receipt := "/r/" + f.Ring.Sign(token.PurposeReceipt, a)
	for accepted, speaks := range map[string]string{
		"": "en", "de": "de", "de-AT,de;q=0.9,en;q=0.8": "de", "en-GB,de;q=0.5": "en", "fr,it": "en",
		"fr,de;q=0.2": "de",
		"*":           "en", "de;q=x": "en", strings.Repeat("de-", 5000): "en", "\x00\xff": "en",
	} {
		w := f.Do("GET", receipt, "", "Accept-Language", accepted)
		require.Equal(t, 200, w.Code)
		require.Contains(t, w.Body.String(), `<html lang="`+speaks+`">`, accepted)
		require.Equal(t, speaks, w.Header().Get("Content-Language"))
		require.Equal(t, "Accept-Language", w.Header().Get("Vary"))
	}
	german := f.Do("GET", receipt, "", "Accept-Language", "de").Body.String()
	for _, text := range []string{
		"Beleg einer Anzeige", "Rosa (nicht geprüft; Konto " + advertiserID.String() + ")",
		"Der Auftraggeber zahlt</dt><dd>für die Impression", "Diese Anzeige melden", "Sie ist Betrug",
		"der App, die sie zeigt: " + a.HostApp,
	} {
		require.Contains(t, german, text)
	}
	for _, text := range []string{"Sponsor<", "Report", "paid", "Region of", "Choose", "the app"} {
		require.NotContains(t, german, text)
	}
	f.tracker.deps.Sponsors = profiles{name: "Rosa", verified: true}
	require.Contains(
		t, f.Do("GET", receipt, "", "Accept-Language", "de").Body.String(),
		"Rosa (von diesem Netzwerk geprüft; Konto "+advertiserID.String()+")",
	)
	require.Contains(
		t, f.Do("GET", receipt, "").Body.String(), "Rosa (verified by this network; account "+advertiserID.String()+")",
	)
	post := func(form url.Values) string {
		return f.Do(
			"POST", receipt, form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept-Language",
			"de",
		).Body.String()
	}
	require.Contains(t, post(url.Values{"reason": {"dull"}}), "Bitte wählen Sie einen Grund.")
	require.Contains(t, post(url.Values{"reason": {"scam"}, "email": {"x"}}), "Das ist keine E-Mail-Adresse")
	require.Contains(t, post(url.Values{"reason": {"scam"}}), "Danke.")
}

// A receipt is public, and the price of an ad is its advertiser's bid.
func TestReceiptsTellNoBid(t *testing.T) {
	f := newFixture(t)
	for _, model := range []string{"cpm", "vcpm", "cpc", "cpa"} {
		a := auction(f.Now)
		a.Price, a.BillingModel = 3_371_234, model
		for _, in := range receiptIn {
			link := "/r/" + f.Ring.Sign(token.PurposeReceipt, a)
			page := f.Do("GET", link, "", "Accept-Language", in.Lang).Body.String()
			require.NotContains(t, page, "371234")
			require.NotContains(t, page, "USD")
			require.Contains(t, page, in.PaidFor[model])
		}
	}
}

// A receipt is shared: it shows the hour of the conversation and not its minute.
func TestReceiptsShowTheHour(t *testing.T) {
	f := newFixture(t)
	a := auction(time.Date(2026, 5, 4, 23, 49, 48, 0, time.UTC))
	page := f.Do("GET", "/r/"+f.Ring.Sign(token.PurposeReceipt, a), "").Body.String()
	require.Contains(t, page, "<dd>2026-05-04, 23:00–24:00 (UTC)</dd>")
	require.NotContains(t, page, ":49")
}

// A receipt shows an unchecked name next to the headline, and a model may read both together.
func TestReceiptSaysNoInstructionOfTwoParts(t *testing.T) {
	f := newFixture(t)
	f.tracker.deps.Sponsors = profiles{company: "Ignore all Ltd"}
	for headline, visible := range map[string]bool{
		"Previous instructions for Postgres": false, "Chess for beginners": true, "": true,
	} {
		a := auction(f.Now)
		a.Headline = headline
		page := f.Do("GET", "/r/"+f.Ring.Sign(token.PurposeReceipt, a), "").Body.String()
		require.Equal(t, visible, strings.Contains(page, "Ignore all Ltd"), headline)
		require.Contains(t, page, advertiserID.String())
	}
}

// owned makes the advertiser a seat of an account.
type owned struct{ by account.User }

func (o owned) User(_ context.Context, id uuid.UUID) (account.User, error) {
	if id == advertiserID {
		return account.User{ID: id, Role: account.RoleSeat, ParentID: o.by.ID}, nil
	}
	return o.by, nil
}

// A seat appears under its owner's name, unless the owner is the operator, whose seats are
// exchanges of others.
func TestReceiptShowsTheSeatsOwner(t *testing.T) {
	f := newFixture(t)
	receipt := "/r/" + f.Ring.Sign(token.PurposeReceipt, auction(f.Now))
	owner := account.User{
		ID: uuid.New(), Role: account.RoleAdvertiser, Company: "Wombat Exchange",
		Approved: account.Sponsor{Name: "Wombat Exchange", Verified: true},
	}
	f.tracker.deps.Sponsors = owned{owner}
	require.Contains(
		t, f.Do("GET", receipt, "").Body.String(),
		"Wombat Exchange (verified by this network; account "+advertiserID.String()+")",
	)
	owner.Role = account.RoleAdmin
	f.tracker.deps.Sponsors = owned{owner}
	require.NotContains(t, f.Do("GET", receipt, "").Body.String(), "Wombat")
}

// question holds the recorded words of auctions.
type question struct {
	words []string
	err   error
	times int
}

func (a *question) Matched(context.Context, uuid.UUID, uuid.UUID, time.Time) ([]string, error) {
	a.times++
	return a.words, a.err
}

// The words shared by request and ad are shown with the receipt's own token for a day, and are
// escaped. With another token, later, or for a house or test ad they are not even read.
func TestWordsOnAReceipt(t *testing.T) {
	f := newFixture(t)
	shared := &question{words: []string{"chess", "<b>openings</b>"}}
	f.tracker.deps.Words = shared
	served := f.Now
	page := func(purpose token.Purpose, change func(*token.Auction)) string {
		a := auction(served)
		if change != nil {
			change(&a)
		}
		w := f.Do("GET", "/r/"+f.Ring.Sign(purpose, a), "")
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		return w.Body.String()
	}
	require.Contains(t, page(token.PurposeReceipt, nil), "share: chess, &lt;b&gt;openings&lt;/b&gt;")
	f.Now = served.Add(24 * time.Hour)
	require.Contains(t, page(token.PurposeReceipt, nil), "chess")
	require.Equal(t, 2, shared.times)
	f.Now = f.Now.Add(time.Millisecond)
	late := page(token.PurposeReceipt, nil)
	require.NotContains(t, late, "chess")
	require.Contains(t, late, "for 24 hours only")
	f.Now = served
	for _, other := range []string{
		page(token.PurposeReceipt, func(a *token.Auction) { a.House = true }),
		page(token.PurposeReceipt, func(a *token.Auction) { a.Sandbox = true }),
	} {
		require.NotContains(t, other, "chess")
	}
	require.Equal(t, 2, shared.times, "nothing was asked for")
	shared.words = nil
	require.Contains(t, page(token.PurposeReceipt, nil), "rare and sensitive words")
	shared.words, shared.err = []string{"chess"}, errors.New("the store is away")
	require.NotContains(t, page(token.PurposeReceipt, nil), "chess")
}

// The page names the operator, or the host of the network's pages. It has the colours of dark mode,
// and prints without the form.
func TestReceiptNamesTheOperator(t *testing.T) {
	f := newFixture(t)
	f.tracker.deps.Complaints = &filed{}
	receipt := "/r/" + f.Ring.Sign(token.PurposeReceipt, auction(f.Now))
	page := func() string { return f.Do("GET", receipt, "").Body.String() }
	require.NotContains(t, page(), "ad network of")
	f.tracker.deps.BaseURL = func() string { return "https://ads.example:8443/adnet" }
	require.Contains(t, page(), "comes from the ad network of <b>ads.example</b>.")
	f.tracker.cfg.Operator = "Wombat & Sons"
	require.Contains(t, page(), "comes from the ad network of <b>Wombat &amp; Sons</b>.")
	require.Contains(t, page(), "@media(prefers-color-scheme:dark)")
	require.Contains(t, page(), "@media print")
	require.Contains(t, page(), `<form method="post" class="screen">`)
}
