package subject

import "time"

// MaxUnknown is how many names of unknown flags are kept of a publisher, and OtherFlags is the one
// name that all further ones are counted under.
const (
	MaxUnknown = 20
	OtherFlags = "(other)"
)

// Unknown is a flag that a publisher sends and that [Flag] does not know.
type Unknown struct {
	Name   string    `json:"name"` // as it may be shown: short, and ASCII
	Count  int64     `json:"count"`
	LastAt time.Time `json:"last_at"`
}

// KnownFlags are all flags: the categories of [Services], and our own subjects as those of adnet.
func KnownFlags() []Service {
	own := Service{Name: "adnet"}
	for i := range All {
		own.Flags = append(own.Flags, Known{All[i].Name, SetOf(All[i].ID)})
	}
	return append([]Service{own}, Services...)
}
