package target

import (
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf8"

	"adnet/internal/eight"

	"golang.org/x/text/unicode/norm"
)

const (
	// MaxTokens is how many distinct tokens of a context are used; later ones are ignored.
	MaxTokens = 64
	// minRunes is the length of the shortest word that counts.
	minRunes = 3
)

// Tokenize gives the distinct words of a context in order of appearance: lower-cased NFC runs of
// letters, marks and digits of at least three runes, without English stop words, plurals folded, at
// most [MaxTokens]. Any byte string is accepted; invalid UTF-8 separates words. The time is linear
// in the length of the context. Scripts that are written without spaces give one word per run.
func Tokenize(context string) []string { return AppendTokens(nil, context) }

// AppendTokens is [Tokenize] into a slice that the caller owns.
func AppendTokens(dst []string, context string) []string {
	seen := tokenSet{first: len(dst)}
	eachWord(canonical(context), func(word string) bool {
		if token, ok := contentWord(word); ok {
			dst = seen.add(dst, token)
		}
		return len(dst)-seen.first < MaxTokens
	})
	return dst
}

// NormalizeToken is the form in which one token is compared: lower-cased, NFC, trimmed, plural
// folded. Applying it twice changes nothing.
func NormalizeToken(s string) string { return foldPlural(strings.TrimSpace(canonical(s))) }

// terms is how a stated token or keyword takes part: as the words that a context could contain, or,
// where that leaves nothing ("ai", "c++"), as one term that only a caller's own token can match.
func terms(stated string) []string {
	lower := canonical(stated)
	var words []string
	eachWord(lower, func(word string) bool {
		if token, ok := contentWord(word); ok {
			words = append(words, token)
		}
		return true
	})
	if len(words) > 0 {
		return words
	}
	if whole := foldPlural(strings.TrimSpace(lower)); whole != "" {
		return []string{whole}
	}
	return nil
}

