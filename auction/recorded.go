package auction

// MaxRecorded is how many terms of a request are recorded with its outcome at most.
const MaxRecorded = 32

// Recorded appends the ids of the terms of the last auction's request that campaigns say, and of
// those that its other words look like, ascending and at most [MaxRecorded]; none of a special
// category. See lexicon.TermID.
func (s *Scratch) Recorded(dst []uint32) []uint32 { return s.search.Recorded(dst, MaxRecorded) }
