package token

import "time"

// AppendRaw appends the bytes of a token: its form in a record of the log, a quarter shorter than
// its text. It appends nothing for a text that is not a token.
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
	err = r.verify(&a, w, allowed, raw, now)
	return a, err
}
