package auditlog

import (
	"maps"

	"github.com/google/uuid"
)

// deciders are the names under which changes and objects in them hold the account of a decider.
var deciders = []string{"reviewer_id", "decided_by", "set_by", "by"}

// ForOwner returns e as the owner of an account reads it: of another's change it has the role and
// the channel, but neither account, name, network nor request. Owners read the administrator's
// reason, not the name. e stays unchanged.
func (e Entry) ForOwner(owner uuid.UUID) Entry {
	a := e.Actor
	other := a.AccountID != uuid.Nil && a.AccountID != owner
	if other || a.Via == CLI {
		e.Actor = Actor{Role: a.Role, Via: a.Via, Action: a.Action}
	}
	changes := make(map[string]Change, len(e.Changes))
	for field, c := range e.Changes {
		changes[field] = Change{Before: unnamed(c.Before, owner), After: unnamed(c.After, owner)}
	}
	e.Changes = changes
	for _, name := range deciders {
		if c, is := changes[name]; is && (foreign(c.Before, owner) || foreign(c.After, owner)) {
			delete(changes, name)
		}
	}
	return e
}

// unnamed returns a value without the deciders in it. Entries that were read hold JSON values.
func unnamed(value any, owner uuid.UUID) any {
	object, is := value.(map[string]any)
	if !is {
		return value
	}
	object = maps.Clone(object)
	for _, name := range deciders {
		if foreign(object[name], owner) {
			delete(object, name)
		}
	}
	return object
}

// foreign reports whether a value is the id of another account.
func foreign(value any, owner uuid.UUID) bool {
	text, is := value.(string)
	if !is {
		return false
	}
	id, err := uuid.Parse(text)
	return err == nil && id != owner
}
