package day

import (
	"time"

	"github.com/google/uuid"
)

// milliseconds returns the Unix time in the first 48 bits of a UUIDv7 (RFC 9562, section 5.7), and
// false for any other id.
func milliseconds(id uuid.UUID) (int64, bool) {
	if id.Version() != 7 {
		return 0, false
	}
	return int64(id[0])<<40 | int64(id[1])<<32 | int64(id[2])<<24 | int64(id[3])<<16 | int64(id[4])<<8 | int64(id[5]),
		true
}

// TimeOfUUID returns the time inside a UUIDv7, in whole milliseconds, UTC. For any other id it
// returns the zero time and false.
func TimeOfUUID(id uuid.UUID) (time.Time, bool) {
	ms, dated := milliseconds(id)
	if !dated {
		return time.Time{}, false
	}
	return time.UnixMilli(ms).UTC(), true
}

// OfUUID returns the UTC day inside a UUIDv7. It returns day 0 for any other id, so that an id
// without a time still has a fixed day.
func OfUUID(id uuid.UUID) Day {
	ms, _ := milliseconds(id)
	return Day(ms / 86_400_000)
}

// MinuteOfUUID returns the UTC minute inside a UUIDv7, and false for any other id.
func MinuteOfUUID(id uuid.UUID) (Minute, bool) {
	ms, dated := milliseconds(id)
	return Minute(ms / 60_000), dated
}
