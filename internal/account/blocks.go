package account

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"

	"adnet/internal/compliance/adtext"
	"adnet/internal/errs"
)

// The limits of a publisher's block lists. Each list is loaded with each of its keys.
const (
	MaxBlocked     = 200 // entries of a list
	MaxBlockedWord = 60  // characters
	maxHost        = 253 // bytes
)

// Blocks lists the ads that a publisher does not show, on all of its keys and seats.
type Blocks struct {
	// Advertisers are user ids. Domains include their subdomains. Categories are those of the IAB
	// Content Taxonomy 1.0; IAB7 includes IAB7-39.
	Advertisers []uuid.UUID `json:"advertisers"`
	Domains     []string    `json:"domains"`
	Categories  []string    `json:"categories"`
	// Words are words and phrases in the headline, subtext or button. Case and look-alike
	// characters are ignored.
	Words []string `json:"words"`

	plain []string // Words, normalized for comparison
}

// BlockStore stores the block lists of publishers. Errors: errs.NotFound for an unknown account.
type BlockStore interface {
	// Blocks returns an empty list for an account that blocks nothing.
	Blocks(ctx context.Context, user uuid.UUID) (Blocks, error)
	// PutBlocks replaces the block lists of user.
	PutBlocks(ctx context.Context, user uuid.UUID, b Blocks) error
}

// Normalize sorts b and removes duplicates, for storage and comparison. Errors: errs.InvalidRequest
// with the field of an entry that cannot be blocked.
func (b *Blocks) Normalize() (err error) {
	if len(b.Advertisers) > MaxBlocked {
		return tooMany("advertisers")
	}
	b.Advertisers = append([]uuid.UUID{}, b.Advertisers...)
	slices.SortFunc(b.Advertisers, func(x, y uuid.UUID) int { return bytes.Compare(x[:], y[:]) })
	b.Advertisers = slices.Compact(b.Advertisers)
	for _, list := range []struct {
		field  string
		values *[]string
		read   func(string) (string, bool)
		form   string
	}{
		{"domains", &b.Domains, readDomain, "a host name such as shop.example"},
		{
			"categories", &b.Categories, ReadCategory,
			"a category of the IAB's Content Taxonomy 1.0, such as IAB7 or IAB7-39",
		},
		{"words", &b.Words, readWord, "a word or phrase of at most 60 characters with a letter or digit"},
	} {
		if *list.values, err = readList(list.field, *list.values, list.read, list.form); err != nil {
			return err
		}
	}
	return nil
}

func tooMany(field string) error {
	return errs.New(errs.InvalidRequest, "%s may hold at most %d entries", field, MaxBlocked).With("field", field)
}

func readList(field string, values []string, read func(string) (string, bool), form string) ([]string, error) {
	if len(values) > MaxBlocked {
		return nil, tooMany(field)
	}
	clean := make([]string, 0, len(values))
	for i, value := range values {
		value, ok := read(value)
		if !ok {
			return nil, errs.New(errs.InvalidRequest, "%s[%d] must be %s", field, i, form).At(field, i)
		}
		clean = append(clean, value)
	}
	slices.Sort(clean)
	return slices.Compact(clean), nil
}

func readDomain(value string) (string, bool) {
	value = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(value), "."))
	if value == "" || len(value) > maxHost || strings.ContainsAny(value, "/:@?#\\ %") {
		return "", false
	}
	link, err := adtext.ASCIILink("https://" + value)
	if err != nil {
		return "", false
	}
	host := adtext.Host(link)
	return host, host != "" &&
		!slices.ContainsFunc(strings.Split(host, "."), func(l string) bool { return !isLabel(l) })
}

var category = regexp.MustCompile(`^IAB([1-9]|1[0-9]|2[0-6])(-[1-9][0-9]?)?$`)

// ReadCategory parses a category of the IAB Content Taxonomy 1.0.
func ReadCategory(value string) (string, bool) {
	value = strings.ToUpper(strings.TrimSpace(value))
	return value, category.MatchString(value)
}

func readWord(value string) (string, bool) {
	value = strings.ToLower(strings.Join(strings.Fields(norm.NFC.String(value)), " "))
	named := strings.ContainsFunc(value, joins) && !strings.ContainsFunc(value, unicode.IsControl)
	return value, named && utf8.ValidString(value) && utf8.RuneCountInString(value) <= MaxBlockedWord
}

// Clone returns a deep copy.
func (b Blocks) Clone() Blocks {
	return Blocks{
		Advertisers: slices.Clone(b.Advertisers), Domains: slices.Clone(b.Domains),
		Categories: slices.Clone(b.Categories), Words: slices.Clone(b.Words),
	}
}

// Ready returns b prepared for concurrent use by [Blocks.Refuse], or nil if nothing is blocked.
func (b *Blocks) Ready() *Blocks {
	if b == nil || len(b.Advertisers)+len(b.Domains)+len(b.Categories)+len(b.Words) == 0 {
		return nil
	}
	b.plain = make([]string, len(b.Words))
	for i, word := range b.Words {
		b.plain[i] = plainText(word)
	}
	return b
}

// Refuse reports whether b blocks one of the texts or categories of an ad. b comes from
// [Blocks.Ready].
func (b *Blocks) Refuse(texts, categories []string) bool {
	for _, blocked := range b.Categories {
		for _, has := range categories {
			if has == blocked || strings.HasPrefix(has, blocked) && has[len(blocked)] == '-' {
				return true
			}
		}
	}
	if len(b.plain) == 0 {
		return false
	}
	for _, text := range texts {
		text = plainText(text)
		if slices.ContainsFunc(b.plain, func(word string) bool { return mentions(text, word) }) {
			return true
		}
	}
	return false
}

// plainText normalizes text for comparison: lower case, one space between words, look-alikes
// replaced by the letters that they resemble.
func plainText(text string) string {
	return strings.Join(strings.Fields(strings.ToLower(adtext.Plain(text))), " ")
}

// mentions reports whether text contains word as a whole word or phrase.
func mentions(text, word string) bool {
	if word == "" {
		return false
	}
	first, size := utf8.DecodeRuneInString(word)
	last, _ := utf8.DecodeLastRuneInString(word)
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(word):])
		if !(joins(before) && joins(first) && spaced(before)) && !(joins(last) && joins(after) && spaced(after)) {
			return true
		}
		from = at + size
	}
}

// joins reports whether r is part of a word.
func joins(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// spaced reports whether r belongs to a script that puts spaces between words.
func spaced(r rune) bool {
	return !unicode.In(
		r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
	)
}
