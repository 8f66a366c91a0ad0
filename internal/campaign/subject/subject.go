// Package subject is the closed list of subjects that decide whether an ad fits a conversation:
// subjects that exclude every ad, and sensitive ones, which permit an ad only if publisher and
// campaign both allow the subject.
//
// Everything that names a subject (rules, flags, settings, stats, documents, openapi.json) derives
// from [All].
package subject

import (
	"encoding/json"
	"iter"
	"math/bits"
)

// ID is a subject of the closed list. The zero value is [None].
type ID uint8

// Tier is the effect of a subject on an ad.
type Tier uint8

// The tiers.
const (
	Ordinary  Tier = iota // nothing
	Sensitive             // an ad only if publisher and campaign allow the subject
	Never                 // no ad
)

// String returns the tier's name in APIs: "never", "sensitive", or "ordinary".
func (t Tier) String() string { return [...]string{"ordinary", "sensitive", "never"}[t] }

// The subjects. Those of [Never] are in the order of urgency: of two, the first is reported.
const (
	None ID = iota
	Suicide
	SelfHarm
	EatingDisorder
	Overdose
	Emergency
	Abuse
	Minors
	Child
	Distress
	Violence
	Weapons
	Crime
	Extremism
	Hate
	Sexual

	Health
	MentalHealth
	Grief
	Addiction
	Religion
	Sexuality
	Politics
	Legal
	Debt
	Immigration
	Disasters
	Gambling
	Alcohol
	Tobacco
	Drugs

	count
)

// Subject describes one subject.
type Subject struct {
	ID       ID     `json:"-"`
	Name     string `json:"id"` // in APIs, settings and events
	Tier     Tier   `json:"tier"`
	Title    string `json:"title"`
	Means    string `json:"definition"`
	Example  string `json:"example"`
	GARM     string `json:"garm"` // category of the GARM brand safety floor and suitability framework
	Content  Codes  `json:"iab"`  // categories of the IAB's content taxonomies with the subject
	OfPerson bool   `json:"-"`    // personal data protected by GDPR Art. 9
}

// Codes holds ids of the IAB's content taxonomies, by version. A code stands for all below it.
type Codes struct {
	V1 []string `json:"content_1_0"`
	V2 []string `json:"content_2"`
	V3 []string `json:"content_3"`
}

// Of returns the description of id, which must be in the list.
func (id ID) Of() *Subject { return &All[id-1] }

// String returns the name of id, empty for [None].
func (id ID) String() string {
	if id == None || id >= count {
		return ""
	}
	return id.Of().Name
}

// Tier returns the tier of id; [Ordinary] for [None].
func (id ID) Tier() Tier {
	if id == None || id >= count {
		return Ordinary
	}
	return id.Of().Tier
}

// Parse returns the subject of a name; ok is false for a name outside the list.
func Parse(name string) (id ID, ok bool) {
	for i := range All {
		if All[i].Name == name {
			return All[i].ID, true
		}
	}
	return None, false
}

// Names returns the names of the subjects of a tier, in the order of the list.
func Names(tier Tier) (names []string) {
	for i := range All {
		if All[i].Tier == tier {
			names = append(names, All[i].Name)
		}
	}
	return names
}

// Set is a set of subjects.
type Set uint64

// SetOf returns the set of ids.
func SetOf(ids ...ID) (s Set) {
	for _, id := range ids {
		s |= 1 << id
	}
	return s &^ 1
}

// Has reports whether id is in s.
func (s Set) Has(id ID) bool { return s>>id&1 != 0 }

// First returns the member that comes first in the list, [None] of an empty set.
func (s Set) First() ID {
	if s == 0 {
		return None
	}
	return ID(bits.TrailingZeros64(uint64(s)))
}

// Members yields the members of s in the order of the list.
func (s Set) Members() iter.Seq[ID] {
	return func(yield func(ID) bool) {
		for ; s != 0; s &= s - 1 {
			if !yield(ID(bits.TrailingZeros64(uint64(s)))) {
				return
			}
		}
	}
}

// Names returns the names of the members, in the order of the list.
func (s Set) Names() []string {
	names := make([]string, 0, bits.OnesCount64(uint64(s)))
	for id := range s.Members() {
		names = append(names, id.String())
	}
	return names
}

// ParseSet returns the set of names; bad is the first name outside the list, or empty.
func ParseSet(names []string) (s Set, bad string) {
	for _, name := range names {
		id, ok := Parse(name)
		if !ok {
			return 0, name
		}
		s |= 1 << id
	}
	return s, ""
}

// MarshalJSON writes the names.
func (s Set) MarshalJSON() ([]byte, error) { return json.Marshal(s.Names()) }

// MarshalText writes the name of the tier.
func (t Tier) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// OfTier returns all subjects of a tier.
func OfTier(tier Tier) Set { return ofTier[tier] }

// ofTier is computed once: every judged text needs it.
var ofTier = func() (sets [Never + 1]Set) {
	for i := range All {
		sets[All[i].Tier] |= 1 << All[i].ID
	}
	return sets
}()
