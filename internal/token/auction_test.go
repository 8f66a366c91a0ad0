package token

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/internal/money"
	"adnet/internal/testenv/cputime"
	"adnet/schemas/event"
)

var at = time.Date(2026, 3, 4, 5, 6, 7, 8_000_000, time.UTC)

func ring(t testing.TB, setting string) *Keyring {
	t.Helper()
	r, err := NewKeyring(mustKeys(t, setting))
	require.NoError(t, err)
	return r
}

func defaultRing(t testing.TB) *Keyring { return ring(t, "k1:"+encoded(1)) }

// idAt is a UUIDv7 of a time, with fixed random bits.
func idAt(when time.Time, fill byte) (id uuid.UUID) {
	for i := range id {
		id[i] = fill
	}
	ms := when.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	id[6], id[8] = 0x70|fill&0x0f, 0x80|fill&0x3f
	return id
}

func sample() Auction {
	return Auction{
		AuctionID: idAt(at, 0x11), CampaignID: uuid.UUID{1}, AdvertiserID: uuid.UUID{2}, DeveloperID: uuid.UUID{3},
		Price: 3_370, BillingModel: "cpm", Format: "native", IntegrationMethod: "rest",
		Surface: "tool_result", Region: "DE", Language: "de", HostApp: "Editor", CreditFunded: true,
	}
}

func TestRoundTrip(t *testing.T) {
	r := defaultRing(t)
	got, err := r.Verify(PurposeReport.Only(), r.Sign(PurposeReport, sample()), at)
	require.NoError(t, err)
	require.Equal(t, sample(), got)
	page := sample()
	page.Browser, page.Asker = true, Asker{Key: 1<<32 - 1, Network: 7, Held: 1 << 40}
	got, err = r.Verify(PurposeImpression.Only(), r.Sign(PurposeImpression, page), at)
	require.NoError(t, err)
	require.Equal(t, page, got)
	require.Equal(t, at, got.IssuedAt())
	require.Equal(t, "pre"+r.Sign(PurposeBid, sample()), string(r.AppendSign([]byte("pre"), PurposeBid, sample())))
}

func TestIssuedAtIsTheTimeOfAFreshID(t *testing.T) {
	before := time.Now().Truncate(time.Millisecond)
	id := uuid.Must(uuid.NewV7())
	issued := Auction{AuctionID: id}.IssuedAt()
	require.False(t, issued.Before(before))
	require.False(t, issued.After(time.Now()))
}

func auctions() *rapid.Generator[Auction] {
	text := func(limit int) *rapid.Generator[string] { return rapid.StringN(0, -1, limit) }
	word := rapid.OneOf(rapid.SampledFrom(words[:]), text(MaxWord))
	id := rapid.Custom(func(t *rapid.T) uuid.UUID {
		return uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
	})
	return rapid.Custom(func(t *rapid.T) Auction {
		a := Auction{
			AuctionID: id.Draw(t, "auction"), CampaignID: id.Draw(t, "campaign"),
			AdvertiserID: id.Draw(t, "advertiser"), DeveloperID: id.Draw(t, "developer"),
			Price:        money.Micros(rapid.Int64Min(0).Draw(t, "price")),
			BillingModel: word.Draw(t, "model"), Format: word.Draw(t, "format"),
			IntegrationMethod: word.Draw(t, "method"),
			Surface:           text(MaxSurface).Draw(t, "surface"), Region: text(MaxWord).Draw(t, "region"),
			Language: text(MaxWord).Draw(t, "language"), HostApp: text(MaxHostApp).Draw(t, "host"),
			Sandbox: rapid.Bool().Draw(t, "sandbox"), CreditFunded: rapid.Bool().Draw(t, "credit"),
		}
		a.AuctionID[6] = 0x70 | a.AuctionID[6]&0x0f
		return a
	})
}

