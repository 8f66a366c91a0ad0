package offer

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"adnet/internal/campaign/subject"
	"adnet/internal/jsonscan"
)

// Suitability is the field suitability of a request: the publisher's knowledge of the conversation
// beyond its texts. All protocols read it with [ReadSuitability]. It is never an error: an
// unreadable value refuses the ad.
type Suitability struct{ Stated }

// maxFlags is the maximum number of flags of a request; a request with more is refused.
const maxFlags = 64

// The names counted in place of a flag that is not text; see [Stated.Unknown].
const (
	flagNoText  = "(not a text)"
	flagNoList  = "(not a list of texts)"
	flagEmpty   = "(empty)"
	flagTooMany = "(more than 64)"
	notAnObject = "(suitability is not an object)"
)

// ReadSuitability reads the value of the field, which is valid JSON. Names of members are matched
// in any case, since a refusal must not depend on it. Other members are ignored. Both values of a
// repeated member count. An empty list is an empty object, as PHP writes it, and a text may hold
// the object.
func ReadSuitability(value string) (s Suitability) {
	if value == "" || value == "null" || value[0] == '[' && strings.Trim(value[1:], " \t\r\n") == "]" {
		return s
	}
	if value[0] == '"' {
		text, err := jsontext.AppendUnquote(nil, value)
		if text = bytes.TrimSpace(text); err == nil && len(text) > 0 && text[0] == '{' && jsontext.Value(text).IsValid() {
			value = string(text)
		}
	}
	if value[0] != '{' {
		s.Unknown = notAnObject
		return s
	}
	in := jsontext.NewDecoder(
		bytes.NewBufferString(value), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
	)
	if _, err := in.ReadToken(); err != nil {
		s.Unknown = notAnObject
		return s
	}
	for in.PeekKind() == '"' {
		name, err := in.ReadToken()
		if err != nil {
			break
		}
		called := name.String() // copied before the next read
		member, err := in.ReadValue()
		if err != nil {
			break
		}
		s.member(called, member)
	}
	if in.PeekKind() != '}' {
		s.unknown(notAnObject)
	}
	return s
}

func (s *Suitability) member(name string, value jsontext.Value) {
	switch {
	case strings.EqualFold(name, "flags"):
		s.flags(value)
	case strings.EqualFold(name, "age"):
		s.Age = s.Age.and(ageOf(value))
	case strings.EqualFold(name, "remember"):
		s.Forgetful = s.Forgetful || string(value) == "false"
	}
}

// ageOf reads an age. An unreadable one counts as a child's.
func ageOf(value jsontext.Value) Age {
	switch string(value) {
	case "null":
		return AgeUnknown
	case `"teen"`:
		return AgeTeen
	case `"adult"`:
		return AgeAdult
	}
	return AgeChild
}

// and returns the lower of two stated ages.
func (a Age) and(b Age) Age {
	if a == AgeUnknown || b != AgeUnknown && b < a {
		return b
	}
	return a
}

// flags reads a list of texts; a single text is a list of one.
func (s *Suitability) flags(value jsontext.Value) {
	switch value.Kind() {
	case 'n':
	case '"':
		s.flag(value)
	case '[':
		in := jsontext.NewDecoder(
			bytes.NewReader(value), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
		)
		if _, err := in.ReadToken(); err != nil {
			s.unknown(flagNoList)
			return
		}
		for n := 0; in.PeekKind() != ']'; n++ {
			flag, err := in.ReadValue()
			if err != nil {
				s.unknown(flagNoList)
				return
			}
			if n == maxFlags {
				s.unknown(flagTooMany)
				return
			}
			s.flag(flag)
		}
	default:
		s.unknown(flagNoList)
	}
}

// flag reads one flag.
func (s *Suitability) flag(value jsontext.Value) {
	if value.Kind() != '"' {
		s.unknown(flagNoText)
		return
	}
	plain, err := jsontext.AppendUnquote(nil, value)
	if err != nil && len(plain) == 0 {
		s.unknown(flagNoText)
		return
	}
	name := string(plain)
	subjects, known := subject.Flag(name)
	switch s.Flags |= subjects; {
	case known:
	case name == "":
		s.unknown(flagEmpty)
	default:
		s.unknown(printableFlag(name))
	}
}

// unknown records the first flag that names no subject.
func (s *Stated) unknown(name string) {
	if s.Unknown == "" {
		s.Unknown = name
	}
}

// printableFlag returns a flag's name as it is counted and displayed: at most [subject.MaxFlag]
// bytes, with all characters but ASCII letters, digits and punctuation replaced by question marks.
// So a publisher that sends its readers' words as flags by mistake does not have them stored word
// for word.
func printableFlag(name string) string {
	printable := make([]byte, 0, subject.MaxFlag)
	for _, c := range name {
		if len(printable) == subject.MaxFlag {
			break
		}
		if c <= ' ' || c > '~' || strings.ContainsRune("<>&\"'`\\", c) {
			c = '?'
		}
		printable = append(printable, byte(c))
	}
	return string(printable)
}

// UnmarshalJSONFrom reads any value.
func (s *Suitability) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	if err == nil {
		*s = ReadSuitability(string(value))
	}
	return err
}

// Scan reads the field of a plain body.
func (s *Suitability) Scan(in *jsonscan.Reader) { *s = ReadSuitability(in.Raw()) }

// With adds the statements of another part of the request: the flags of both, and the lower age.
func (s Stated) With(other Stated) Stated {
	s.unknown(other.Unknown)
	s.Flags |= other.Flags
	s.Age = s.Age.and(other.Age)
	s.Forgetful = s.Forgetful || other.Forgetful
	return s
}

// flagged counts the unknown flag of a, if it has one.
func (s *Seller) flagged(a *Auction) {
	if a.Judged.unknown != "" && s.deps.Flags != nil && a.Place.Developer != uuid.Nil {
		s.deps.Flags.Unknown(a.Place.Developer, a.Judged.unknown, a.Received)
	}
}
