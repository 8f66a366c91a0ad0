package settle

import "time"

// SweepEvery sets the time between two looks for early events while the log is silent.
func (s *Settler) SweepEvery(d time.Duration) { s.sweep = d }
