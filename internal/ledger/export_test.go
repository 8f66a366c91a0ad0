package ledger

// SetStored makes r a record that was early in an earlier batch.
func SetStored(r *Record) { r.stored = true }

// IsEarly reports whether [Batch.Screen] made r wait.
func IsEarly(r *Record) bool { return r.early }