// isTerm says that v is its own only term, which tokens from [Tokenize] in ASCII are. It spares the
// query path the allocations of terms.
func isTerm(v string) bool {
	for i := range len(v) {
		if c := v[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return v != "" && (v[len(v)-1] != 's' || foldPlural(v) == v)
}

// canonical lower-cases between two normalisations: the first joins what case mapping must see
// whole, the second joins what it took apart.
func canonical(s string) string {
	if isASCII(s) { // is in every normal form
		return lowerASCII(s)
	}
	return norm.NFC.String(strings.ToLower(norm.NFC.String(s)))
}

// Every byte of a context comes by, so the next two look at eight at a time (benchmark rows
// ad_request_100k, rtb_100k).
func isASCII(s string) bool {
	var all uint64
	for ; len(s) >= 8; s = s[8:] {
		all |= eight.Of(s)
	}
	for i := range len(s) {
		all |= uint64(s[i])
	}
	return eight.Wide(all) == 0
}

// lowerASCII is strings.ToLower for what isASCII.
func lowerASCII(s string) string {
	var lower strings.Builder
	lower.Grow(len(s))
	var low [8]byte
	for ; len(s) >= 8; s = s[8:] {
		v := eight.Of(s)
		upper := (v + (0x80-'A')*eight.Ones) &^ (v + (0x80-'Z'-1)*eight.Ones) & eight.Tops // 0x80 in each that is from A to Z
		binary.LittleEndian.PutUint64(low[:], v|upper>>2)
		lower.Write(low[:])
	}
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower.WriteByte(c)
	}
	return lower.String()
}

func contentWord(word string) (token string, ok bool) {
	if isShort(word) || isStopWord(word) {
		return "", false
	}
	token = foldPlural(word)
	return token, len(token) == len(word) || !isStopWord(token)
}

func isShort(word string) bool {
	if len(word) < minRunes {
		return true
	}
	return word[0]|word[1]|word[2] >= utf8.RuneSelf && utf8.RuneCountInString(word) < minRunes
}

// eachWord calls yield with each run of letters, marks and digits until it returns false.
func eachWord(s string, yield func(word string) bool) {
	from := 0 // of the run that ends here
	for at := 0; at < len(s); {
		if wordBytes[s[at]] {
			at++
			continue
		}
		size, inWord := 1, false
		if s[at] >= utf8.RuneSelf {
			var r rune
			r, size = utf8.DecodeRuneInString(s[at:])
			inWord = isWordRune(r)
		}
		if !inWord {
			if from < at && !yield(s[from:at]) {
				return
			}
			from = at + size
		}
		at += size
	}
	if from < len(s) {
		yield(s[from:])
	}
}

// wordBytes are the letters and digits of ASCII, in a table because every byte of a context comes
// by (benchmark row ad_request_100k).
var wordBytes = func() (of [256]bool) {
	for c := range of {
		of[c] = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
	}
	return of
}()

// isWordRune says of a rune that is not ASCII whether it is part of a word.
func isWordRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// foldPlural joins the English plural with its singular. What matters is that both end in the same
// form, not that the form is a word ("redis" becomes "redi" everywhere). No result can be folded
// again.
func foldPlural(w string) string {
	n := len(w)
	if n < 4 || w[n-1] != 's' {
		return w
	}
	switch {
	case strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"):
		return w
	case n > 4 && strings.HasSuffix(w, "ies"):
		return w[:n-3] + "y"
	case n > 4 && (strings.HasSuffix(w, "sses") || strings.HasSuffix(w, "xes") || strings.HasSuffix(w, "shes")):
		return w[:n-2]
	case n > 5 && strings.HasSuffix(w, "ches") && !strings.HasSuffix(w, "aches"):
		return w[:n-2]
	}
	return w[:n-1]
}

// tokenSet finds repeated tokens among at most MaxTokens: an open-addressing table of twice that
// size, so that a hostile context costs at most MaxTokens comparisons a word.
type tokenSet struct {
	first int
	slots [2 * MaxTokens]uint8
}

func (s *tokenSet) add(tokens []string, token string) []string {
	hash := uint32(2166136261)
	for i := range len(token) {
		hash = (hash ^ uint32(token[i])) * 16777619
	}
	for at := hash % uint32(len(s.slots)); ; at = (at + 1) % uint32(len(s.slots)) {
		slot := s.slots[at]
		if slot == 0 {
			tokens = append(tokens, token)
			s.slots[at] = uint8(len(tokens) - s.first)
			return tokens
		}
		if tokens[s.first+int(slot)-1] == token {
			return tokens
		}
	}
}

// isStopWord lists English words of three letters or more that say nothing about an intent.
func isStopWord(w string) bool {
	switch w {
	case "about", "above", "after", "again", "all", "also", "and", "any", "are", "because", "been", "before",
		"being", "below", "between", "both", "but", "can", "cannot", "could", "did", "does", "doing", "don",
		"down", "during", "each", "few", "for", "from", "further", "had", "has", "have", "having", "her",
		"here", "hers", "herself", "him", "himself", "his", "how", "into", "its", "itself", "just", "may",
		"might", "more", "most", "must", "myself", "nor", "not", "now", "off", "once", "only", "other",
		"our", "ours", "ourselves", "out", "over", "own", "same", "shall", "she", "should", "some", "such",
		"than", "that", "the", "their", "theirs", "them", "themselves", "then", "there", "these", "they",
		"this", "those", "through", "too", "under", "until", "very", "was", "were", "what", "when", "where",
		"which", "while", "who", "whom", "why", "will", "with", "would", "you", "your", "yours", "yourself",
		"yourselves":
		return true
	}
	return false
}

// appendValue appends the compared form of a value of any dimension but tokens: trimmed,
// lower-cased, NFC; regions and languages with "-" between their parts.
func appendValue(dst []byte, d int, v string) []byte {
	v = strings.TrimSpace(v)
	from := len(dst)
	for i := range len(v) {
		c := v[i]
		if c >= utf8.RuneSelf {
			dst = append(dst[:from], canonical(v)...)
			break
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	if d == dimRegion || d == dimLanguage {
		for i := from; i < len(dst); i++ {
			if dst[i] == '_' {
				dst[i] = '-'
			}
		}
	}
	return dst
}
