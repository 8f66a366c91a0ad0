package main

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"adnet/cmd/load/visitor"
	"adnet/internal/process/schedule"
)

// The budget of the mail bomber, and what must hold beside it.
const (
	bombDomains  = 3 // of each kind
	bombNetworks = 10
	bombResets   = 6
	newcomers    = 3
	mailMost     = 10 * time.Second
)

// bombs are the kinds of domains, and the accounts of one: that refuse, put off, or do not answer.
// The last are more than adnet can wait for at once.
var bombs = []struct {
	kind     string
	accounts int
}{{"refuse", 1}, {"busy", 1}, {"slow", 12}}

// bombMails requests mails to domains that refuse, put off or do not answer, and mails of the owner
// and of newcomers, from a few networks, on a node that confirms e-mails. Then the owner asks for
// new passwords and newcomers register, each from a network of its own.
func (s *suite) bombMails(ctx context.Context, owner string, r *siegeReport) error {
	s.say("a mail bomber")
	mails, err := newMailServer()
	if err != nil {
		return err
	}
	node, err := s.world.mailing(ctx, mails)
	defer func() {
		mails.close() // the node waits for its senders
		if node != nil {
			node.Stop()
		}
	}()
	if err != nil {
		return err
	}
	by := visitor.Client{Base: visitor.Of("http://" + node.http), HTTP: s.world.reader}
	coming := make([]string, newcomers)
	for n := range coming {
		coming[n] = mailbox() + "@newcomer.example"
	}
	if err := bomb(ctx, &by, append(coming, owner), r); err != nil {
		return err
	}
	var failed error
	ask := func(action, email string) {
		arrived := mails.counted(email)
		if err := mail(ctx, &by, action, email, visitor.Address(rand.Uint32())); err != nil {
			failed = err
		}
		r.Asked++
		for until := time.Now().Add(mailMost); time.Now().Before(until) && ctx.Err() == nil; {
			if mails.counted(email) > arrived {
				r.Mailed++
				return
			}
			_ = schedule.Pause(ctx, 20*time.Millisecond)
		}
	}
	for range bombResets {
		ask("forgot", owner)
	}
	for _, email := range coming {
		ask("register", email)
	}
	s.say("%d mails asked for by the bomber; of owners and newcomers: %d of %d", r.Bombs, r.Mailed, r.Asked)
	if r.Mailed < r.Asked {
		s.breach("%d of %d mails were sent within %s beside a mail bomber (%v)", r.Mailed, r.Asked, mailMost, failed)
	}
	for _, of := range bombs {
		if mails.counted(of.kind) == 0 {
			s.breach("a mail bomber without a mail to a %s domain, so this run does not test it", of.kind)
		}
	}
	return ctx.Err()
}

// bomb requests the bomber's mails.
func bomb(ctx context.Context, by *visitor.Client, victims []string, r *siegeReport) error {
	var emails []string
	for _, of := range bombs {
		for n := range of.accounts * bombDomains {
			emails = append(emails, fmt.Sprintf("%s@%s%d.example", mailbox(), of.kind, n%bombDomains))
		}
	}
	for n, email := range slices.Concat(emails, victims, victims, victims) {
		from := fmt.Sprintf("198.19.%d.7", n%bombNetworks)
		for _, action := range []string{"register", "forgot"} {
			if err := mail(ctx, by, action, email, from); err != nil {
				return err
			}
			r.Bombs++
		}
	}
	return nil
}

// mail requests a registration or a new password, whatever adnet answers but 400.
func mail(ctx context.Context, by *visitor.Client, action, email, from string) error {
	body := object{"email": email}
	if action == "register" {
		body["password"] = siegePassword
	}
	reply, err := by.Send(ctx, request{Method: "POST", Path: "/api/auth?action=" + action, From: from, JSON: body})
	if err == nil && reply.Status == http.StatusBadRequest {
		return fmt.Errorf("%s is not understood, so this run does not test it: %s", action, reply.Body)
	}
	return err
}

// mailing starts a node that confirms e-mails and sends through a mail server.
func (w *world) mailing(ctx context.Context, mails *mailServer) (*role, error) {
	spool := "ADNET_SPOOL_DIR=" + filepath.Join(w.dir, "mailing")
	node, err := w.launchWith("mailing", "ingress", fileLimit, append(mails.settings(), spool))
	if err != nil {
		return nil, err
	}
	return node, node.await(ctx)
}

// mailServer is an SMTP server on this machine. It refuses recipients at domains that begin with
// refuse, puts off those at busy, and answers those at slow only when it closes.
type mailServer struct {
	listener net.Listener
	ends     chan struct{}
	mu       sync.Mutex
	counts   map[string]int // mails by recipient, and refusals by kind of domain
}

func newMailServer() (*mailServer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &mailServer{listener: l, ends: make(chan struct{}), counts: make(map[string]int)}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go m.serve(conn)
		}
	}()
	return m, nil
}

// settings returns those of a process that confirms e-mails through m.
func (m *mailServer) settings() []string {
	return []string{
		"ADNET_VERIFY_EMAIL=required", "ADNET_SMTP_HOST=127.0.0.1", "ADNET_SMTP_TLS=off",
		fmt.Sprintf("ADNET_SMTP_PORT=%d", m.listener.Addr().(*net.TCPAddr).Port),
		"ADNET_SMTP_FROM=no-reply@hostile.example",
	}
}

// counted returns the number of mails of a recipient, or of recipients of a kind of domain that it
// did not take.
func (m *mailServer) counted(what string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.counts[what]
}

func (m *mailServer) count(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[what]++
}

func (m *mailServer) close() {
	_ = m.listener.Close()
	close(m.ends)
}

// serve speaks the part of SMTP that a mail needs.
func (m *mailServer) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	reply := func(line string) { _, _ = conn.Write([]byte(line + "\r\n")) }
	reply("220 mail")
	recipient, data := "", false
	for in := bufio.NewScanner(conn); in.Scan(); {
		line := in.Text()
		switch {
		case data && line == ".":
			m.count(recipient)
			data = false
			reply("250 stored")
		case data:
		case line == "DATA":
			data = true
			reply("354 go on")
		case line == "QUIT":
			reply("221 bye")
			return
		case strings.HasPrefix(line, "RCPT TO:<"):
			recipient, _, _ = strings.Cut(line[len("RCPT TO:<"):], ">")
			reply(m.recipient(recipient))
		default:
			reply("250 ok")
		}
	}
}

// recipient returns the answer to a RCPT command.
func (m *mailServer) recipient(email string) string {
	_, domain, _ := strings.Cut(email, "@")
	for kind, answer := range map[string]string{
		"refuse": "550 no such user", "busy": "450 try again", "slow": "421 too slow",
	} {
		if !strings.HasPrefix(domain, kind) {
			continue
		}
		m.count(kind)
		if kind == "slow" {
			<-m.ends
		}
		return answer
	}
	return "250 ok"
}