func TestRoundTripProperty(t *testing.T) {
	r := ring(t, "a-key-id-of-16_b:"+encoded(1))
	rapid.Check(t, func(t *rapid.T) {
		a := auctions().Draw(t, "auction")
		purpose := rapid.SampledFrom([]Purpose{PurposeReport, PurposeImpression, PurposeBid}).Draw(t, "purpose")
		text := r.Sign(purpose, a)
		if len(text) > MaxLen {
			t.Fatalf("%d characters, MaxLen is %d", len(text), MaxLen)
		}
		got, err := r.Verify(purpose.Only(), text, at)
		if err != nil || got != a {
			t.Fatalf("got %+v, %v", got, err)
		}
	})
}

func TestLongTextsAreCutOnARune(t *testing.T) {
	r := defaultRing(t)
	a := sample()
	a.HostApp = strings.Repeat("x", 39) + "é"
	a.Surface = strings.Repeat("€", 20)
	a.Region = "D\xffE"
	a.Language = strings.Repeat("l", 300)
	a.Format = strings.Repeat("f", 300)
	a.Price = -5
	got, err := r.Verify(PurposeReport.Only(), r.Sign(PurposeReport, a), at)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("x", 39), got.HostApp)
	require.Equal(t, strings.Repeat("€", 10), got.Surface)
	require.Equal(t, "DE", got.Region)
	require.Equal(t, strings.Repeat("l", MaxWord), got.Language)
	require.Equal(t, strings.Repeat("f", MaxWord), got.Format)
	require.Zero(t, got.Price)

	rapid.Check(t, func(t *rapid.T) {
		text, limit := string(rapid.SliceOf(rapid.Byte()).Draw(t, "text")), rapid.IntRange(0, 40).Draw(t, "limit")
		short := cut(text, limit)
		valid := strings.ToValidUTF8(text, "")
		if len(short) > limit || !utf8.ValidString(short) || !strings.HasPrefix(valid, short) {
			t.Fatalf("cut(%q, %d) = %q", text, limit, short)
		}
		if len(short) < len(valid) && len(short) <= limit-utf8.UTFMax {
			t.Fatalf("cut(%q, %d) = %q is shorter than it needs to be", text, limit, short)
		}
	})
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func TestEveryChangeOfACharacterIsRefused(t *testing.T) {
	r := defaultRing(t)
	// Three lengths, so that the last character carries 6, 4 and 2 bits.
	for _, host := range []string{"", "E", "Ed"} {
		a := sample()
		a.HostApp = host
		text := r.Sign(PurposeReport, a)
		for i := range len(text) {
			for c := range 256 {
				if byte(c) == text[i] {
					continue
				}
				changed := text[:i] + string([]byte{byte(c)}) + text[i+1:]
				_, err := r.Verify(PurposeReport.Only(), changed, at)
				require.Error(t, err, "%d → %q", i, byte(c))
			}
		}
	}
}

func TestEveryFlippedBitOfTheContentIsRefused(t *testing.T) {
	r := defaultRing(t)
	raw, err := base64.RawURLEncoding.DecodeString(r.Sign(PurposeReport, sample()))
	require.NoError(t, err)
	for i := range raw {
		for bit := range 8 {
			changed := append([]byte(nil), raw...)
			changed[i] ^= 1 << bit
			_, err := r.Verify(PurposeReport.Only(), base64.RawURLEncoding.EncodeToString(changed), at)
			require.Error(t, err, "byte %d bit %d", i, bit)
			if i >= headerMin+len("k1") {
				require.ErrorIs(t, err, ErrSignature, "byte %d bit %d", i, bit)
			}
		}
	}
}

func TestOtherTextsAreRefused(t *testing.T) {
	r := defaultRing(t)
	text := r.Sign(PurposeReport, sample())
	cases := map[string]string{
		"empty": "", "padding": text + "=", "longer": text + "A", "space": text + " ", "line feed": text + "\n",
		"carriage return": "\r" + text, "line feed inside": text[:9] + "\n" + text[9:], "twice": text + text,
		"long": strings.Repeat("A", 1<<20), "zeros": strings.Repeat("A", 40), "text": "null", "dot": ".",
	}
	for i := range len(text) {
		cases["cut at "+strconv.Itoa(i)] = text[:i]
	}
	for name, changed := range cases {
		_, err := r.Verify(PurposeReport.Only(), changed, at)
		require.Error(t, err, name)
	}
}

