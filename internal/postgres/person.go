package postgres

import (
	"context"

	"adnet/internal/person"

	"github.com/google/uuid"
)

var _ person.Store = (*Store)(nil)

// Forget implements person.Store. The audit log is append only; the function that it calls is the
// one that may change rows of it, those of an erased account.
func (s *Store) Forget(ctx context.Context, id uuid.UUID) error {
	_, err := s.pool.Exec(ctx, `SELECT account_forget($1)`, id)
	return failure("forget account", err)
}
