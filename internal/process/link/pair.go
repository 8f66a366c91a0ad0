package link

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// lookEvery is the minimum interval between checks of the files of a [Pair]: a handshake in between
// costs no system call.
const lookEvery = time.Second

// Pair is a certificate with its key. It is read again when a file changes, so that a renewed
// certificate needs no restart; open connections keep their certificate. It is safe for concurrent
// use.
type Pair struct {
	files  [2]string // certificate, key
	notify func(expires time.Time, err error)

	mu      sync.Mutex
	current *tls.Certificate
	read    [2]stamp
	failed  [2]stamp // unusable files, so that each is reported once
	look    time.Time
}

// stamp identifies a state of a file.
type stamp struct {
	changed time.Time
	size    int64
	info    os.FileInfo
}

func (s stamp) same(other stamp) bool {
	return s.info != nil && other.info != nil && os.SameFile(s.info, other.info) && s.size == other.size &&
		s.changed.Equal(other.changed)
}

// OpenPair reads a certificate and its key from PEM files. notify, unless it is nil, is called
// after each later reading, with the end of the new certificate or with the error of the files.
// After an error the old certificate stays.
func OpenPair(cert, key string, notify func(expires time.Time, err error)) (*Pair, error) {
	if cert == "" || key == "" {
		return nil, errors.New("a certificate and its key are needed, and one of them is not set")
	}
	p := &Pair{files: [2]string{cert, key}, notify: notify}
	now, err := p.stamps()
	if err != nil {
		return nil, err
	}
	if p.current, err = p.load(); err != nil {
		return nil, err
	}
	p.read, p.look = now, time.Now().Add(lookEvery)
	return p, nil
}

// Current returns the certificate to use now.
func (p *Pair) Current() *tls.Certificate {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); now.After(p.look) {
		p.look = now.Add(lookEvery)
		p.refresh()
	}
	return p.current
}

// Expires returns the end of the certificate.
func (p *Pair) Expires() time.Time { return p.Current().Leaf.NotAfter }

// refresh loads changed files. Half-written files, or a certificate whose key is still missing,
// cannot be used: the old pair stays and the next check tries again.
func (p *Pair) refresh() {
	now, err := p.stamps()
	if err == nil && same(now, p.read) {
		return
	}
	var fresh *tls.Certificate
	if err == nil {
		fresh, err = p.load()
	}
	if err != nil {
		if !same(now, p.failed) {
			p.failed = now
			p.tell(time.Time{}, err)
		}
		return
	}
	// The stamps are older than the contents: the next check finds a change in between.
	p.current, p.read, p.failed = fresh, now, [2]stamp{}
	p.tell(fresh.Leaf.NotAfter, nil)
}

func (p *Pair) tell(expires time.Time, err error) {
	if p.notify != nil {
		p.notify(expires, err)
	}
}

func same(a, b [2]stamp) bool { return a[0].same(b[0]) && a[1].same(b[1]) }

func (p *Pair) stamps() (now [2]stamp, err error) {
	for i, file := range p.files {
		info, err := os.Stat(file)
		if err != nil {
			return now, err
		}
		now[i] = stamp{info.ModTime(), info.Size(), info}
	}
	return now, nil
}

func (p *Pair) load() (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(p.files[0], p.files[1])
	if err != nil {
		return nil, fmt.Errorf("%s with %s: %w", p.files[0], p.files[1], err)
	}
	if pair.Leaf == nil {
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return nil, err
		}
	}
	return &pair, nil
}

// Listen returns the TLS configuration of a listener: TLS 1.2 or newer, HTTP/1.1.
func (p *Pair) Listen() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.Current(), nil },
	}
}
