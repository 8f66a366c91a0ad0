// Package ranking defines the versions of a network's learnt weights and the stages that lead them
// to decide auctions.
package ranking

import (
	"slices"
	"time"

	"adnet/internal/errs"
)

// Stage is the stage of a version of weights.
type Stage string

// The stages, in their order. At any time at most one version is on trial ([Shadow], [Part], [All])
// and at most one is [Live].
const (
	// Refused weights never decide anything; the report has the reason.
	Refused Stage = "refused"
	// Shadow weights score every auction and decide none.
	Shadow Stage = "shadow"
	// Part decides [PartShare] of all auctions.
	Part Stage = "part"
	// All decides every auction. The version before stays in each node's memory, so that a rollback
	// costs nothing.
	All Stage = "all"
	// Live weights preceded the ones on trial; they decide all other auctions.
	Live Stage = "live"
	// Retired weights were live.
	Retired Stage = "retired"
)

// Shares of auctions, in parts per million.
const (
	PartShare = 50_000
	AllShare  = 1_000_000
)

// Share returns the part of all auctions decided by weights on trial, in parts per million.
func (s Stage) Share() uint32 {
	switch s {
	case Part:
		return PartShare
	case All:
		return AllShare
	}
	return 0 // shadow weights decide none
}

// OnTrial reports whether the version is the one on trial.
func (s Stage) OnTrial() bool { return s == Shadow || s == Part || s == All }

// Next returns the stage after a good day.
func (s Stage) Next() Stage {
	switch s {
	case Shadow:
		return Part
	case Part:
		return All
	}
	return s
}

// Version is one version of the weights of a network. Times are UTC.
type Version struct {
	Number  int64
	Stage   Stage
	MadeAt  time.Time
	StageAt time.Time // start of its stage
	Report  []byte    // JSON: basis of the last judgement
	Data    []byte    // see train.Encode; nil in lists
}

// State is the state that nodes follow. A number is 0 where there is no version: the first day's
// weights then take the place of the live ones.
type State struct {
	Live  int64
	Trial int64
	Stage Stage // of the trial
}

// StateOf returns the state of a list of versions.
func StateOf(versions []Version) (s State) {
	for _, v := range versions {
		switch {
		case v.Stage.OnTrial():
			s.Trial, s.Stage = v.Number, v.Stage
		case v.Stage == Live:
			s.Live = v.Number
		}
	}
	return s
}

// Retained is the number of stored versions, beside those that nodes follow.
const Retained = 100

// Dropped reports whether v is dropped once newest is the newest version.
func (v *Version) Dropped(newest int64) bool {
	return v.Number <= newest-Retained && (v.Stage == Refused || v.Stage == Retired)
}

// ErrUnknown reports a version that is not stored.
var ErrUnknown = errs.New(errs.NotFound, "no such version of weights")

// Move is a change of stage. A report replaces that of the version; nil keeps it.
type Move struct {
	Number int64
	To     Stage
	Report []byte
}

// Begin returns the moves that put a new version on trial: a trial in stage All becomes live. An
// unfinished trial stays, and the new version has to wait.
func Begin(versions []Version, number int64) ([]Move, error) {
	var moves []Move
	for _, v := range versions {
		switch {
		case v.Stage == Shadow || v.Stage == Part:
			return nil, errs.New(errs.InvalidState, "version %d is on trial", v.Number)
		case v.Stage == All:
			moves = append(moves, Move{Number: v.Number, To: Live})
			for _, old := range versions {
				if old.Stage == Live {
					moves = append(moves, Move{Number: old.Number, To: Retired})
				}
			}
		}
	}
	return append(moves, Move{Number: number, To: Shadow}), nil
}

// Rollback returns the moves back to the previous weights: a deciding trial ends. Without one, the
// live version is replaced by the newest retired one, or by the first day's weights, and a trial in
// the shadow ends with it. Errors: errs.InvalidState when the first day's weights decide already.
func Rollback(versions []Version) ([]Move, error) {
	s := StateOf(versions)
	var moves []Move
	if s.Trial != 0 {
		moves = append(moves, Move{Number: s.Trial, To: Refused})
	}
	switch {
	case s.Stage.Share() > 0, s.Trial != 0 && s.Live == 0:
		return moves, nil
	case s.Live == 0:
		return nil, errs.New(errs.InvalidState, "no learnt weights decide auctions: there is nothing to roll back")
	}
	moves = append(moves, Move{Number: s.Live, To: Refused})
	var retired []int64
	for _, v := range versions {
		if v.Stage == Retired {
			retired = append(retired, v.Number)
		}
	}
	if len(retired) > 0 {
		moves = append(moves, Move{Number: slices.Max(retired), To: Live})
	}
	return moves, nil
}

// Check reports whether moves keep a store's invariants: existing versions, at most one on trial,
// and at most one live. Errors: [ErrUnknown], errs.Conflict.
func Check(versions []Version, moves []Move) error {
	after := map[int64]Stage{}
	for _, v := range versions {
		after[v.Number] = v.Stage
	}
	for _, m := range moves {
		if _, there := after[m.Number]; !there {
			return ErrUnknown
		}
		after[m.Number] = m.To
	}
	trials, live := 0, 0
	for _, stage := range after {
		if stage.OnTrial() {
			trials++
		}
		if stage == Live {
			live++
		}
	}
	if trials > 1 || live > 1 {
		return errs.New(errs.Conflict, "%d versions on trial and %d live: at most one of each", trials, live)
	}
	return nil
}

// LeavingFirst orders moves so that no two versions share a place in between.
func LeavingFirst(moves []Move) []Move {
	return slices.SortedStableFunc(slices.Values(moves), func(a, b Move) int { return a.To.place() - b.To.place() })
}

// place orders moves: none, live, on trial.
func (s Stage) place() int {
	switch {
	case s.OnTrial():
		return 2
	case s == Live:
		return 1
	}
	return 0
}
