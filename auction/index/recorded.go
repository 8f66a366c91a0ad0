package index

// Recorded appends up to most ids of terms of the query that campaigns contain; see
// [lexicon.Reader.Recorded]. It applies to the query started last.
func (s *Search) Recorded(dst []uint32, most int) []uint32 {
	if s.walks[0].seg == nil {
		return dst
	}
	return s.reader.Recorded(s.walks[0].seg.words, dst, most)
}
