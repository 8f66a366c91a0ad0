package account

import (
	"cmp"

	"adnet/internal/errs"
)

// Side is the side of the market that an account is for, as its owner stated it. It grants and
// forbids nothing: the console shows this side first.
type Side string

// The sides.
const (
	Advertise Side = "advertise"
	Publish   Side = "publish"
	Both      Side = "both" // also of accounts that never stated one, see [User.Sides]
)

// ReadSide reads a side. Empty text is [Both]. field is its name in errors. Errors:
// errs.InvalidRequest.
func ReadSide(field string, text Side) (Side, error) {
	switch text {
	case Advertise, Publish, Both:
		return text, nil
	case "":
		return Both, nil
	}
	return "", errs.New(errs.InvalidRequest, "%s must be advertise, publish or both", field).With("field", field)
}

// Sides returns the side of u.
func (u *User) Sides() Side { return cmp.Or(u.Side, Both) }
