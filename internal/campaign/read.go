package campaign

import (
	"errors"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/jsonscan"
	"adnet/internal/money"
	"adnet/internal/money/share"
)

// record is a campaign as nodes read it.
type record struct {
	*Campaign
	Standing Standing `json:"standing,omitzero"`
}

// Record returns the JSON of c for [Read]: that of the API, and the standing.
func (c *Campaign) Record() ([]byte, error) { return json.Marshal(&record{c, c.Standing}) }

// Read parses text, the output of [Campaign.Record], into c. Strings of c share the memory of text.
// Text of another build with other fields is accepted as well, but parsed more slowly.
func Read(text string, c *Campaign) error {
	if c.readOwn(text) {
		return nil
	}
	return c.readAny(text)
}

func (c *Campaign) readAny(text string) error {
	*c = Campaign{}
	r := record{Campaign: c}
	err := json.Unmarshal([]byte(text), &r)
	c.Standing = r.Standing
	return err
}

// readOwn parses text in the form of this build, which is every campaign of a loading node
// (benchmark row start). It returns false for any other text. The fields are in the order of
// [Table].
func (c *Campaign) readOwn(text string) bool {
	in := jsonscan.Read(text)
	members := in.Members()
	for i := range Table {
		if f := &Table[i]; !f.OmitEmpty {
			readValue(members.Value(f.Name), f.At(c))
		} else if members.Next(f.Name) {
			readValue(&in, f.At(c))
		}
	}
	if members.Next("standing") {
		c.Standing = readStanding(&in)
	}
	if members.Next("seal") { // of a record in Redis; its reader has checked it
		in.Skip()
	}
	members.End()
	return in.Done()
}

// readValue reads the value of a field into at, the result of [Row.At].
func readValue(in *jsonscan.Reader, at any) {
	switch at := at.(type) {
	case *string:
		*at = in.Text()
	case *[]string:
		*at = in.Texts()
	case *money.Micros:
		*at = amount(in)
	case *int:
		*at = int(in.Whole())
	case *int64:
		*at = in.Whole()
	case *bool:
		*at = in.Bool()
	case *time.Time:
		*at = jsonscan.Parsed(in, in.Text(), parseTime)
	case *uuid.UUID:
		*at = jsonscan.Parsed(in, in.Text(), uuid.Parse)
	case *share.Share:
		*at = jsonscan.Parsed(in, in.Number(), share.Parse)
	case **time.Time:
		readOrNull(in, at)
	case **money.Micros:
		readOrNull(in, at)
	default:
		readObject(in, at)
	}
}

// readOrNull reads a value into a new variable, or null.
func readOrNull[T any](in *jsonscan.Reader, at **T) {
	if in.Peek() == 'n' {
		in.Skip()
		return
	}
	*at = new(T)
	readValue(in, *at)
}

func readObject(in *jsonscan.Reader, at any) {
	switch at := at.(type) {
	case *[]Violation:
		*at = readViolations(in)
	case **Review:
		*at = readReview(in)
	case **Creative:
		*at = new(Creative)
		v := in.Members()
		for i := range CreativeTable {
			f := &CreativeTable[i]
			readValue(v.Value(f.Name), f.At(*at))
		}
		v.End()
	case **DeliveryBound:
		b := in.Members()
		*at = &DeliveryBound{Bound(b.Value("reason").Text()), b.Value("cure").Text()}
		b.End()
	case *account.Sponsor:
		a := in.Members()
		at.Name, at.Verified = a.Value("name").Text(), a.Value("verified").Bool()
		a.End()
	default:
		in.Decline() // a type that only the general decoder reads
	}
}

var errOtherTime = errors.New("not a time in the form of this build")

// parseTime accepts only UTC, and none of the forms beyond RFC 3339 that [time.Parse] accepts: an
// hour of one digit, a decimal comma.
func parseTime(s string) (time.Time, error) {
	if len(s) < len("2006-01-02T15:04:05Z") || s[len("2006-01-02T15")] != ':' || s[len(s)-1] != 'Z' ||
		strings.Contains(s, ",") {
		return time.Time{}, errOtherTime
	}
	return time.Parse(time.RFC3339, s)
}

func readStanding(in *jsonscan.Reader) (s Standing) {
	f := in.Members()
	readValue(f.Value("family"), &s.Family)
	for _, at := range []struct {
		name string
		to   *int64
	}{{"vote", &s.Vote}, {"click_rate", &s.ClickRate}, {"convert_rate", &s.ConvertRate}} {
		if f.Next(at.name) {
			*at.to = in.Whole()
		}
	}
	if f.Next("ceiling") {
		s.Ceiling = amount(in)
	}
	if f.Next("bound") {
		s.Bound = Bound(in.Text())
	}
	f.End()
	return s
}

func amount(in *jsonscan.Reader) money.Micros { return jsonscan.Parsed(in, in.Number(), money.Parse) }

func readViolations(in *jsonscan.Reader) []Violation {
	list := []Violation{}
	in.Each(func() {
		v := in.Members()
		found := Violation{
			Rule: v.Value("rule").Text(), Field: v.Value("field").Text(), Message: v.Value("message").Text(),
		}
		if v.Next("holds") {
			found.Holds = in.Bool()
		}
		list = append(list, found)
		v.End()
	})
	return list
}

func readReview(in *jsonscan.Reader) *Review {
	r := in.Members()
	review := Review{Decision: r.Value("decision").Text()}
	if r.Next("notes") {
		review.Notes = in.Text()
	}
	readValue(r.Value("reviewer_id"), &review.ReviewerID)
	readValue(r.Value("at"), &review.At)
	if r.Next("creative") {
		review.Creative = in.Text()
	}
	r.End()
	return &review
}
