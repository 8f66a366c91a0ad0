package mail

import (
	"slices"
	"strings"
	"sync"
	"time"

	"adnet/internal/account"
	"adnet/internal/compliance/adtext"
)

// The places of letters that wait for a sender or for another try, and the senders that may work
// for a domain at once.
const (
	places        = 512
	domainPlaces  = 64 // of recipients
	networkPlaces = 16 // of callers
	domainSenders = 2
)

// waiting is a letter in the queue. It keeps its place while a sender works on it.
type waiting struct {
	account.Letter
	domain  string    // registrable domain of the recipient
	due     time.Time // of the next try
	tries   int
	order   uint64 // of arrival
	running bool
}

// queue holds the letters that are not sent yet. Its size is bounded, so all operations look at each
// letter.
type queue struct {
	mu      sync.Mutex
	letters []*waiting
	order   uint64
	served  map[string]uint64 // by network with letters here: number of its latest turn
	turn    uint64
	wake    chan struct{} // has an element when a sleeping sender should look again
}

func newQueue() *queue {
	return &queue{served: make(map[string]uint64), wake: make(chan struct{}, 1)}
}

// dropped is a letter that got or kept no place, and the full scope.
type dropped struct {
	*waiting
	scope string
}

// add gives l a place and returns the letters that got or kept none. A full scope (a caller's
// network, a recipient's domain, all letters) loses a letter of the network that has the most there,
// so a caller with many letters never takes the place of one with few.
func (q *queue) add(l account.Letter, now time.Time) (lost []dropped) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.order++
	w := &waiting{Letter: l, domain: domainOf(l.To), due: now, order: q.order}
	for _, s := range []struct {
		name   string
		places int
		member func(*waiting) bool
	}{
		{"network", networkPlaces, func(o *waiting) bool { return l.Network != "" && o.Network == l.Network }},
		{"domain", domainPlaces, func(o *waiting) bool { return o.domain == w.domain }},
		{"all", places, func(*waiting) bool { return true }},
	} {
		loser := q.loser(w, s.places, s.member)
		if loser == nil {
			continue
		}
		lost = append(lost, dropped{loser, s.name})
		if loser == w {
			return lost
		}
		q.remove(loser)
	}
	q.letters = append(q.letters, w)
	q.signal()
	return lost
}

// loser returns the letter that must leave a full scope, w included; nil if there is a place.
func (q *queue) loser(w *waiting, limit int, member func(*waiting) bool) *waiting {
	inside := make([]*waiting, 0, limit)
	count := map[string]int{w.Network: 1}
	for _, o := range q.letters {
		if member(o) {
			inside = append(inside, o)
			count[o.Network]++
		}
	}
	if len(inside) < limit {
		return nil
	}
	count[""] = 1 // adnet's own letters are asked for by no stranger
	lost := w
	for _, o := range inside {
		switch more := count[o.Network] - count[lost.Network]; {
		case o.running, more < 0:
		case more > 0, lost.Urgent && !o.Urgent, lost.Urgent == o.Urgent && o.order > lost.order:
			lost = o
		}
	}
	return lost
}

// next returns the letter whose turn it is and marks it running. Without one it returns the time
// until the next is due, zero if none waits for a time. Urgent letters go first, then those of the
// network whose latest turn is longest ago. At once a domain has two senders and a network has one, so that
// a slow server or a flood leaves senders to others.
func (q *queue) next(now time.Time) (w *waiting, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	busy, networks := map[string]int{}, map[string]bool{}
	for _, o := range q.letters {
		if o.running {
			busy[o.domain]++
			networks[o.Network] = o.Network != ""
		}
	}
	for _, o := range q.letters {
		switch {
		case o.running, busy[o.domain] >= domainSenders, networks[o.Network]:
		case o.due.After(now):
			if left := o.due.Sub(now); wait == 0 || left < wait {
				wait = left
			}
		case w == nil || q.before(o, w):
			w = o
		}
	}
	if w == nil {
		return nil, wait
	}
	q.turn++
	w.running, q.served[w.Network] = true, q.turn
	q.signal() // another sender looks for more
	return w, 0
}

func (q *queue) before(a, b *waiting) bool {
	if a.Urgent != b.Urgent {
		return a.Urgent
	}
	if x, y := q.served[a.Network], q.served[b.Network]; x != y {
		return x < y
	}
	return a.order < b.order
}

// again puts a running letter back until a time.
func (q *queue) again(w *waiting, due time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w.running, w.due = false, due
	q.signal()
}

// done removes a letter.
func (q *queue) done(w *waiting) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.remove(w)
	q.signal()
}

func (q *queue) remove(w *waiting) {
	same := func(o *waiting) bool { return o.Network == w.Network }
	q.letters = slices.DeleteFunc(q.letters, func(o *waiting) bool { return o == w })
	if !slices.ContainsFunc(q.letters, same) {
		delete(q.served, w.Network) // bounds the map by the letters
	}
}

// drain removes all letters and returns their number.
func (q *queue) drain() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.letters)
	q.letters = nil
	clear(q.served)
	return n
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// domainOf returns the domain that the owner of the recipient's mail server registered: its
// subdomains share one bound.
func domainOf(address string) string {
	host := strings.ToLower(address[strings.LastIndexByte(address, '@')+1:])
	if registered := adtext.Registrable(host); registered != "" {
		return registered
	}
	return host
}
