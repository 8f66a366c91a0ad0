package offer

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"adnet/internal/jsonscan"
	"adnet/internal/subject"
)

// Suitability is the field suitability of a request: what its publisher knows of the conversation
// that its texts do not tell. It has one reading for all wires, [ReadSuitability], and is never an
// error: what cannot be read refuses the ad.
type Suitability struct{ Stated }

// maxFlags is how many flags of a request are looked at; one with more is refused.
const maxFlags = 64

// What is counted in place of a flag that is no text; see [Stated.Unknown].
const (
	flagNoText  = "(not a text)"
	flagNoList  = "(not a list of texts)"
	flagEmpty   = "(empty)"
	flagTooMany = "(more than 64)"
	notAnObject = "(suitability is not an object)"
)

// ReadSuitability reads the value of the field, which is a JSON value that was checked. Names of
// members are read in any case, as a refusal must not depend on it, and the other members are
// ignored; of a member that occurs twice both count.
func ReadSuitability(value string) (s Suitability) {
	if value == "" || value == "null" {
		return s
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
		called := name.String() // before the next read
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

// ageOf reads an age. What cannot be read is a child's.
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

// and is the age of a reader of whom two ages are stated: the lower one.
func (a Age) and(b Age) Age {
	if a == AgeUnknown || b != AgeUnknown && b < a {
		return b
	}
	return a
}

// flags reads a list of texts; one text is a list of one.
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
		s.unknown(shownFlag(name))
	}
}

// unknown notes the first flag that names no subject.
func (s *Stated) unknown(name string) {
	if s.Unknown == "" {
		s.Unknown = name
	}
}

// shownFlag is a flag's name as it is counted and shown: at most [subject.MaxFlag] bytes, in which
// everything but letters, digits and marks of ASCII is a question mark. A publisher who sends its
// readers' words as flags by mistake is not kept word for word.
func shownFlag(name string) string {
	shown := make([]byte, 0, subject.MaxFlag)
	for _, c := range name {
		if len(shown) == subject.MaxFlag {
			break
		}
		if c <= ' ' || c > '~' || strings.ContainsRune("<>&\"'`\\", c) {
			c = '?'
		}
		shown = append(shown, byte(c))
	}
	return string(shown)
}

// UnmarshalJSONFrom reads any value.
func (s *Suitability) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	if err == nil {
		*s = ReadSuitability(string(value))
	}
	return err
}

// Scan reads the field of a plain body; in declines what the general decoder must read.
func (s *Suitability) Scan(in *jsonscan.Reader) { *s = ReadSuitability(in.Raw()) }

// With adds what another part of the request states: all flags count, and the lower age.
func (s Stated) With(other Stated) Stated {
	s.unknown(other.Unknown)
	s.Flags |= other.Flags
	s.Age = s.Age.and(other.Age)
	s.Forgetful = s.Forgetful || other.Forgetful
	return s
}

// flagged counts the unknown flag of a, where it has one.
func (s *Seller) flagged(a *Auction) {
	if a.Judged.unknown != "" && s.deps.Flags != nil && a.Place.Developer != uuid.Nil {
		s.deps.Flags.Unknown(a.Place.Developer, a.Judged.unknown, a.Asked)
	}
}
