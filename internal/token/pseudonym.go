package token

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"adnet/internal/day"
)

// Pseudonym stands for a publisher's or an advertiser's id of a person. It is a keyed hash: without
// the key, an id cannot be matched to it, however few ids there are. The zero value stands for no
// id.
type Pseudonym [16]byte

// String returns the pseudonym in the archive's form; empty for none.
func (p Pseudonym) String() string {
	if p == (Pseudonym{}) {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(p[:])
}

var strictText = base64.RawURLEncoding.Strict()

// linkMark begins a session in a link. Publishers' ids with the same prefix and length are treated
// as one; they are stored encrypted, so that no id is ever stored unchanged.
const linkMark = "s."

// linkSize is the length of a session in a link.
const linkSize = len(linkMark) + 22

// The uses of the keys of pseudonyms.
const (
	useSession = "session/v1/" // and the UTC day: the key of a day's sessions
	useLink    = "session-link/v1"
	useLasting = "lasting/v1"
	useRefusal = "suitability/v1/" // and the number of two UTC days: the key of their refusals
	useMark    = "family/v1"
	useNetwork = "network/v1/" // and the UTC day: the key of a day's networks
)

// pseudonymKey holds the keys of pseudonyms derived from one key of the ring.
type pseudonymKey struct {
	Key
	days    [4]atomic.Pointer[dayKey] // by day modulo 4
	periods [4]atomic.Pointer[dayKey] // by period modulo 4; see [Keyring.Refusal]
	nets    [4]atomic.Pointer[dayKey] // by day modulo 4; see [Keyring.Network]
	lasting hashers
	marks   hashers
	link    cipher.Block
}

type dayKey struct {
	day day.Day
	hashers
}

// hashers are keyed hashes with their memory: keying a hash costs more than hashing an id.
type hashers struct{ pool *sync.Pool }

type hasher struct {
	mac hash.Hash
	in  []byte
	sum [sha256.Size]byte
}

func newHashers(secret []byte) hashers {
	return hashers{&sync.Pool{New: func() any { return &hasher{mac: hmac.New(sha256.New, secret)} }}}
}

// of hashes a scope and an id together.
func (h hashers) of(scope uuid.UUID, id string) (p Pseudonym) {
	w := h.pool.Get().(*hasher)
	w.in = append(append(w.in[:0], scope[:]...), id...)
	return h.sum(w)
}

// ofTwo hashes two scopes and an id together.
func (h hashers) ofTwo(outer, inner uuid.UUID, id string) (p Pseudonym) {
	w := h.pool.Get().(*hasher)
	w.in = append(append(append(w.in[:0], outer[:]...), inner[:]...), id...)
	return h.sum(w)
}

// sum hashes the input of w, and returns w to the pool.
func (h hashers) sum(w *hasher) (p Pseudonym) {
	defer h.pool.Put(w)
	w.mac.Reset()
	w.mac.Write(w.in)
	copy(p[:], w.mac.Sum(w.sum[:0]))
	return p
}

func newPseudonymKey(key Key) (*pseudonymKey, error) {
	lasting, err := key.derive(useLasting)
	if err != nil {
		return nil, err
	}
	link, err := key.derive(useLink)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(link)
	if err != nil {
		return nil, err
	}
	marks, err := key.derive(useMark)
	if err != nil {
		return nil, err
	}
	return &pseudonymKey{Key: key, lasting: newHashers(lasting), marks: newHashers(marks), link: block}, nil
}

// pseudonymsOf returns the key of a UTC day: the key that ends next but not before the day does, or
// else the signing key. So all nodes use one key for a whole day in each step of a rotation,
// whether or not they have the new list yet, and frequency caps continue.
func (r *Keyring) pseudonymsOf(date day.Day) *pseudonymKey {
	chosen := r.pseudonyms[0]
	for _, key := range r.pseudonyms[1:] {
		end := key.NotAfter
		if end.IsZero() || end.Before((date + 1).Time()) {
			continue
		}
		if chosen.NotAfter.IsZero() || end.Before(chosen.NotAfter) {
			chosen = key
		}
	}
	return chosen
}

// Session returns the pseudonym of a publisher's session on one UTC day. The key is the day's: the
// same session on another day has another pseudonym, and cannot be linked. Empty for an empty id.
func (r *Keyring) Session(developer uuid.UUID, date day.Day, id string) Pseudonym {
	if id == "" {
		return Pseudonym{}
	}
	key := r.pseudonymsOf(date)
	known := key.dated(&key.days, date, useSession, day.Day.String)
	if known == nil {
		return Pseudonym{}
	}
	return known.of(developer, id)
}

// dated returns the key of a day or a period from its cache, or derives it for a use with the
// date's name. It is never nil, because the length is a hash's.
func (k *pseudonymKey) dated(
	cache *[4]atomic.Pointer[dayKey], date day.Day, use string, name func(day.Day) string,
) *dayKey {
	at := &cache[uint32(date)%uint32(len(cache))]
	known := at.Load()
	if known == nil || known.day != date {
		secret, err := k.derive(use + name(date))
		if err != nil {
			return nil
		}
		known = &dayKey{date, newHashers(secret)}
		at.Store(known)
	}
	return known
}

func numbered(period day.Day) string { return strconv.Itoa(int(period)) }

// RefusalPeriod returns the number of the two UTC days that share one key for refusals.
func RefusalPeriod(date day.Day) day.Day { return date / refusalDays }

// refusalDays is the number of days for which one key marks refusals.
const refusalDays = 2

// Refusal returns the mark of a publisher's session without ads, for the requesting API key in a
// period. It has its own key: it cannot be linked with other stored data of the session, nor a mark
// of one period with that of another. Zero for an empty id. All nodes choose one key of the ring
// for a period, which lasts until its last mark has ended, a day later.
func (r *Keyring) Refusal(developer, apiKey uuid.UUID, period day.Day, id string) Pseudonym {
	if id == "" {
		return Pseudonym{}
	}
	key := r.pseudonymsOf((period + 1) * refusalDays)
	known := key.dated(&key.periods, period, useRefusal, numbered)
	if known == nil {
		return Pseudonym{}
	}
	return known.ofTwo(developer, apiKey, id)
}

// The kinds of marks of networks. Marks of different kinds cannot be compared.
const (
	NetworkOfAd     NetworkKind = "ad"     // the network that was sold an ad of a browser key
	NetworkOfClick  NetworkKind = "click"  // that of a click
	NetworkOfReport NetworkKind = "report" // that of a reader's report of an ad
)

// NetworkKind is the use of a mark of a network.
type NetworkKind string

// Network returns the mark of a reader's network for a campaign on one UTC day. The key is the
// day's: without it, the 2^24 networks cannot be tried, and marks of two days or campaigns cannot
// be compared.
func (r *Keyring) Network(kind NetworkKind, campaign uuid.UUID, date day.Day, network string) Pseudonym {
	key := r.pseudonymsOf(date)
	known := key.dated(&key.nets, date, useNetwork, day.Day.String)
	if known == nil {
		return Pseudonym{}
	}
	w := known.pool.Get().(*hasher)
	w.in = append(append(append(append(w.in[:0], campaign[:]...), kind...), 0), network...)
	return known.sum(w)
}

// AppendSession appends a session for a link: encrypted, so that a reader of the link cannot find
// the session in adnet's data. It appends nothing for no session.
func (r *Keyring) AppendSession(dst []byte, date day.Day, p Pseudonym) []byte {
	if p == (Pseudonym{}) {
		return dst
	}
	key := r.pseudonymsOf(date)
	w := key.lasting.pool.Get().(*hasher) // for its memory: what a cipher takes moves to the heap
	defer key.lasting.pool.Put(w)
	copy(w.sum[:], p[:])
	hidden := w.sum[len(p):]
	key.link.Encrypt(hidden, w.sum[:len(p)])
	return base64.RawURLEncoding.AppendEncode(append(dst, linkMark...), hidden)
}

// SessionSaid returns the pseudonym of an event's session: that of a link
// ([Keyring.AppendSession]), or that of the publisher's id.
func (r *Keyring) SessionSaid(developer uuid.UUID, date day.Day, session string) (p Pseudonym) {
	if len(session) != linkSize || session[:len(linkMark)] != linkMark {
		return r.Session(developer, date, session)
	}
	key := r.pseudonymsOf(date)
	w := key.lasting.pool.Get().(*hasher)
	defer key.lasting.pool.Put(w)
	n, err := strictText.Decode(w.sum[:], []byte(session[len(linkMark):]))
	if err != nil || n != len(p) {
		return r.Session(developer, date, session)
	}
	decrypted := w.sum[len(p):]
	key.link.Decrypt(decrypted, w.sum[:n])
	copy(p[:], decrypted)
	return p
}

// Lasting returns the pseudonym of an id that must match on other days: an advertiser's order, the
// deduplication of events without a token, or the sender of clicks. Its key is that of the ring and
// not of a day; it changes on the day on which an older key ends. date is the UTC day of the event.
func (r *Keyring) Lasting(scope uuid.UUID, date day.Day, id string) Pseudonym {
	if id == "" {
		return Pseudonym{}
	}
	return r.pseudonymsOf(date).lasting.of(scope, id)
}

// Marks returns the hashes of a fact about an account under every key of the ring, so that two
// equal facts share one if a key was in the ring at both times. kind separates facts with the same
// text. It is nil for no text.
func (r *Keyring) Marks(kind, text string) (marks [][16]byte) {
	if text == "" {
		return nil
	}
	for _, key := range r.pseudonyms {
		marks = append(marks, key.marks.of(uuid.Nil, kind+"\x00"+text))
	}
	return marks
}

// Synthetic returns the id under which events without a token are deduplicated: one per campaign,
// publisher, session and kind (RFC 9562 version 8, so that it never looks like an auction's
// UUIDv7). It is keyed like [Keyring.Lasting].
func (r *Keyring) Synthetic(date day.Day, campaign, developer uuid.UUID, session, kind string) uuid.UUID {
	b := append(make([]byte, 0, 64), developer[:]...)
	b = binary.AppendUvarint(b, uint64(len(kind)))
	b = append(append(b, kind...), session...)
	id := uuid.UUID(r.pseudonymsOf(date).lasting.of(campaign, "\x00"+string(b)))
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return id
}