func TestPurposesDoNotMix(t *testing.T) {
	r := defaultRing(t)
	all := []Purpose{0, 1, purposes, 16, 255}
	for p := PurposeBid; p < purposes; p++ {
		all = append(all, p)
	}
	for _, signed := range all {
		text := r.Sign(signed, sample())
		require.Equal(t, signed >= PurposeBid && signed < purposes, text != "")
		for _, wanted := range all {
			_, err := r.Verify(wanted.Only(), text, at)
			if signed == wanted && text != "" {
				require.NoError(t, err)
				continue
			}
			require.Error(t, err, "signed for %d, offered for %d", signed, wanted)
			if text != "" {
				require.ErrorIs(t, err, ErrSignature)
			}
		}
		_, err := r.Verify(^signed.Only(), text, at)
		require.Error(t, err)
	}
}

// What a token of each purpose may do; everything else is refused.
func TestWhatTokensMayDo(t *testing.T) {
	acts := map[string]Purposes{
		"redirect": ForRedirect, "receipt": ForReceipt, "notice": ForNotice, "conversion": ForConversion,
		"explain": ForExplain,
		"claim":   ForClaim,
	}
	for _, name := range []string{"impression", "viewable", "click", "close", "skip", "video_complete", "conversion"} {
		kind, _ := event.TypeOf(name)
		acts["event "+name] = ForEvent(kind)
	}
	may := map[Purpose][]string{
		PurposeReport: {
			"explain", "event impression", "event viewable", "event click", "event close", "event skip",
			"event video_complete", "claim",
		},
		PurposeBid:        {"notice", "explain"},
		PurposeImpression: {"event impression"},
		PurposeClick:      {"redirect", "event click"},
		PurposeViewable:   {"event viewable"},
		PurposePlayback:   {"event close", "event skip", "event video_complete"},
		PurposeReceipt:    {"receipt"},
		PurposeConversion: {"conversion"},
		PurposeConverted:  {"event conversion"},
	}
	for p := PurposeBid; p < purposes; p++ {
		for act, allowed := range acts {
			require.Equal(t, slices.Contains(may[p], act), allowed.has(p), "%s, purpose %d", act, p)
		}
	}
	for _, unknown := range []event.Type{-1, 0, event.Type(event.Types)} {
		require.Zero(t, ForEvent(unknown))
		require.Zero(t, OfEvent(unknown))
	}
}

// A click id tells when the ad was clicked; no other token does.
func TestClickIDsTellTheTimeOfTheClick(t *testing.T) {
	r := defaultRing(t)
	a := sample()
	a.ClickAfter = 90*time.Second + 7*time.Millisecond + time.Microsecond
	whole := a
	whole.ClickAfter = a.ClickAfter.Truncate(time.Millisecond)
	for p := PurposeBid; p < purposes; p++ {
		got, err := r.Verify(p.Only(), r.Sign(p, a), at)
		require.NoError(t, err)
		if p == PurposeConversion || p == PurposeConverted {
			require.Equal(t, whole, got)
			require.Equal(t, at.Add(whole.ClickAfter), got.ClickedAt())
		} else {
			require.Equal(t, sample(), got, p)
		}
	}
	a.ClickAfter = -time.Second // a clock that is behind
	got, err := r.Verify(ForConversion, r.Sign(PurposeConversion, a), at)
	require.NoError(t, err)
	require.Zero(t, got.ClickAfter)
}

// The tokens of one ad share their content, and are those that Sign makes.
func TestTokensOfOneContent(t *testing.T) {
	r := defaultRing(t)
	for _, a := range []Auction{sample(), asked()} {
		content := AppendContent(nil, &a)
		for p := PurposeBid; p < PurposeConversion; p++ {
			require.Equal(t, r.Sign(p, a), string(r.AppendToken(nil, p, content)))
		}
		require.Empty(t, r.AppendToken(nil, purposes, content))
	}
}

