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

// Pseudonym stands for an id that a publisher or an advertiser gave a person. It is a keyed hash:
// without the key nobody can tell whether an id belongs to it, however few ids there are. The zero
// value stands for no id.
type Pseudonym [16]byte

// String is the pseudonym as the archive keeps it; empty for none.
func (p Pseudonym) String() string {
	if p == (Pseudonym{}) {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(p[:])
}

var strictText = base64.RawURLEncoding.Strict()

// linkMark begins a session in a link. Ids of publishers that begin so and are as long are taken
// for one; they are kept encrypted, so that no id is ever kept as it came.
const linkMark = "s."

// linkSize is the length of a session in a link.
const linkSize = len(linkMark) + 22

// The uses of the keys of pseudonyms.
const (
	useSession = "session/v1/" // and the UTC day: the key of a day's sessions
	useLink    = "session-link/v1"
	useLasting = "lasting/v1"
	useRefusal = "suitability/v1/" // and the number of two UTC days: the key of their refusals
)

// pseudonymKey is what pseudonyms are made with under one key of the ring.
type pseudonymKey struct {
	Key
	days    [4]atomic.Pointer[dayKey] // by day modulo 4
	periods [4]atomic.Pointer[dayKey] // by period modulo 4; see [Keyring.Refusal]
	lasting hashers
	link    cipher.Block
}

type dayKey struct {
	day day.Day
	hashers
}

// hashers are keyed hashes with their memory: keying one costs more than hashing an id.
type hashers struct{ pool *sync.Pool }

type hasher struct {
	mac hash.Hash
	in  []byte
	sum [sha256.Size]byte
}

func newHashers(secret []byte) hashers {
	return hashers{&sync.Pool{New: func() any { return &hasher{mac: hmac.New(sha256.New, secret)} }}}
}

// of hashes what belongs together: a scope and an id.
func (h hashers) of(scope uuid.UUID, id string) (p Pseudonym) {
	w := h.pool.Get().(*hasher)
	w.in = append(append(w.in[:0], scope[:]...), id...)
	return h.sum(w)
}

// ofTwo hashes an id that belongs to two scopes together.
func (h hashers) ofTwo(outer, inner uuid.UUID, id string) (p Pseudonym) {
	w := h.pool.Get().(*hasher)
	w.in = append(append(append(w.in[:0], outer[:]...), inner[:]...), id...)
	return h.sum(w)
}

// sum hashes what w has read, and gives it back.
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
	return &pseudonymKey{Key: key, lasting: newHashers(lasting), link: block}, nil
}

// pseudonymsOf is the key of a UTC day: the one that ends next and not before the day does, else
// the one that signs. So all nodes use one key for a whole day, in each step of a rotation, those
// that have the new list and those that do not have it yet, and a frequency cap does not begin
// anew.
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

// Session is the pseudonym of a publisher's session on one UTC day. The key is the day's: the same
// session on another day is another pseudonym, and cannot be linked. Empty for an empty id.
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

// dated is the key of a day or a period from where such keys are kept; when it is not there, it is
// derived for a use with the date's name. nil cannot be: the length is a hash's.
func (k *pseudonymKey) dated(
	kept *[4]atomic.Pointer[dayKey], date day.Day, use string, name func(day.Day) string,
) *dayKey {
	at := &kept[uint32(date)%uint32(len(kept))]
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

// RefusalPeriod is the number of the two UTC days that have one key for refusals.
func RefusalPeriod(date day.Day) day.Day { return date / refusalDays }

// refusalDays is how long one key makes the marks of refusals.
const refusalDays = 2

// Refusal is the mark of a publisher's session in which no ad is shown, for the API key that asked,
// in a period. It has a key of its own: nothing that is kept of the session elsewhere can be linked
// with it, nor a mark of one period with that of another. Zero for an empty id. All nodes choose
// one key of the ring for a period, which lasts until its last mark has ended, a day later.
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

// AppendSession appends a session for a link: encrypted, so that who reads the link cannot find the
// session in what adnet keeps. Nothing for no session.
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

// SessionSaid is the pseudonym of what an event says its session is: that of a link
// ([Keyring.AppendSession]), or the id that the publisher gave.
func (r *Keyring) SessionSaid(developer uuid.UUID, date day.Day, said string) (p Pseudonym) {
	if len(said) != linkSize || said[:len(linkMark)] != linkMark {
		return r.Session(developer, date, said)
	}
	key := r.pseudonymsOf(date)
	w := key.lasting.pool.Get().(*hasher)
	defer key.lasting.pool.Put(w)
	n, err := strictText.Decode(w.sum[:], []byte(said[len(linkMark):]))
	if err != nil || n != len(p) {
		return r.Session(developer, date, said)
	}
	shown := w.sum[len(p):]
	key.link.Decrypt(shown, w.sum[:n])
	copy(p[:], shown)
	return p
}

// Lasting is the pseudonym of an id that must be known again on other days: an order of an
// advertiser, what deduplicates events without a token. Its key is that of the ring and no day's;
// it changes on the day on which an older key ends. date is the UTC day of the event.
func (r *Keyring) Lasting(scope uuid.UUID, date day.Day, id string) Pseudonym {
	if id == "" {
		return Pseudonym{}
	}
	return r.pseudonymsOf(date).lasting.of(scope, id)
}

// Synthetic is the id under which events without a token are deduplicated: one per campaign,
// publisher, session and kind (RFC 9562 version 8, so that it never looks like an auction's
// UUIDv7). It is keyed as [Keyring.Lasting].
func (r *Keyring) Synthetic(date day.Day, campaign, developer uuid.UUID, session, kind string) uuid.UUID {
	b := append(make([]byte, 0, 64), developer[:]...)
	b = binary.AppendUvarint(b, uint64(len(kind)))
	b = append(append(b, kind...), session...)
	id := uuid.UUID(r.pseudonymsOf(date).lasting.of(campaign, "\x00"+string(b)))
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return id
}
