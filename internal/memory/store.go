// Package memory implements the stores of the in-memory mode: it keeps in the process the data that
// internal/postgres keeps in a database. Everything is lost when the process ends.
//
// Contract: one mutex makes every method atomic; values are copied in and out, so nothing that a
// caller holds is shared with the store. Functions that a caller hands in (edit, Admit) run under
// the mutex: they must be quick and must not call the store. Contexts are not looked at, no method
// waits for anything but the mutex. internal/storetest holds this store and the database to the
// same promises.
package memory

import (
	"sync"
	"time"

	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/auditlog"
	"adnet/internal/decision"
	"adnet/internal/ledger"
	"adnet/internal/once"
	"adnet/internal/ranking"
)

// Store is the in-memory store. It is safe for concurrent use.
type Store struct {
	now func() time.Time

	mu      sync.Mutex // guards everything below
	users   map[uuid.UUID]account.User
	byEmail map[string]uuid.UUID // by lower-case e-mail
	// seatOwners has the developer id of the owner by that of the seat.
	seatOwners map[uuid.UUID]uuid.UUID
	networks   map[userNetwork]time.Time // of good logins
	sessions   map[uuid.UUID]account.Session
	factors    map[uuid.UUID]account.Factor // by account
	blocks     map[uuid.UUID]account.Blocks // of publishers, by user
	publishing map[uuid.UUID]account.Publishing
	links      map[[32]byte]account.Link
	keys       map[uuid.UUID]account.Key
	byHash     map[[32]byte]uuid.UUID
	campaigns  map[uuid.UUID]*kept
	owned      map[uuid.UUID][]*kept // by advertiser, oldest first
	byAge      []*kept               // oldest first
	head       int64                 // the last config version given
	changes    []versioned           // by version; see changesSince
	ledger     ledgerState
	journal    journal
	payments   depositState
	auditLog   []auditlog.Entry          // oldest first
	decisions  []*decision.Statement     // oldest first
	reports    map[uuid.UUID]*keptReport // by auction
	attempts   map[once.ID]*attempt
	unproven   map[unprovenKey]int64
	weights    []ranking.Version // by number
	goals      map[uuid.UUID][]byte

	verifications []ledger.Verification // oldest first
}

// New makes an empty store that reads the time from now.
func New(now func() time.Time) *Store {
	return &Store{
		now:        now,
		reports:    make(map[uuid.UUID]*keptReport),
		users:      make(map[uuid.UUID]account.User),
		byEmail:    make(map[string]uuid.UUID),
		seatOwners: make(map[uuid.UUID]uuid.UUID),
		networks:   make(map[userNetwork]time.Time),
		sessions:   make(map[uuid.UUID]account.Session),
		factors:    make(map[uuid.UUID]account.Factor), blocks: make(map[uuid.UUID]account.Blocks),
		publishing: make(map[uuid.UUID]account.Publishing),
		links:      make(map[[32]byte]account.Link),
		keys:       make(map[uuid.UUID]account.Key),
		byHash:     make(map[[32]byte]uuid.UUID),
		campaigns:  make(map[uuid.UUID]*kept),
		owned:      make(map[uuid.UUID][]*kept),
		head:       1, // as in PostgreSQL: 0 means that no catalog exists
		ledger:     newLedgerState(),
		payments:   newDepositState(),
		attempts:   make(map[once.ID]*attempt),
		unproven:   make(map[unprovenKey]int64),
		goals:      make(map[uuid.UUID][]byte),
	}
}

// clock is the time as a database would keep it: UTC, microseconds.
func (s *Store) clock() time.Time { return asStored(s.now()) }

// asStored cuts a time to UTC and microseconds, as PostgreSQL does; the zero time stays zero.
func asStored(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
