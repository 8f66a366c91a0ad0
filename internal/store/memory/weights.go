package memory

import (
	"context"
	"slices"
	"time"

	"adnet/internal/compliance/auditlog"
	"adnet/internal/ranking"
)

// WeightState returns the state that nodes follow.
func (s *Weights) WeightState(context.Context) (ranking.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ranking.StateOf(s.weights), nil
}

// WeightData returns an encoded version. Errors: errs.NotFound.
func (s *Weights) WeightData(_ context.Context, number int64) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.weights {
		if v.Number == number {
			return slices.Clone(v.Data), nil
		}
	}
	return nil, ranking.ErrUnknown
}

// WeightVersions lists the newest versions, newest first, without their data.
func (s *Weights) WeightVersions(_ context.Context, limit int) ([]ranking.Version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listWeights(limit), nil
}

func (s *core) listWeights(limit int) (list []ranking.Version) {
	for _, v := range slices.Backward(s.weights) {
		if len(list) == limit {
			break
		}
		v.Report, v.Data = slices.Clone(v.Report), nil
		list = append(list, v)
	}
	return list
}

// AddWeights stores a new version, refused at first; encode encodes it with its number.
func (s *Weights) AddWeights(
	_ context.Context, at time.Time, report []byte, encode func(number int64) ([]byte, error),
) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	number := int64(1)
	if n := len(s.weights); n > 0 {
		number = s.weights[n-1].Number + 1
	}
	data, err := encode(number)
	if err != nil {
		return 0, err
	}
	s.weights = append(s.weights, ranking.Version{
		Number: number, Stage: ranking.Refused, MadeAt: asStored(at), StageAt: asStored(at),
		Report: slices.Clone(report), Data: slices.Clone(data),
	})
	s.weights = slices.DeleteFunc(s.weights, func(v ranking.Version) bool { return v.Dropped(number) })
	return number, nil
}

// MoveWeights applies the moves that decide returns for the existing versions, all or none.
func (s *Weights) MoveWeights(
	ctx context.Context, at time.Time, decide func([]ranking.Version) ([]ranking.Move, error),
) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	moves, err := decide(s.listWeights(ranking.Retained))
	if err == nil {
		err = ranking.Check(s.weights, moves)
	}
	if err != nil || len(moves) == 0 {
		return err
	}
	if err := s.record(ctx, auditlog.OfWeights(moves)); err != nil {
		return err
	}
	for _, m := range moves {
		for i := range s.weights {
			if v := &s.weights[i]; v.Number == m.Number {
				v.Stage, v.StageAt = m.To, asStored(at)
				if m.Report != nil {
					v.Report = slices.Clone(m.Report)
				}
			}
		}
	}
	return nil
}
