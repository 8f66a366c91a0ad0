package lifecycle

import "sync"

// Listener is the part of a server inside the process that starts once and then has an address. It
// is safe for concurrent use.
type Listener struct {
	ready chan struct{} // closed by Start
	mu    sync.Mutex
	addr  string
}

// NewListener returns a listener that has not started.
func NewListener() *Listener { return &Listener{ready: make(chan struct{})} }

// StartOnce calls listen, which returns host:port. After the first success it does nothing.
func (l *Listener) StartOnce(listen func() (addr string, err error)) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.addr != "" {
		return nil
	}
	if l.addr, err = listen(); err != nil {
		return err
	}
	close(l.ready)
	return nil
}

// Addr returns host:port, or an empty string before the start.
func (l *Listener) Addr() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.addr
}

// Ready returns a channel that is closed when Addr is known.
func (l *Listener) Ready() <-chan struct{} { return l.ready }
