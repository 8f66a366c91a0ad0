package httpapi

import (
	"strconv"
	"strings"
)

// preferred returns the index of the media type of offers that the values of the header Accept
// prefer (RFC 9110, section 12.5.1): the highest weight counts, then the more exact range, then the
// range that comes first, then the offer that comes first. Without an acceptable offer it is 0.
func preferred(accept []string, offers ...string) int {
	best, chosen := rank{}, 0
	for i, offer := range offers {
		if r := rankOf(accept, offer); r.weight > 0 && best.less(r) {
			best, chosen = r, i
		}
	}
	return chosen
}

// rank is the preference of a header for a media type.
type rank struct {
	weight   float64 // 0: not acceptable
	exact    int     // of the range: 1 for */*, 2 for text/*, 3 for the type itself
	position int
}

func (r rank) less(o rank) bool {
	switch {
	case r.weight != o.weight:
		return r.weight < o.weight
	case r.exact != o.exact:
		return r.exact < o.exact
	}
	return r.position > o.position
}

// rankOf returns the rank of a media type: that of the most exact range that matches it.
func rankOf(accept []string, offer string) (found rank) {
	position := 0
	group, _, _ := strings.Cut(offer, "/")
	for part := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		position++
		named, parameters, _ := strings.Cut(part, ";")
		exact := 0
		switch named = strings.ToLower(strings.TrimSpace(named)); named {
		case offer:
			exact = 3
		case group + "/*":
			exact = 2
		case "*/*":
			exact = 1
		}
		if exact > found.exact {
			found = rank{weightOf(parameters), exact, position}
		}
	}
	return found
}

// weightOf returns the parameter q of a media range or a coding, 1 without a valid one.
func weightOf(parameters string) float64 {
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(parameter, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		if q, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil && q >= 0 && q <= 1 {
			return q
		}
	}
	return 1
}
