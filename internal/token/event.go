package token

import "time"

// AppendRaw appends the bytes of a token: the form in which a record of the log carries it, a
// quarter shorter than its text. A text that is not a token's appends nothing.
func (r *Keyring) AppendRaw(dst []byte, text string) []byte {
	w := r.get()
	defer r.put(w)
	raw, err := w.decode(text)
	if err != nil {
		return dst
	}
	return append(dst, raw...)
}

// VerifyRaw is [Keyring.Verify] for the bytes of a token ([Keyring.AppendRaw]).
func (r *Keyring) VerifyRaw(allowed Purposes, raw []byte, now time.Time) (a Auction, err error) {
	if len(raw) > maxRaw {
		return a, ErrMalformed
	}
	w := r.get()
	defer r.put(w)
	return r.verify(w, allowed, raw, now)
}
