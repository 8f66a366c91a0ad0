package demo

import (
	"sync"

	"github.com/google/uuid"

	"adnet/internal/account"
)

// Marks lists the accounts of the demo. Their passwords are public, and their history never
// happened, so rules that compare accounts do not compare them with others. It is safe for
// concurrent use; a nil one is empty.
type Marks struct {
	mu    sync.Mutex
	users []account.User
}

func (m *Marks) add(u account.User) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.users = append(m.users, u)
}

// Accounts returns the ids of the accounts.
func (m *Marks) Accounts() []uuid.UUID {
	return m.ids(func(u *account.User) uuid.UUID { return u.ID })
}

// Developers returns their ids as publishers.
func (m *Marks) Developers() []uuid.UUID {
	return m.ids(func(u *account.User) uuid.UUID { return u.DeveloperID })
}

func (m *Marks) ids(of func(*account.User) uuid.UUID) (ids []uuid.UUID) {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.users {
		ids = append(ids, of(&m.users[i]))
	}
	return ids
}
