package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Limits of the first message of a native connection: a real client sends about 60 bytes at once.
const (
	helloPatience  = 10 * time.Second
	helloMaxString = 4096
)

// The ClickHouse error codes of the gate's answers.
const (
	codeUnknownDatabase      = 81
	codeAuthenticationFailed = 516
)

// hello is the first message of a native client.
type hello struct {
	raw                      []byte
	database, user, password string
}

// gate rejects hellos that ClickHouse would refuse. Hosted as a library, ClickHouse aborts when it
// refuses one (measured: garbage, a wrong user or password, an unknown database); it survives
// everything after the hello, including a client that vanishes there.
type gate struct {
	// exists reports whether a database exists.
	exists func(ctx context.Context, database string) (bool, error)
}

// admit reads the client's hello and returns its bytes for upstream. A refused client gets the
// reason in its protocol. Other protocols get no answer.
func (g gate) admit(ctx context.Context, client net.Conn) ([]byte, error) {
	if err := client.SetReadDeadline(time.Now().Add(helloPatience)); err != nil {
		return nil, err
	}
	h, err := readHello(client)
	if err != nil {
		return nil, err
	}
	if err := client.SetReadDeadline(time.Time{}); err != nil {
		return nil, err
	}
	if h.user != "default" || h.password != "" {
		return nil, refuse(
			client, codeAuthenticationFailed, "the local ClickHouse knows only the user default without a password",
		)
	}
	if h.database != "" && h.database != "default" {
		exists, err := g.exists(ctx, h.database)
		if err != nil {
			return nil, err
		}
		if !exists {
			return nil, refuse(client, codeUnknownDatabase, fmt.Sprintf("Database %s does not exist", h.database))
		}
	}
	return h.raw, nil
}

// readHello reads single bytes where necessary, because the bytes after the hello belong to the
// relay.
func readHello(r io.Reader) (hello, error) {
	var raw bytes.Buffer
	in := oneByte{io.TeeReader(r, &raw)}
	text := func() (string, error) {
		length, err := binary.ReadUvarint(in)
		if err != nil {
			return "", err
		}
		if length > helloMaxString {
			return "", errors.New("not a native client: oversized text in its hello")
		}
		b := make([]byte, length)
		_, err = io.ReadFull(in, b)
		return string(b), err
	}
	kind, err := binary.ReadUvarint(in)
	if err != nil {
		return hello{}, err
	}
	if kind != 0 {
		return hello{}, errors.New("not a native client: no hello")
	}
	var h hello
	if _, err := text(); err != nil { // The client's name.
		return hello{}, err
	}
	for range 3 { // Its version and protocol revision.
		if _, err := binary.ReadUvarint(in); err != nil {
			return hello{}, err
		}
	}
	for _, field := range []*string{&h.database, &h.user, &h.password} {
		if *field, err = text(); err != nil {
			return hello{}, err
		}
	}
	h.raw = raw.Bytes()
	return h, nil
}

// oneByte lets binary.ReadUvarint read from a stream without a buffer that would swallow what
// follows.
type oneByte struct{ io.Reader }

func (o oneByte) ReadByte() (byte, error) {
	var b [1]byte
	_, err := io.ReadFull(o.Reader, b[:])
	return b[0], err
}

// refuse sends an exception packet and returns it as an error.
func refuse(client net.Conn, code uint32, message string) error {
	text := func(b []byte, v string) []byte { return append(binary.AppendUvarint(b, uint64(len(v))), v...) }
	packet := binary.LittleEndian.AppendUint32([]byte{2}, code)
	packet = text(text(text(packet, "DB::Exception"), "DB::Exception: "+message), "")
	packet = append(packet, 0) // No nested exception.
	out := bufio.NewWriter(client)
	_, err := out.Write(packet)
	return errors.Join(errors.New(message), err, out.Flush())
}

// databaseExists reports whether a database exists, by a query on the HTTP listener at addr.
func databaseExists(ctx context.Context, client *http.Client, addr, database string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, upstreamPatience)
	defer cancel()
	target := url.URL{Scheme: "http", Host: addr, Path: "/", RawQuery: url.Values{"param_name": {database}}.Encode()}
	answer, err := clickhouseAsk(ctx, client, target, "SELECT count() FROM system.databases WHERE name = {name:String}")
	return answer == "1", err
}

// clickhouseAsk runs one statement and returns the answer without surrounding white space.
func clickhouseAsk(ctx context.Context, client *http.Client, target url.URL, sql string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), strings.NewReader(sql))
	if err != nil {
		return "", err
	}
	request.Close = true
	reply, err := client.Do(request)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(io.LimitReader(reply.Body, 1<<16))
	if err := errors.Join(err, reply.Body.Close()); err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(body))
	if reply.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", reply.Status, text)
	}
	return text, nil
}
