// Package memory implements the stores of the in-memory mode: it holds in the process the data that
// internal/store/postgres stores in a database. Everything is lost when the process ends.
//
// Contract: one mutex makes every method atomic. Values are copied in and out, so callers share
// nothing with the store. Functions passed by a caller (edit, Admit) run under the mutex: they must
// be fast and must not call the store. Contexts are ignored, since methods wait for nothing but the
// mutex. internal/store/storetest tests this store and the database for the same promises.
package memory

import (
	"sync"
	"time"

	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/compliance/decision"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/once"
	"adnet/internal/outbound/outbox"
	"adnet/internal/outbound/webhook"
	"adnet/internal/ranking"
)

// core is the state that all stores share.
type core struct {
	now func() time.Time

	mu      sync.Mutex // guards everything below
	users   map[uuid.UUID]account.User
	byEmail map[string]uuid.UUID // by lower-case e-mail
	// publishers maps a developer id to its account; that of a seat to the account of its owner.
	publishers map[uuid.UUID]uuid.UUID
	networks   map[userNetwork]time.Time // of good logins
	sessions   map[uuid.UUID]account.Session
	factors    map[uuid.UUID]account.Factor // by account
	blocks     map[uuid.UUID]account.Blocks // of publishers, by user
	publishing map[uuid.UUID]account.Publishing
	links      map[[32]byte]account.Link
	keys       map[uuid.UUID]account.Key
	byHash     map[[32]byte]uuid.UUID
	campaigns  map[uuid.UUID]*stored
	owned      map[uuid.UUID][]*stored // by advertiser, oldest first
	byAge      []*stored               // oldest first
	head       int64                   // the last config version given
	changes    []versioned             // by version; see changesSince
	ledger     ledgerState
	journal    journal
	payments   depositState
	auditLog   []auditlog.Entry          // oldest first
	decisions  []*decision.Statement     // oldest first
	reports    map[uuid.UUID]*keptReport // by auction
	attempts   map[once.ID]*attempt
	unproven   map[unprovenKey]int64
	families   familyState
	weights    []ranking.Version // by number
	goals      map[uuid.UUID][]byte
	votes      map[uuid.UUID]int64 // of publishers, by developer id
	ceiling    money.Micros        // the newest of a standing
	endpoints  map[uuid.UUID]webhook.Endpoint
	outbox     []*outbox.Message // oldest first
	notices    noticeState

	verifications []ledger.Verification // oldest first
}

// New returns empty stores that read the time from now.
func New(now func() time.Time) *Stores {
	return newStores(&core{
		now:        now,
		reports:    make(map[uuid.UUID]*keptReport),
		users:      make(map[uuid.UUID]account.User),
		byEmail:    make(map[string]uuid.UUID),
		publishers: make(map[uuid.UUID]uuid.UUID),
		networks:   make(map[userNetwork]time.Time),
		sessions:   make(map[uuid.UUID]account.Session),
		factors:    make(map[uuid.UUID]account.Factor), blocks: make(map[uuid.UUID]account.Blocks),
		publishing: make(map[uuid.UUID]account.Publishing),
		links:      make(map[[32]byte]account.Link),
		keys:       make(map[uuid.UUID]account.Key),
		byHash:     make(map[[32]byte]uuid.UUID),
		campaigns:  make(map[uuid.UUID]*stored),
		owned:      make(map[uuid.UUID][]*stored),
		head:       1, // as in PostgreSQL: 0 means that no catalog exists
		ledger:     newLedgerState(),
		payments:   newDepositState(),
		attempts:   make(map[once.ID]*attempt),
		unproven:   make(map[unprovenKey]int64),
		families:   newFamilyState(),
		goals:      make(map[uuid.UUID][]byte),
		endpoints:  make(map[uuid.UUID]webhook.Endpoint),
		notices:    newNoticeState(),
	})
}

// clock returns the time in the precision of a database: UTC, microseconds.
func (s *core) clock() time.Time { return asStored(s.now()) }

// asStored converts a time to UTC and microseconds, like PostgreSQL; the zero time stays zero.
func asStored(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
