package jsonscan

// Loose makes a Reader of text for a protocol whose own decoders are loose: it accepts names that
// occur twice and numbers of any form. Objects and arrays are read with [Reader.Enter] and
// [Reader.More] (benchmark row rtb_100k).
func Loose(text string) Reader { return Reader{text: text, loose: true} }

// Enter reads begin, the brace or bracket at the start of an object or array; call [Reader.More]
// next.
func (r *Reader) Enter(begin byte) {
	r.take(begin)
	r.begun = true
}

// More says whether the object or array continues. It skips the comma, or end, which closes it. A
// value must follow a comma, so a comma before end is declined.
func (r *Reader) More(end byte) bool {
	begun := r.begun
	r.begun = false
	if r.Peek() == end {
		r.at++
		return false
	}
	if !begun {
		r.take(',')
	}
	return !r.odd
}

// Name is the name of the next member, whose value must be read then.
func (r *Reader) Name() string {
	name, escaped := r.quoted()
	if r.take(':'); r.odd || escaped {
		r.Decline()
		return ""
	}
	return name
}

// Numeral reads a number of any form, as it is written.
func (r *Reader) Numeral() string { return r.scanNumber(true, true) }
