package jsonscan

// Loose returns a Reader of text for a protocol whose own decoders are loose: it accepts duplicate
// names and numbers of any form. Objects and arrays are read with [Reader.Enter] and [Reader.More]
// (benchmark row rtb_100k).
func Loose(text string) Reader { return Reader{text: text, loose: true} }

// Enter reads begin, the brace or bracket at the start of an object or array. Call [Reader.More]
// next.
func (r *Reader) Enter(begin byte) {
	r.take(begin)
	r.begun = true
}

// More reports whether the object or array continues. It skips the comma, or end, which closes it.
// A value must follow a comma, so a comma before end is declined.
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

// Name returns the name of the next member. The caller must then read its value.
func (r *Reader) Name() string {
	name, escaped := r.quoted()
	if r.take(':'); r.odd || escaped {
		r.Decline()
		return ""
	}
	return name
}

// Numeral reads a number of any form and returns its text.
func (r *Reader) Numeral() string { return r.scanNumber(true, true) }
