package token

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/money"
	"adnet/internal/traffic"
)

// The reasons for a failed verification. [Keyring.Verify] returns no other errors.
var (
	ErrMalformed  = errors.New("token is malformed")
	ErrSignature  = errors.New("token was not made by this service")
	ErrUnknownKey = errors.New("token names an unknown key")
	ErrKeyExpired = errors.New("token was signed with an expired key")
)

// Limits of the texts in a token, in bytes. [Keyring.Sign] cuts longer ones on a rune boundary.
const (
	MaxWord     = 16 // BillingModel, Format, IntegrationMethod, Region, Language
	MaxSurface  = 32
	MaxHostApp  = 40
	MaxHeadline = 240
	MaxLanding  = 2048 // a longer page is left out
)

const (
	version   = 2
	macSize   = 16 // of 32: forging takes 2^127 tries against a live server
	wordBit   = 0x80
	flagBits  = flagSandbox | flagCredit | flagNoConsent | flagBrowser | flagHouse | flagFamily
	idSize    = 16
	flagsAt   = 4 * idSize // in a content: after the ids
	amountsAt = flagsAt + 1
	amounts   = 16 // the price, and what the ad holds: one block of the cipher
	headerMin = 3  // version, purpose, length of the key id
	marksSize = 8  // of the key and the network of a browser

	flagSandbox   = 1 << 0
	flagCredit    = 1 << 1
	flagNoConsent = 1 << 2
	flagBrowser   = 1 << 3
	flagHouse     = 1 << 4
	flagFamily    = 1 << 5 // Asker.Publisher is set

	maxRaw = headerMin + MaxKeyID + amountsAt + amounts + binary.MaxVarintLen64 + 7 +
		5*MaxWord + MaxSurface + MaxHostApp + marksSize + binary.MaxVarintLen32 +
		1 + MaxHeadline + binary.MaxVarintLen16 + MaxLanding + macSize
)

// MaxLen is the maximum length of an auction token in characters; longer ones are rejected unread.
const MaxLen = (maxRaw*8 + 5) / 6

// words are encoded as one byte. The list is append-only: the position is the encoded value. A word
// outside the list is encoded as text, so an unknown one only costs bytes.
var words = [...]string{
	"cpm", "cpc", "cpa",
	"image", "video", "native", "banner", "embed", "card", "text",
	"mcp", "js_snippet", "npm_sdk", "rest", "openrtb",
}

// Auction holds the content of a token, as decided by the auction. It is the only source of these
// facts for every later event of the ad.
type Auction struct {
	AuctionID    uuid.UUID // UUIDv7; its time is the time of the auction
	CampaignID   uuid.UUID
	AdvertiserID uuid.UUID
	DeveloperID  uuid.UUID    // publisher; zero if unknown
	Price        money.Micros // micro-USD per billed unit of BillingModel; negative is signed as 0

	BillingModel      string // "cpm", "cpc", "cpa"
	Format            string // "image", "video", "native", "banner", …
	IntegrationMethod string // "mcp", "js_snippet", "npm_sdk", "rest", …

	Surface  string
	Region   string
	Language string
	HostApp  string

	Sandbox      bool // never billed, never mints
	House        bool // a house ad: of the publisher's own account; never billed, never mints
	CreditFunded bool // paid by Credits, not cash
	NoConsent    bool // no consent: its events store no session, its clicks have no id

	// Browser is set on an ad sold to a browser key.
	Browser bool
	// Asker is only in tokens of [PurposeBid], [PurposeReport], [PurposeImpression] and
	// [PurposeViewable].
	Asker Asker

	// Landing is the ad's landing page as approved at the time of the impression. It is only in
	// tokens of [PurposeClick], and without its path in those of [PurposeReceipt].
	Landing string

	// Headline is the ad's headline at the time of the impression. It is only in tokens of
	// [PurposeReceipt].
	Headline string

	// ClickAfter is the time from the auction to the click of a click id, in whole milliseconds. It
	// is only in tokens of [PurposeConversion] and [PurposeConverted].
	ClickAfter time.Duration
}

// Asker is who holds an ad's part of its campaign's budget until the ad is shown: the publisher,
// with a browser key also the key and the reader's network. Each mark has 32 bits. That of the
// network is keyed by the UTC day ([Keyring.Network]): without the key, no network can be matched
// to it, however few networks there are.
type Asker struct {
	Key, Network uint32 // of a browser key's ad only
	// Publisher is the mark of the publisher's family; 0 for that of DeveloperID.
	Publisher uint32
	// Held is the amount; 0 for the price of an impression or a view ([Auction.Holds]).
	Held money.Micros
}