// asked is an auction of a browser key with all marks.
func asked() Auction {
	a := sample()
	a.Browser, a.Asker = true, Asker{Key: 0x0badcafe, Network: 0x0badbeef, Publisher: 0xdeadbeef, Held: 0x7eadbeef}
	return a
}

// A reader's receipt is made to be shared, and click ids go to advertisers: they hold nothing of
// the reader's network, nor of what the ad holds.
func TestLinksHoldNothingOfTheReadersNetwork(t *testing.T) {
	r, a := defaultRing(t), asked()
	plain := a
	plain.Asker = Asker{}
	for p := PurposeBid; p < purposes; p++ {
		text := r.Sign(p, a)
		got, err := r.Verify(p.Only(), text, at)
		require.NoError(t, err)
		switch p {
		case PurposeBid, PurposeReport, PurposeImpression, PurposeViewable:
			require.Equal(t, a.Asker, got.Asker, p)
		default:
			require.Zero(t, got.Asker, p)
			require.Equal(t, r.Sign(p, plain), text, p)
		}
	}
}

// A price is an advertiser's bid, and links are public: no token shows what it costs, and equal
// prices look different.
func TestPricesInTokensAreSecret(t *testing.T) {
	r, a := defaultRing(t), asked()
	a.Price = 0x0102030405
	content := func(a Auction, p Purpose) []byte {
		raw, err := base64.RawURLEncoding.DecodeString(r.Sign(p, a))
		require.NoError(t, err)
		return raw[headerMin+len("k1"):]
	}
	for p := PurposeBid; p < purposes; p++ {
		b := content(a, p)
		require.NotContains(t, string(b), "\x01\x02\x03\x04\x05", p)
		require.NotContains(t, string(b), string(binary.AppendUvarint(nil, uint64(a.Price))), p)
		require.NotContains(t, string(b), "\x7e\xad\xbe\xef", p)
		other := a
		other.AuctionID = idAt(at, 0x22)
		require.NotEqual(t, b[amountsAt:amountsAt+amounts], content(other, p)[amountsAt:amountsAt+amounts], p)
		other = a
		other.Price++
		one, two := b[amountsAt:amountsAt+amounts], content(other, p)[amountsAt:amountsAt+amounts]
		same := 0
		for i := range one {
			if one[i] == two[i] {
				same++
			}
		}
		require.Less(t, same, 4, "purpose %d: a dearer ad changes the whole block", p)
	}
	raw := r.AppendRaw(nil, r.Sign(PurposeReport, a))
	kept := slices.Clone(raw)
	got, err := r.VerifyRaw(PurposeReport.Only(), raw, at)
	require.NoError(t, err)
	require.Equal(t, a, got)
	require.Equal(t, kept, raw, "the record of the log stays as it is")
}

// Every fact of the asker is in the tokens that have it, one by one.
func TestPartsOfAnAsker(t *testing.T) {
	r := defaultRing(t)
	for _, asker := range []Asker{{}, {Held: 1}, {Publisher: 1}, {Publisher: 1<<32 - 1, Held: 1 << 62}} {
		for _, browser := range []bool{false, true} {
			a := sample()
			a.Browser, a.Asker = browser, asker
			got, err := r.Verify(PurposeReport.Only(), r.Sign(PurposeReport, a), at)
			require.NoError(t, err)
			require.Equal(t, a, got)
		}
	}
}

// resign puts the MAC of purpose under a changed content, as only the holder of the key could.
func resign(r *Keyring, purpose Purpose, text string, change func([]byte) []byte) string {
	raw, _ := base64.RawURLEncoding.DecodeString(text)
	raw = change(raw[:len(raw)-macSize])
	w := r.get()
	return base64.RawURLEncoding.EncodeToString(append(raw, w.sum(r.mac(w, 0, purpose), raw)...))
}

