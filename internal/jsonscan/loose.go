package jsonscan

// Loose makes a Reader of text for a protocol whose own decoders are loose: names that occur twice and numbers of any
// form are no reason to decline. Objects and arrays are read with [Reader.Enter] and [Reader.More] (benchmark row
// rtb_100k).
func Loose(text string) Reader { return Reader{text: text, loose: true} }

// Enter passes over begin, the brace or bracket with which an object or array begins; then [Reader.More] is asked.
func (r *Reader) Enter(begin byte) {
	r.take(begin)
	r.begun = true
}

// More says whether the object or array goes on, and passes over the comma, or over end, with which it ends. What
// follows a comma must be read: the end is none, so that a comma before it is declined.
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
