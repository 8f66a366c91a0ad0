package auction

// MaxRecorded is the maximum number of terms of a request recorded with its outcome.
const MaxRecorded = 32

// Recorded appends the ids of the terms in the last auction's request that campaigns contain, and
// of the terms that its other words resemble. The ids are ascending and at most [MaxRecorded]; none
// belongs to a special category. See lexicon.TermID.
func (s *Scratch) Recorded(dst []uint32) []uint32 { return s.search.Recorded(dst, MaxRecorded) }