// The purpose is in the content and in the key. Each must do alone.
func TestPurposeIsInContentAndKey(t *testing.T) {
	r := defaultRing(t)
	text := r.Sign(PurposeReport, sample())
	keep := func(b []byte) []byte { return b }
	require.Equal(t, text, resign(r, PurposeReport, text, keep), "resign must work for this test to mean something")

	relabelled := resign(r, PurposeReport, text, func(b []byte) []byte { b[1] = byte(PurposeBid); return b })
	for _, purpose := range []Purpose{PurposeReport, PurposeBid} {
		_, err := r.Verify(purpose.Only(), relabelled, at)
		require.ErrorIs(t, err, ErrSignature)
	}
	_, err := r.Verify(PurposeReport.Only(), resign(r, PurposeBid, text, keep), at)
	require.ErrorIs(t, err, ErrSignature)
}

// A genuine MAC over a content this version cannot mean, such as one of a newer version.
func TestSignedNonsenseIsMalformed(t *testing.T) {
	r := defaultRing(t)
	text := r.Sign(PurposeReport, sample())
	at0 := headerMin + len("k1")
	rest := at0 + amountsAt + amounts
	revealed := func(content, b []byte, at int) []byte {
		var block [amounts]byte
		price, held := r.keys[0].reveal(&block, content)
		binary.BigEndian.PutUint64(block[:], price)
		binary.BigEndian.PutUint64(block[amounts/2:], held)
		block[at] = 0xff
		copy(content[amountsAt:], block[:])
		r.keys[0].hide(content)
		return b
	}
	for name, change := range map[string]func([]byte) []byte{
		"version":      func(b []byte) []byte { b[0] = 1; return b },
		"id length":    func(b []byte) []byte { b[2] = 255; return b },
		"uuid version": func(b []byte) []byte { b[at0+6] = 0x40; return b },
		"unknown flag": func(b []byte) []byte { b[at0+flagsAt] |= 0x80; return b },
		"unknown word": func(b []byte) []byte { b[rest] = 0xff; return b },
		"long text":    func(b []byte) []byte { b[rest+3] = 255; return b },
		"rest":         func(b []byte) []byte { return append(b, 0) },
		"short":        func(b []byte) []byte { return b[:len(b)-1] },
		"huge price":   func(b []byte) []byte { return revealed(b[at0:], b, 0) },
		"huge part":    func(b []byte) []byte { return revealed(b[at0:], b, amounts/2) },
		"no rest":      func(b []byte) []byte { return b[:rest] },
		"no amounts":   func(b []byte) []byte { return b[:rest-1] },
		"no mark":      func(b []byte) []byte { b[at0+flagsAt] |= flagBrowser; return b },
		"huge mark": func(b []byte) []byte {
			b[at0+flagsAt] |= flagFamily
			return append(b, 0xff, 0xff, 0xff, 0xff, 0x1f)
		},
	} {
		_, err := r.Verify(PurposeReport.Only(), resign(r, PurposeReport, text, change), at)
		require.ErrorIs(t, err, ErrMalformed, name)
	}
}

func TestKeysRotate(t *testing.T) {
	end := at.Add(time.Hour)
	old := defaultRing(t)
	text := old.Sign(PurposeReport, sample())
	rotated := ring(t, "k2:"+encoded(2)+",k1:"+encoded(1)+"@"+end.Format(time.RFC3339Nano))

	got, err := rotated.Verify(PurposeReport.Only(), text, end)
	require.NoError(t, err, "the last instant of the grace")
	require.Equal(t, sample(), got)
	_, err = rotated.Verify(PurposeReport.Only(), text, end.Add(1))
	require.ErrorIs(t, err, ErrKeyExpired)

	_, err = old.Verify(PurposeReport.Only(), rotated.Sign(PurposeReport, sample()), at)
	require.ErrorIs(t, err, ErrUnknownKey)
	_, err = rotated.Verify(PurposeReport.Only(), rotated.Sign(PurposeReport, sample()), end.Add(time.Hour))
	require.NoError(t, err)
	_, err = ring(t, "k1:"+encoded(9)).Verify(PurposeReport.Only(), text, at)
	require.ErrorIs(t, err, ErrSignature, "same id, other secret")
}