// Holds returns the amount that the ad holds of its campaign's budget until it is shown.
func (a *Auction) Holds() money.Micros {
	if a.Asker.Held == 0 && (a.BillingModel == "cpm" || a.BillingModel == "vcpm") {
		return a.Price
	}
	return a.Asker.Held
}

// Unseen returns the part of its campaign's budget that the ad holds until it is shown.
func (a *Auction) Unseen() traffic.Unseen {
	u := traffic.Unseen{
		Ad: a.AuctionID, Campaign: a.CampaignID, Publisher: a.Asker.Publisher,
		Surface: traffic.SurfaceOf(a.Surface, a.IntegrationMethod, a.Browser), Amount: a.Holds(), Page: a.Browser,
		Key: a.Asker.Key, Network: a.Asker.Network,
	}
	if u.Publisher == 0 {
		u.Publisher = traffic.PublisherMark(a.DeveloperID)
	}
	return u
}

// IssuedAt returns the time of the auction in UTC, in whole milliseconds: the timestamp of
// AuctionID. It is zero, and so long past, when AuctionID is not a UUIDv7; nothing here issues such
// a token.
func (a Auction) IssuedAt() time.Time {
	at, _ := day.TimeOfUUID(a.AuctionID)
	return at
}

// ClickedAt returns the time of the click that a click id was issued for, in UTC.
func (a Auction) ClickedAt() time.Time { return a.IssuedAt().Add(a.ClickAfter) }

// Keyring signs and verifies auction tokens.
type Keyring struct {
	keys       []auctionKey // the first one signs
	pseudonyms []*pseudonymKey
	work       sync.Pool // of *work

	outcomes, notices, exchange *Seal
}

type auctionKey struct {
	Key
	secrets [purposes][]byte // by purpose; nil for an undefined one
	amounts cipher.Block     // encrypts the amounts
}

// amountsUse is the use of the keys of amounts.
const amountsUse = "amounts/v1"

func newAuctionKey(key Key) (auctionKey, error) {
	derived := auctionKey{Key: key}
	for purpose, use := range purposeUses {
		if use == "" {
			continue
		}
		secret, err := key.derive(use)
		if err != nil {
			return derived, err
		}
		derived.secrets[purpose] = secret
	}
	secret, err := key.derive(amountsUse)
	if err != nil {
		return derived, err
	}
	derived.amounts, err = aes.NewCipher(secret)
	return derived, err
}

// hide encrypts the amounts of a content. A price is the advertiser's bid, and links are public.
// The auction id, which no two ads share, makes equal amounts differ; the MAC guards them.
func (k *auctionKey) hide(content []byte) {
	block := content[amountsAt : amountsAt+amounts]
	subtle.XORBytes(block, block, content[:idSize])
	k.amounts.Encrypt(block, block)
}

// reveal returns the amounts that hide encrypted, and leaves the content as it is. It needs a block
// of memory.
func (k *auctionKey) reveal(block *[amounts]byte, content []byte) (price, held uint64) {
	k.amounts.Decrypt(block[:], content[amountsAt:amountsAt+amounts])
	of := binary.BigEndian
	return of.Uint64(block[:]) ^ of.Uint64(content), of.Uint64(block[amounts/2:]) ^ of.Uint64(content[amounts/2:])
}

// NewKeyring accepts keys from [ParseKeys]. An empty list, a first key with an end, an invalid id
// or a repeated id or secret is an error.
func NewKeyring(keys []Key) (*Keyring, error) {
	if err := checkKeys(keys); err != nil {
		return nil, err
	}
	ring := &Keyring{keys: make([]auctionKey, 0, len(keys))}
	for _, key := range keys {
		derived, err := newAuctionKey(key)
		if err != nil {
			return nil, err
		}
		ring.keys = append(ring.keys, derived)
		hidden, err := newPseudonymKey(key)
		if err != nil {
			return nil, err
		}
		ring.pseudonyms = append(ring.pseudonyms, hidden)
	}
	for use, seal := range map[string]**Seal{
		outcomesUse: &ring.outcomes, noticesUse: &ring.notices, exchangeUse: &ring.exchange,
	} {
		var err error
		if *seal, err = newSeal(keys, use); err != nil {
			return nil, err
		}
	}
	ring.work.New = func() any { return &work{macs: make([]keyMACs, len(ring.keys)), seen: texts{}} }
	return ring, nil
}

