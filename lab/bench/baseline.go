package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/gin-gonic/gin"

	"adnet/internal/testenv"
	"adnet/lab/process"
)

// reply is a recorded response of adnet, which a baseline sends to every request.
type reply struct {
	Method string      `json:"method"`
	Path   string      `json:"path"`
	Header http.Header `json:"header"`
	Body   []byte      `json:"body"`
}

// baselineCmd is a separate process, as adnet is: a bare gin engine that reads the request and
// sends the recorded bytes with headers.
type baselineCmd struct {
	Addr  string `arg:""`
	Reply string `arg:"" type:"existingfile"`
}

// Run implements kong's command.
func (b *baselineCmd) Run(ctx context.Context) error {
	text, err := os.ReadFile(b.Reply)
	if err != nil {
		return err
	}
	var r reply
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	kind := r.Header.Get("Content-Type")
	r.Header.Del("Content-Type")
	r.Header.Del("Content-Length")
	r.Header.Del("Date")
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.Handle(r.Method, r.Path, func(c *gin.Context) {
		if r.Method == http.MethodPost {
			if _, err := io.Copy(io.Discard, c.Request.Body); err != nil {
				c.Status(http.StatusBadRequest)
				return
			}
		}
		header := c.Writer.Header()
		for name, values := range r.Header {
			header[name] = values
		}
		c.Data(http.StatusOK, kind, r.Body)
	})
	server := &http.Server{Addr: b.Addr, Handler: engine}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// bareGin starts the baseline process for a recorded reply and returns its address.
func (s *session) bareGin(ctx context.Context, r reply) (*process.Process, string, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, "", err
	}
	file, err := s.scratch("reply-*.json", text)
	if err != nil {
		return nil, "", err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	addr, err := testenv.FreeAddr()
	if err != nil {
		return nil, "", err
	}
	p, err := s.start("gin", nil, self, "baseline", addr, file)
	if err != nil {
		return nil, "", err
	}
	return p, addr, p.Await(ctx, startWait, func(context.Context) error { return answers(addr) })
}

// answers reports whether a server listens at the address.
func answers(addr string) error {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	return conn.Close()
}
