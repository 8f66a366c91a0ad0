package campaign

import (
	"time"

	"github.com/google/uuid"
)

// SessionKey identifies one UTC day of one session of a publisher. It is a keyed hash from
// token.Keyring, so that the session's id is not passed on. The zero value identifies none.
type SessionKey [16]byte

// ExposureKind is the kind of an event in a session.
type ExposureKind uint8

// The kinds.
const (
	Decided   ExposureKind = iota + 1 // an ad was chosen for the session
	Confirmed                         // the ad's impression arrived
	Turned                            // a turn of the conversation was counted
)

// Exposure is a report about a session to the frequency caps of all nodes. A decision and its
// confirmation have the same Auction, so repeating either changes nothing.
type Exposure struct {
	Kind     ExposureKind
	Session  SessionKey
	Day      int32 // UTC, days since 1970-01-01
	Auction  uuid.UUID
	Campaign uuid.UUID
	Until    time.Time // when an unconfirmed decision stops counting; whole seconds
	Turn     uint16    // of the conversation at the decision, 0 when unknown
}