// Sign returns the token of a: base64url of version, purpose, key id, content, MAC. The amounts in
// the content are encrypted. Texts over their limit are cut, and bytes outside UTF-8 dropped.
// AuctionID must be a UUIDv7 and purpose one of the constants, otherwise the token does not verify.
func (r *Keyring) Sign(purpose Purpose, a Auction) string {
	w := r.get()
	defer r.put(w)
	return string(r.appendSigned(w.text[:0], w, purpose, a))
}

// AppendSign appends the token of a to dst, like [Keyring.Sign].
func (r *Keyring) AppendSign(dst []byte, purpose Purpose, a Auction) []byte {
	w := r.get()
	defer r.put(w)
	return r.appendSigned(dst, w, purpose, a)
}

func (r *Keyring) appendSigned(dst []byte, w *work, purpose Purpose, a Auction) []byte {
	return r.seal(dst, w, purpose, appendAuction(w.content[:0], &a, purpose))
}

// AppendContent appends the content of all tokens of a's ad, for [Keyring.AppendToken].
func AppendContent(dst []byte, a *Auction) []byte {
	at := len(dst)
	dst = appendPlaced(append(dst, 0), a, 0)
	end := len(dst)
	dst = appendAsker(dst, a)
	dst[at] = byte(len(dst) - end)
	return dst
}

// appendContent appends the part of a content from [AppendContent] that tokens of purpose hold.
func appendContent(dst []byte, purpose Purpose, content []byte) []byte {
	asker, content := int(content[0]), content[1:]
	if purpose.asked() {
		return append(dst, content...)
	}
	at := len(dst)
	dst = append(dst, content[:len(content)-asker]...)
	dst[at+flagsAt] &^= flagFamily
	clear(dst[at+amountsAt+amounts/2 : at+amountsAt+amounts])
	return dst
}

// AppendToken appends the token of a content ([AppendContent]) for one purpose. It is
// [Keyring.AppendSign] for several tokens of one ad; tokens with a click need AppendSign.
func (r *Keyring) AppendToken(dst []byte, purpose Purpose, content []byte) []byte {
	w := r.get()
	defer r.put(w)
	return r.seal(dst, w, purpose, appendContent(w.content[:0], purpose, content))
}

// Display is the ad as the reader saw it, which the campaign may change later.
type Display struct{ Headline, Landing string }

// AppendShown is [Keyring.AppendToken] for [PurposeClick] and [PurposeReceipt], whose tokens also
// hold the ad as shown.
func (r *Keyring) AppendShown(dst []byte, purpose Purpose, content []byte, of Display) []byte {
	w := r.get()
	defer r.put(w)
	return r.seal(dst, w, purpose, appendShown(appendContent(w.content[:0], purpose, content), purpose, of))
}

// seal adds header and MAC to a content.
func (r *Keyring) seal(dst []byte, w *work, purpose Purpose, content []byte) []byte {
	mac := r.mac(w, 0, purpose)
	if mac == nil {
		return dst
	}
	id := r.keys[0].ID
	raw := append(w.raw[:0], version, byte(purpose), byte(len(id)))
	raw = append(raw, id...)
	raw = append(raw, content...)
	r.keys[0].hide(raw[headerMin+len(id):])
	raw = append(raw, w.sum(mac, raw)...)
	return appendEncoded(dst, raw)
}

// Verify returns the auction that was signed for one of the allowed purposes. It does not check the
// age of the auction: see [Life]. Errors: [ErrMalformed], [ErrSignature], [ErrUnknownKey],
// [ErrKeyExpired].
func (r *Keyring) Verify(allowed Purposes, token string, now time.Time) (a Auction, err error) {
	w := r.get()
	defer r.put(w)
	raw, err := w.decode(token)
	if err != nil {
		return a, err
	}
	err = r.verify(&a, w, allowed, raw, now)
	return a, err
}

// verify verifies the bytes of a token and fills a.
func (r *Keyring) verify(a *Auction, w *work, allowed Purposes, raw []byte, now time.Time) error {
	key, content, err := r.open(w, allowed, raw)
	if err != nil {
		return err
	}
	if key.ended(now) {
		return ErrKeyExpired
	}
	if len(content) < amountsAt+amounts {
		return ErrMalformed
	}
	price, held := key.reveal(&w.amounts, content)
	if price > math.MaxInt64 || held > math.MaxInt64 || !a.read(content, w.seen, Purpose(raw[1])) {
		*a = Auction{}
		return ErrMalformed
	}
	a.Price, a.Asker.Held = money.Micros(price), money.Micros(held)
	return nil
}

