package books

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"adnet/internal/ledger"
	"adnet/internal/money"
)

// The outcomes of an applied range, column by column, version 1:
//
//	byte     version
//	uvarint  rows
//	uvarint  verdicts, then each as uvarint length and bytes
//	runs     verdict: (index, length) as uvarints until rows are covered
//	runs     charge:  (zigzag micro-USD, length)
//	runs     minted:  (zigzag Credits, length)
//
// Version 2 has one more column. It is only written when one of its values is not 0, so that older
// builds can read all other rows:
//
//	runs     credit note: (ledger.CreditNote, length)
//
// A run length is stored minus one. Neighbouring events mostly share verdict and Credit. Charges
// repeat less; for them a run costs one byte more than the value alone.
const (
	outcomesVersion = 1
	outcomesNotes   = 2
)

// maxOutcomes limits how much memory a damaged row can make the decoder allocate (40 bytes per
// outcome). A range is one poll of one partition, thousands of records.
const maxOutcomes = 1 << 20

var errOutcomes = errors.New("applied outcomes are damaged")

// EncodeOutcomes appends the outcomes to b.
func EncodeOutcomes(b []byte, outcomes []ledger.Outcome) []byte {
	version := byte(outcomesVersion)
	if slices.ContainsFunc(outcomes, func(o ledger.Outcome) bool { return o.Credit != ledger.CreditPlain }) {
		version = outcomesNotes
	}
	b = append(b, version)
	b = binary.AppendUvarint(b, uint64(len(outcomes)))
	index := make(map[ledger.Verdict]uint64, 8)
	var names []ledger.Verdict
	for i := range outcomes {
		v := outcomes[i].Verdict
		if i > 0 && v == outcomes[i-1].Verdict {
			continue
		}
		if _, ok := index[v]; !ok {
			index[v] = uint64(len(names))
			names = append(names, v)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(names)))
	for _, name := range names {
		b = binary.AppendUvarint(b, uint64(len(name)))
		b = append(b, name...)
	}
	b = appendRuns(
		b, len(outcomes), func(i int) ledger.Verdict { return outcomes[i].Verdict },
		func(v ledger.Verdict) uint64 { return index[v] },
	)
	b = appendRuns(b, len(outcomes), func(i int) money.Micros { return outcomes[i].Charge }, zigzag[money.Micros])
	b = appendRuns(b, len(outcomes), func(i int) money.Credits { return outcomes[i].Minted }, zigzag[money.Credits])
	if version == outcomesNotes {
		b = appendRuns(
			b, len(outcomes), func(i int) ledger.CreditNote { return outcomes[i].Credit },
			func(n ledger.CreditNote) uint64 { return uint64(n) },
		)
	}
	return b
}

func appendRuns[T comparable](b []byte, n int, at func(int) T, code func(T) uint64) []byte {
	for i := 0; i < n; {
		v, start := at(i), i
		for i < n && at(i) == v {
			i++
		}
		b = binary.AppendUvarint(b, code(v))
		b = binary.AppendUvarint(b, uint64(i-start-1))
	}
	return b
}

func zigzag[T ~int64](v T) uint64 { return uint64(v)<<1 ^ uint64(v>>63) }

func unzigzag[T ~int64](u uint64) T { return T(u>>1) ^ -T(u&1) }

// DecodeOutcomes appends the outcomes in b to dst. It returns an error for any damage and never
// guesses.
func DecodeOutcomes(dst []ledger.Outcome, b []byte) ([]ledger.Outcome, error) {
	if len(b) == 0 || b[0] != outcomesVersion && b[0] != outcomesNotes {
		return dst, fmt.Errorf("%w: unknown version", errOutcomes)
	}
	r := outcomeReader{rest: b[1:]}
	rows := r.uvarint()
	names := r.names()
	if r.bad || rows > maxOutcomes {
		return dst, errOutcomes
	}
	from := len(dst)
	dst = append(dst, make([]ledger.Outcome, rows)...)
	out := dst[from:]
	r.runs(len(out), func(i int, code uint64) {
		if code >= uint64(len(names)) {
			r.bad = true
			return
		}
		out[i].Verdict = names[code]
	})
	r.runs(len(out), func(i int, code uint64) { out[i].Charge = unzigzag[money.Micros](code) })
	r.runs(len(out), func(i int, code uint64) { out[i].Minted = unzigzag[money.Credits](code) })
	if b[0] == outcomesNotes {
		r.runs(len(out), func(i int, code uint64) {
			out[i].Credit = ledger.CreditNote(code)
			r.bad = r.bad || code != uint64(out[i].Credit) || !out[i].Credit.Valid()
		})
	}
	if r.bad || len(r.rest) != 0 {
		return dst[:from], errOutcomes
	}
	return dst, nil
}

// outcomeReader reads the encoding; bad stays set after the first damage.
type outcomeReader struct {
	rest []byte
	bad  bool
}

func (r *outcomeReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *outcomeReader) names() []ledger.Verdict {
	n := r.uvarint()
	if n > uint64(len(r.rest)) { // each name takes a byte at least
		r.bad = true
		return nil
	}
	names := make([]ledger.Verdict, 0, n)
	for range n {
		size := r.uvarint()
		if r.bad || size > uint64(len(r.rest)) {
			r.bad = true
			return nil
		}
		names = append(names, ledger.Verdict(r.rest[:size]))
		r.rest = r.rest[size:]
	}
	return names
}

// runs reads one column of n rows and calls set for each.
func (r *outcomeReader) runs(n int, set func(i int, code uint64)) {
	for i := 0; i < n && !r.bad; {
		code, more := r.uvarint(), r.uvarint()
		if r.bad || more >= uint64(n-i) {
			r.bad = true
			return
		}
		for end := i + int(more) + 1; i < end; i++ {
			set(i, code)
		}
	}
}