func TestLife(t *testing.T) {
	l := testLife
	for kind, life := range map[event.Type]time.Duration{
		event.Type_IMPRESSION: time.Hour, event.Type_VIEWABLE: time.Hour, event.Type_CLICK: 24 * time.Hour,
		event.Type_CLOSE: 24 * time.Hour, event.Type_SKIP: 24 * time.Hour, event.Type_VIDEO_COMPLETE: 24 * time.Hour,
		event.Type_CONVERSION: 720 * time.Hour,
	} {
		require.False(t, l.Expired(kind, at, at.Add(life)), kind)
		require.True(t, l.Expired(kind, at, at.Add(life+1)), kind)
		require.False(t, l.Expired(kind, at, at.Add(-time.Minute)), kind)
	}
	require.NoError(t, l.Validate())
	for _, bad := range []Life{{}, {1, 0, 2}, {3, 2, 4}, {1, 3, 2}} {
		require.Error(t, bad.Validate(), bad)
	}
}

// Golden files pin the format: a token must verify after an upgrade.
func TestFormatIsStable(t *testing.T) {
	a := sample()
	a.ClickAfter = 1500 * time.Millisecond
	for name, purpose := range map[string]Purpose{
		"report": PurposeReport, "conversion": PurposeConversion,
	} {
		want, err := os.ReadFile(filepath.Join("testdata", name+".v2.txt"))
		require.NoError(t, err)
		require.Equal(t, strings.TrimSpace(string(want)), defaultRing(t).Sign(purpose, a))
	}
}

func TestTextsAreKeptButBounded(t *testing.T) {
	stored := texts{}
	for i := range 10 * mostTexts {
		text := strconv.Itoa(i)
		require.Equal(t, text, stored.text([]byte(text)))
		require.Equal(t, text, stored.text([]byte(text)))
		require.LessOrEqual(t, len(stored), mostTexts)
	}
	known := []byte("known")
	stored.text(known)
	require.Zero(t, testing.AllocsPerRun(100, func() { stored.text(known) }))
}

func FuzzVerify(f *testing.F) {
	r := defaultRing(f)
	f.Fuzz(func(t *testing.T, text string) {
		for purpose := PurposeBid; purpose < purposes; purpose++ {
			a, err := r.Verify(purpose.Only(), text, at)
			if err != nil {
				require.Zero(t, a)
				continue
			}
			require.Equal(t, text, r.Sign(purpose, a), "a second encoding verifies")
		}
	})
}

// FuzzContent reaches the reader behind the MAC, which FuzzVerify cannot forge.
func FuzzContent(f *testing.F) {
	plain, full := sample(), sample()
	full.HostApp, full.Format, full.Sandbox = "äöü", "other", true
	f.Add(appendAuction(nil, &plain, 0))
	f.Add(appendAuction(nil, &full, 0))
	torn := bytes.Replace(appendAuction(nil, &full, 0), []byte("\x02de\x06\xc3\xa4"), []byte("\x03de\xc3\x05\xa4"), 1)
	require.NotEqual(f, appendAuction(nil, &full, 0), torn)
	f.Add(torn) // a rune over the border of two texts
	f.Add([]byte{})
	r := defaultRing(f)
	f.Fuzz(func(t *testing.T, content []byte) {
		var a Auction
		if len(content) < amountsAt+amounts || !a.read(content, texts{}, PurposeReport) {
			return
		}
		require.GreaterOrEqual(t, a.Price, money.Micros(0))
		got, err := r.Verify(PurposeReport.Only(), r.Sign(PurposeReport, a), at)
		require.NoError(t, err)
		// One by one: two texts that are not UTF-8 can make one that is.
		for _, text := range []*string{
			&a.BillingModel, &a.Format, &a.IntegrationMethod, &a.Surface, &a.Region, &a.Language, &a.HostApp,
		} {
			*text = strings.ToValidUTF8(*text, "")
		}
		require.Equal(t, a, got)
	})
}