// open checks the MAC and returns the content between header and MAC.
func (r *Keyring) open(w *work, allowed Purposes, raw []byte) (*auctionKey, []byte, error) {
	if len(raw) < headerMin+macSize || raw[0] != version || int(raw[2]) > len(raw)-headerMin-macSize {
		return nil, nil, ErrMalformed
	}
	idEnd := headerMin + int(raw[2])
	key := r.find(raw[headerMin:idEnd])
	if key < 0 {
		return nil, nil, ErrUnknownKey
	}
	purpose := Purpose(raw[1])
	if !allowed.has(purpose) {
		return nil, nil, ErrSignature
	}
	hasher := r.mac(w, key, purpose)
	if hasher == nil {
		return nil, nil, ErrSignature
	}
	signed, mac := raw[:len(raw)-macSize], raw[len(raw)-macSize:]
	if !hmac.Equal(w.sum(hasher, signed), mac) {
		return nil, nil, ErrSignature
	}
	return &r.keys[key], signed[idEnd:], nil
}

// find returns the position of the key, or -1.
func (r *Keyring) find(id []byte) int {
	for i := range r.keys {
		if r.keys[i].ID == string(id) {
			return i
		}
	}
	return -1
}

func appendAuction(b []byte, a *Auction, purpose Purpose) []byte {
	b = appendPlaced(b, a, purpose)
	if purpose.asked() {
		b = appendAsker(b, a)
	}
	return appendShown(b, purpose, Display{Headline: a.Headline, Landing: a.Landing})
}

// appendPlaced appends all of a but its asker and what the reader saw. Purpose 0 is that of
// [AppendContent], whose content has everything.
func appendPlaced(b []byte, a *Auction, purpose Purpose) []byte {
	b = append(b, a.AuctionID[:]...)
	b = append(b, a.CampaignID[:]...)
	b = append(b, a.AdvertiserID[:]...)
	b = append(b, a.DeveloperID[:]...)
	b = append(b, a.flags(purpose))
	held := max(a.Asker.Held, 0)
	if !purpose.asked() {
		held = 0
	}
	b = binary.BigEndian.AppendUint64(b, uint64(max(a.Price, 0)))
	b = binary.BigEndian.AppendUint64(b, uint64(held))
	if purpose.clicked() {
		b = binary.AppendUvarint(b, uint64(max(a.ClickAfter, 0)/time.Millisecond))
	}
	b = appendWord(b, a.BillingModel)
	b = appendWord(b, a.Format)
	b = appendWord(b, a.IntegrationMethod)
	b = appendText(b, a.Surface, MaxSurface)
	b = appendText(b, a.Region, MaxWord)
	b = appendText(b, a.Language, MaxWord)
	return appendText(b, a.HostApp, MaxHostApp)
}

func (a *Auction) flags(purpose Purpose) (flags byte) {
	for _, of := range [...]struct {
		set  bool
		flag byte
	}{
		{a.Sandbox, flagSandbox}, {a.CreditFunded, flagCredit}, {a.NoConsent, flagNoConsent}, {a.Browser, flagBrowser},
		{a.House, flagHouse}, {purpose.asked() && a.Asker.Publisher != 0, flagFamily},
	} {
		if of.set {
			flags |= of.flag
		}
	}
	return flags
}

// appendAsker appends the marks of an ad's asker.
func appendAsker(b []byte, a *Auction) []byte {
	if a.Browser {
		b = binary.BigEndian.AppendUint32(b, a.Asker.Key)
		b = binary.BigEndian.AppendUint32(b, a.Asker.Network)
	}
	if a.Asker.Publisher != 0 {
		b = binary.AppendUvarint(b, uint64(a.Asker.Publisher))
	}
	return b
}

// appendShown appends the parts of the ad's text that tokens of purpose hold.
func appendShown(b []byte, purpose Purpose, of Display) []byte {
	switch {
	case of == Display{}:
		return b
	case purpose == PurposeClick:
		return appendLanding(b, of.Landing)
	case purpose == PurposeReceipt:
		return appendLanding(appendText(b, of.Headline, MaxHeadline), site(of.Landing))
	}
	return b
}

// site returns a page's address up to its path.
func site(page string) string {
	host := strings.Index(page, "://") + 3
	if host < 3 {
		return page
	}
	if path := strings.IndexAny(page[host:], `/\?#`); path >= 0 {
		return page[:host+path]
	}
	return page
}

// appendLanding appends the landing page. It appends nothing for one that is too long or not UTF-8,
// since half of an address leads elsewhere.
func appendLanding(b []byte, landing string) []byte {
	if landing == "" || len(landing) > MaxLanding || !utf8.ValidString(landing) {
		return b
	}
	b = binary.AppendUvarint(b, uint64(len(landing)))
	return append(b, landing...)
}

