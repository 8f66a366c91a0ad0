package adtext

import "go.mau.fi/util/confusable"

// Looks returns the ASCII letter or digit that r looks like (UTS 39), 0 for none.
func Looks(r rune) rune {
	like := confusable.GetReplacement(r)
	if len(like) != 1 || like[0] >= 0x80 {
		return 0
	}
	return rune(like[0])
}

// Unseen reports whether r is invisible or only changes the order of visible characters: zero width
// characters, variation selectors, directional controls.
func Unseen(r rune) bool { return unseen(r) }
