package train

import (
	"bytes"
	"compress/flate"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"adnet/auction/ranker"
)

// mostBytes is the maximum size of unpacked weights.
const mostBytes = 256 << 20

// stored is the storage form of weights: sorted, so that equal weights give equal bytes.
type stored struct {
	Version int64
	Clicks  []int64
	IDs     [][16]byte
	Lessons [][]ranker.Lesson
	// Sorted as well.
	Explored    []uint64
	Advertisers [][16]byte
	// Network is the rate of conversions and View the probability of a view, in ppm; 0 is not learnt.
	Network, View int64
}

// Encode encodes weights for the store.
func Encode(l *ranker.Learnt) ([]byte, error) {
	s := stored{Version: l.Version}
	for _, p := range l.Clicks {
		s.Clicks = append(s.Clicks, int64(p))
	}
	for id := range l.Campaigns {
		s.IDs = append(s.IDs, id)
	}
	slices.SortFunc(s.IDs, compareIDs)
	s.Explored, s.Advertisers = slices.Sorted(maps.Keys(l.Explored)), slices.SortedFunc(
		maps.Keys(l.Advertisers), compareIDs,
	)
	for _, id := range s.IDs {
		s.Lessons = append(s.Lessons, l.Campaigns[id])
	}
	s.Network, s.View = int64(l.Conversions), int64(l.View)
	var out bytes.Buffer
	packed, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	if err := gob.NewEncoder(packed).Encode(s); err != nil {
		return nil, err
	}
	err = packed.Close()
	return out.Bytes(), err
}

func compareIDs(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) }

// Decode decodes the output of [Encode]. It returns an error if the data is damaged or not a table
// that auctions can use.
func Decode(data []byte) (*ranker.Learnt, error) {
	var s stored
	if err := gob.NewDecoder(io.LimitReader(flate.NewReader(bytes.NewReader(data)), mostBytes)).Decode(&s); err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	if len(s.Clicks) != ranker.Knots || len(s.IDs) != len(s.Lessons) || s.Version < 1 {
		return nil, errors.New("weights: not in the format of this version")
	}
	l := &ranker.Learnt{
		Version: s.Version, Campaigns: make(map[[16]byte][]ranker.Lesson, len(s.IDs)), Explored: set(s.Explored),
		Advertisers: set(s.Advertisers),
	}
	for i, p := range s.Clicks {
		l.Clicks[i] = ranker.PPM(p)
		if p < 1 || ranker.PPM(p) > ranker.Certain || i > 0 && p < s.Clicks[i-1] {
			return nil, errors.New("weights: a click probability is out of bounds or decreases with relevance")
		}
	}
	for i, id := range s.IDs {
		for _, lesson := range s.Lessons[i] {
			if size(lesson.By) > int32(ranker.Full) {
				return nil, errors.New("weights: a lesson is out of bounds")
			}
		}
		l.Campaigns[id] = s.Lessons[i]
	}
	l.Conversions = ranker.PPM(s.Network)
	if s.Network != 0 && (l.Conversions < ranker.LeastRate || l.Conversions > ranker.MostRate) {
		return nil, errors.New("weights: the conversion rate is out of bounds")
	}
	if l.View = ranker.PPM(s.View); s.View != 0 && (l.View < ranker.LeastView || l.View > ranker.Certain) {
		return nil, errors.New("weights: the probability of a view is out of bounds")
	}
	return l, nil
}

func set[K comparable](list []K) map[K]bool {
	of := make(map[K]bool, len(list))
	for _, k := range list {
		of[k] = true
	}
	return of
}
