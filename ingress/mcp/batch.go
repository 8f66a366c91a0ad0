package mcp

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json/jsontext"

	"adnet/ingress/httpapi"
	"adnet/internal/jsonscan"
)

// maxBatch is the maximum number of messages in a batch.
const maxBatch = 16

// batchOf returns the messages of a batch (JSON-RPC 2.0, section 6; MCP 2025-03-26), or nil if a
// body is none. Failures: a batch that is empty, too long, no JSON, or of a revision without
// batches.
func batchOf(header http.Header, body []byte) ([]jsontext.Value, *failure) {
	if body = bytes.TrimLeft(body, " \t\r\n"); len(body) == 0 || body[0] != '[' {
		return nil, nil
	}
	if version, once := single(header, headerVersion); !once || !slices.Contains(batched, version) {
		return nil, refused("batches exist in 2025-03-26 only; send one JSON-RPC request in each POST")
	}
	list, f := messagesOf(body)
	if f == nil {
		return list, nil
	}
	if plain, mended := jsonscan.Mend(body); mended {
		return messagesOf(plain)
	}
	return nil, f
}

// messagesOf splits a batch. Its messages are checked one by one later.
func messagesOf(body []byte) (list []jsontext.Value, f *failure) {
	in := jsontext.NewDecoder(
		bytes.NewReader(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
	)
	_, _ = in.ReadToken() // the bracket
	for in.PeekKind() != ']' {
		message, err := in.ReadValue()
		switch {
		case err != nil:
			return nil, malformed(err)
		case len(list) == maxBatch:
			return nil, refused("a batch may hold at most " + strconv.Itoa(maxBatch) + " messages")
		}
		list = append(list, message.Clone())
	}
	_, _ = in.ReadToken()
	switch _, err := in.ReadToken(); {
	case !errors.Is(err, io.EOF):
		return nil, malformed(err)
	case len(list) == 0:
		return nil, refused("the batch is empty")
	}
	return list, nil
}

// batch answers the messages of a batch in their order: 200 with an array, 202 if none of them
// expects an answer.
func (s *Server) batch(c *gin.Context, caller httpapi.Caller, messages []jsontext.Value) error {
	replies := []byte{'['}
	for _, message := range messages {
		reply := s.member(c, caller, message)
		if len(reply) > 0 && len(replies) > 1 {
			replies = append(replies, ',')
		}
		replies = append(replies, reply...)
	}
	if len(replies) == 1 {
		c.Status(http.StatusAccepted)
		return nil
	}
	return httpapi.Bytes(c, http.StatusOK, append(replies, ']'))
}

// member returns the answer to one message of a batch; empty for a notification or a response.
func (s *Server) member(c *gin.Context, caller httpapi.Caller, message []byte) (reply []byte) {
	r := s.idle.Get().(*call)
	var f *failure
	defer func() {
		if p := recover(); p != nil {
			f = s.crashed(c, p)
		}
		if f != nil {
			s.logged(c, f)
			reply, _ = f.reply(r.echo()) // made of texts and numbers
		}
		r.forget()
		s.idle.Put(r)
	}()
	switch f = r.decode(message); {
	case f != nil:
	case r.method == methodInitialize:
		f = refused("initialize must not be part of a batch")
	case !r.notification():
		r.from(c, caller)
		if f = s.answer(c.Request.Context(), c.Request.Header, r); f == nil {
			return bytes.Clone(r.reply)
		}
	}
	return nil
}