// A content has one text: no character of a token can be replaced, whatever the decoder accepts.
func TestNoCharacterOfATokenCanBeReplaced(t *testing.T) {
	r := defaultRing(t)
	for _, length := range []int{0, 1, 2} { // the three lengths of the last group
		a := sample()
		a.CampaignID = uuid.UUID(bytes.Repeat([]byte{0xff}, 16)) // its text has underscores
		a.HostApp = strings.Repeat("x", length)
		text := []byte(r.Sign(PurposeReport, a))
		for i, was := range text {
			for c := range 256 {
				if text[i] = byte(c); byte(c) != was {
					_, err := r.Verify(PurposeReport.Only(), string(text), at)
					require.Error(t, err, "%q at %d", c, i)
				}
			}
			text[i] = was
		}
	}
}

func FuzzTokenText(f *testing.F) {
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, text string) {
		raw, err := new(work).decode(text)
		want, wanted := base64.RawURLEncoding.Strict().DecodeString(text)
		if strings.ContainsAny(text, "\r\n") || len(text) > MaxLen {
			require.Error(t, err)
			return
		}
		require.Equal(t, wanted == nil, err == nil, "%q", text)
		if err == nil {
			require.Equal(t, want, append([]byte{}, raw...))
		}
	})
}

func BenchmarkSign(b *testing.B) {
	r, a := defaultRing(b), sample()
	dst := make([]byte, 0, MaxLen)
	b.ReportAllocs()
	for b.Loop() {
		dst = r.AppendSign(dst[:0], PurposeReport, a)
	}
}

// benched are tokens of several publishers' apps, as beacons bring them.
func benched(b *testing.B) []string {
	r := defaultRing(b)
	tokens := make([]string, 64)
	for i := range tokens {
		a := sample()
		a.AuctionID, a.CampaignID = idAt(at, byte(i)), uuid.UUID{byte(i)}
		a.HostApp = "Editor " + string(rune('A'+i%16))
		a.Language = []string{"de", "en", "fr", "ja"}[i%4]
		tokens[i] = r.Sign(PurposeReport, a)
	}
	return tokens
}

func BenchmarkVerify(b *testing.B) {
	r, tokens := defaultRing(b), benched(b)
	life := testLife
	b.ReportAllocs()
	used := cputime.Start(b)
	for i := 0; b.Loop(); i++ {
		a, err := r.Verify(PurposeReport.Only(), tokens[i%len(tokens)], at)
		if err != nil || life.Expired(event.Type_IMPRESSION, a.IssuedAt(), at) {
			b.Fatal(err)
		}
	}
	used.Report()
}

// BenchmarkRawHMAC is the floor for the two above: the MAC of the same bytes with a kept hasher.
func BenchmarkRawHMAC(b *testing.B) {
	var raws [][]byte
	for _, token := range benched(b) {
		raw, err := base64.RawURLEncoding.DecodeString(token)
		require.NoError(b, err)
		raws = append(raws, raw[:len(raw)-macSize])
	}
	mac := hmac.New(sha256.New, secretOf(1))
	sum := make([]byte, 0, sha256.Size)
	b.ReportAllocs()
	used := cputime.Start(b)
	for i := 0; b.Loop(); i++ {
		mac.Reset()
		mac.Write(raws[i%len(raws)])
		sum = mac.Sum(sum[:0])
	}
	used.Report()
}

func BenchmarkVerifyForged(b *testing.B) {
	r := defaultRing(b)
	text := []byte(r.Sign(PurposeReport, sample()))
	text[20] ^= 1
	forged := string(text)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Verify(PurposeReport.Only(), forged, at); err == nil {
			b.Fatal("accepted")
		}
	}
}
