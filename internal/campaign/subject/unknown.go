package subject

import "time"

// MaxUnknown is the number of unknown flags stored per publisher, and OtherFlags the name under
// which all further ones are counted.
const (
	MaxUnknown = 20
	OtherFlags = "(other)"
)

// Unknown is a publisher's flag that [Flag] does not know.
type Unknown struct {
	Name   string    `json:"name"` // in displayable form: short, and ASCII
	Count  int64     `json:"count"`
	LastAt time.Time `json:"last_at"`
}

// KnownFlags lists all flags: the categories of [Services], and our own subjects as those of adnet.
func KnownFlags() []Service {
	own := Service{Name: "adnet"}
	for i := range All {
		own.Flags = append(own.Flags, Known{All[i].Name, SetOf(All[i].ID)})
	}
	return append([]Service{own}, Services...)
}