func appendWord(b []byte, word string) []byte {
	for i := range words {
		if words[i] == word {
			return append(b, wordBit|byte(i))
		}
	}
	return appendText(b, word, MaxWord)
}

func appendText(b []byte, text string, limit int) []byte {
	text = cut(text, limit)
	b = append(b, byte(len(text)))
	return append(b, text...)
}

// cut returns the longest valid prefix of text that fits. Ingress checks its input; this guards
// against a token whose text Kafka records or Postgres rows could not hold.
func cut(text string, limit int) string {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "")
	}
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// read fills a, but for its amounts, from the content of a token of purpose, which has them, and
// reports whether it was one.
func (a *Auction) read(b []byte, seen texts, purpose Purpose) bool {
	copy(a.AuctionID[:], b)
	copy(a.CampaignID[:], b[idSize:])
	copy(a.AdvertiserID[:], b[2*idSize:])
	copy(a.DeveloperID[:], b[3*idSize:])
	flags := b[flagsAt]
	b = b[amountsAt+amounts:]
	if purpose.clicked() {
		after, n := binary.Uvarint(b)
		if n <= 0 || after > math.MaxInt64/uint64(time.Millisecond) {
			return false
		}
		a.ClickAfter, b = time.Duration(after)*time.Millisecond, b[n:]
	}
	a.Sandbox, a.CreditFunded, a.NoConsent = flags&flagSandbox != 0, flags&flagCredit != 0, flags&flagNoConsent != 0
	a.House, a.Browser = flags&flagHouse != 0, flags&flagBrowser != 0
	r := reader{rest: seen.text(b)}
	a.BillingModel, a.Format, a.IntegrationMethod = r.word(), r.word(), r.word()
	a.Surface = r.text(MaxSurface)
	a.Region = r.text(MaxWord)
	a.Language = r.text(MaxWord)
	a.HostApp = r.text(MaxHostApp)
	if purpose.asked() {
		r.asker(a, flags)
	}
	if purpose == PurposeReceipt && r.rest != "" {
		a.Headline = r.text(MaxHeadline)
	}
	if purpose == PurposeClick || purpose == PurposeReceipt {
		a.Landing = r.landing()
	}
	return !r.bad && r.rest == "" && flags&^flagBits == 0 && a.AuctionID.Version() == 7
}

// reader splits the end of a content, whose texts are parts of one string. After the first error,
// bad stays set.
type reader struct {
	rest string
	bad  bool
}

func (r *reader) byte() byte {
	if r.rest == "" {
		r.bad = true
		return 0
	}
	first := r.rest[0]
	r.rest = r.rest[1:]
	return first
}

// asker reads the output of [appendAsker].
func (r *reader) asker(a *Auction, flags byte) {
	if a.Browser {
		a.Asker.Key, a.Asker.Network = r.mark(), r.mark()
	}
	if flags&flagFamily != 0 {
		publisher := r.uvarint()
		a.Asker.Publisher = uint32(publisher)
		r.bad = r.bad || publisher > math.MaxUint32
	}
}

// mark reads a number of four bytes.
func (r *reader) mark() (n uint32) {
	for range marksSize / 2 {
		n = n<<8 | uint32(r.byte())
	}
	return n
}

// uvarint reads a number that fits into an amount.
func (r *reader) uvarint() (n uint64) {
	for shift := 0; shift < 63; shift += 7 {
		b := r.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	r.bad = true
	return 0
}

// landing reads the output of [appendLanding].
func (r *reader) landing() string {
	if r.rest == "" {
		return ""
	}
	n, size := uint64(0), 0
	for shift := 0; ; shift += 7 {
		if size == len(r.rest) || size == binary.MaxVarintLen16 {
			r.bad = true
			return ""
		}
		b := r.rest[size]
		size++
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			break
		}
	}
	text := r.rest[size:]
	if n == 0 || n > MaxLanding || n != uint64(len(text)) {
		r.bad = true
		return ""
	}
	r.rest = ""
	return text
}

func (r *reader) word() string {
	if r.rest != "" && r.rest[0]&wordBit != 0 {
		i := int(r.byte() &^ wordBit)
		if i < len(words) {
			return words[i]
		}
		r.bad = true
		return ""
	}
	return r.text(MaxWord)
}

func (r *reader) text(limit int) string {
	n := int(r.byte())
	if n > limit || n > len(r.rest) {
		r.bad = true
		return ""
	}
	text := r.rest[:n]
	r.rest = r.rest[n:]
	return text
}
