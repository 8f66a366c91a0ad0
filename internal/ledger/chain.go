package ledger

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// Side is an account in one asset, with a balance and a hash chain.
type Side struct {
	Account Account
	Asset   Asset
}

// Compare defines the order in which all writers lock the rows of balances.
func (s Side) Compare(o Side) int {
	return cmp.Or(cmp.Compare(s.Account, o.Account), cmp.Compare(s.Asset, o.Asset))
}

// Hash is a SHA-256.
type Hash [sha256.Size]byte

// Head is the end of a side's chain, stored with its balance. The zero Head precedes the first
// entry.
type Head struct {
	Seq     int64 // number of the last entry, from 1
	Balance int64 // after it, micro-USD or Credits
	Hash    Hash
}

// Link is an entry at its position in the chain of its side.
type Link struct {
	Side
	Seq         int64 // 1, 2, 3 … without gaps
	Amount      int64
	Balance     int64 // of the side after this entry
	Transaction uuid.UUID
	Leg         int
	Kind        Kind
	Ref         string
	Subject     uuid.UUID
	Reverses    uuid.UUID
	At          time.Time
	Hash        Hash
}

// Sum returns the hash that must follow prev: SHA-256 over prev, then one line each for account,
// asset, number, amount, balance, transaction, leg, kind, subject, reversed transaction (empty
// without one), time in microseconds since 1970, and finally the ref. Only the last line can
// contain a line break, so two different entries never produce the same text. ledger_entry_hash in
// schemas/postgres computes the same hash.
func (l *Link) Sum(prev Hash) Hash {
	b := make([]byte, 0, 512)
	b = append(b, prev[:]...)
	line := func(text string) { b = append(append(b, text...), '\n') }
	line(string(l.Account))
	line(string(l.Asset))
	line(strconv.FormatInt(l.Seq, 10))
	line(strconv.FormatInt(l.Amount, 10))
	line(strconv.FormatInt(l.Balance, 10))
	line(l.Transaction.String())
	line(strconv.Itoa(l.Leg))
	line(string(l.Kind))
	line(l.Subject.String())
	if l.Reverses != uuid.Nil {
		b = append(b, l.Reverses.String()...)
	}
	line("")
	line(strconv.FormatInt(l.At.UnixMicro(), 10))
	return sha256.Sum256(append(b, l.Ref...))
}

// Sides lists the sides that transactions touch, in the order of [Side.Compare].
func Sides(ts []Transaction) []Side {
	seen := make(map[Side]struct{})
	for i := range ts {
		for _, e := range ts[i].Entries {
			seen[Side{e.Account, e.Asset}] = struct{}{}
		}
	}
	sides := make([]Side, 0, len(seen))
	for s := range seen {
		sides = append(sides, s)
	}
	slices.SortFunc(sides, Side.Compare)
	return sides
}

// Chain appends the entries of balanced transactions, in order, to the chains of their sides and
// moves heads, which must contain every existing side. A store calls it while it holds the locks on
// these heads.
func Chain(heads map[Side]Head, ts []Transaction) []Link {
	n := 0
	for i := range ts {
		n += len(ts[i].Entries)
	}
	links := make([]Link, 0, n)
	for i := range ts {
		t := &ts[i]
		for leg, e := range t.Entries {
			side := Side{e.Account, e.Asset}
			head := heads[side]
			l := Link{
				Side: side, Seq: head.Seq + 1, Amount: e.Amount, Balance: head.Balance + e.Amount,
				Transaction: t.ID, Leg: leg, Kind: t.Kind, Ref: t.Ref, Subject: t.Subject, Reverses: t.Reverses,
				At: t.At,
			}
			l.Hash = l.Sum(head.Hash)
			heads[side] = Head{Seq: l.Seq, Balance: l.Balance, Hash: l.Hash}
			links = append(links, l)
		}
	}
	return links
}

// ChainWalk verifies chains. Pass it every entry, side by side and within a side in order of Seq,
// and then the heads. The zero value is ready.
type ChainWalk struct {
	at      Side
	head    Head
	bad     bool
	ends    map[Side]Head
	broken  []string
	started bool
}

// Add verifies the next entry.
func (w *ChainWalk) Add(l *Link) {
	if !w.started || w.at != l.Side {
		w.end()
		w.at, w.head, w.bad, w.started = l.Side, Head{}, false, true
	}
	if w.bad { // everything after the first broken link follows from it
		return
	}
	var why string
	switch want := l.Sum(w.head.Hash); {
	case l.Seq != w.head.Seq+1:
		why = fmt.Sprintf("entry %d follows entry %d", l.Seq, w.head.Seq)
	case l.Balance != w.head.Balance+l.Amount:
		why = fmt.Sprintf("entry %d: balance %d after %d and %d", l.Seq, l.Balance, w.head.Balance, l.Amount)
	case !bytes.Equal(want[:], l.Hash[:]):
		why = fmt.Sprintf("entry %d of transaction %s was changed", l.Seq, l.Transaction)
	}
	if why != "" {
		w.broken, w.bad = append(w.broken, fmt.Sprintf("%s %s: %s", l.Account, l.Asset, why)), true
		return
	}
	w.head = Head{Seq: l.Seq, Balance: l.Balance, Hash: l.Hash}
}

func (w *ChainWalk) end() {
	if w.ends == nil {
		w.ends = make(map[Side]Head)
	}
	if w.started && !w.bad {
		w.ends[w.at] = w.head
	}
	if w.started && w.bad {
		w.ends[w.at] = Head{Seq: -1} // already reported
	}
}

// Check compares the ends of the chains with the heads stored with the balances and returns the
// result.
func (w *ChainWalk) Check(heads map[Side]Head) Check {
	w.end()
	sides := make(map[Side]struct{}, len(heads))
	for side, head := range heads {
		sides[side] = struct{}{}
		if end := w.ends[side]; end != head && end.Seq >= 0 {
			w.broken = append(
				w.broken,
				fmt.Sprintf(
					"%s %s: the chain ends with entry %d, the balance has entry %d", side.Account, side.Asset,
					end.Seq, head.Seq,
				),
			)
		}
	}
	for side, end := range w.ends {
		if _, ok := heads[side]; !ok {
			sides[side] = struct{}{}
			if end.Seq >= 0 {
				w.broken = append(w.broken, fmt.Sprintf("%s %s: entries without a balance", side.Account, side.Asset))
			}
		}
	}
	slices.Sort(w.broken)
	c := Check{Name: CheckChain, Want: int64(len(sides)), Got: int64(len(sides) - len(w.broken))}
	if len(w.broken) > 0 {
		c.Detail = w.broken[0]
	}
	return c
}
