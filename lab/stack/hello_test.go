package main

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/stretchr/testify/require"
)

const goodHello = "\x00\x05adnet\x01\x02\xd4\xa9\x03\x05stats\x07default\x00"

func TestReadHelloTakesExactlyTheHello(t *testing.T) {
	in := strings.NewReader(goodHello + "rest")
	h, err := readHello(in)
	require.NoError(t, err)
	require.Equal(t, goodHello, string(h.raw))
	require.Equal(t, []string{"stats", "default", ""}, []string{h.database, h.user, h.password})
	rest, err := io.ReadAll(in)
	require.NoError(t, err)
	require.Equal(t, "rest", string(rest))

	for cut := range goodHello {
		_, err := readHello(strings.NewReader(goodHello[:cut]))
		require.Error(t, err, "cut at %d", cut)
	}
	for _, bad := range []string{
		"\x01\x05adnet", "GET / HTTP/1.1\r\n\r\n", "\x00\xff\xff\xff\x7fx", strings.Repeat("\xff", 30),
	} {
		_, err := readHello(strings.NewReader(bad))
		require.Error(t, err, bad)
	}
}

func TestGateRefusesInTheClientsOwnProtocol(t *testing.T) {
	exists := func(_ context.Context, database string) (bool, error) {
		if database == "broken" {
			return false, errors.New("cannot ask")
		}
		return database == "stats", nil
	}
	f, err := listenFront("127.0.0.1:0")
	require.NoError(t, err)
	f.admit = gate{exists}.admit
	reached := make(chan struct{}, 1)
	upstream, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = upstream.Close() }()
	go func() {
		if conn, err := upstream.Accept(); err == nil {
			reached <- struct{}{}
			_ = conn.Close()
		}
	}()
	f.aim(upstream.Addr().String())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()

	ping := func(auth clickhouse.Auth) error {
		conn, err := clickhouse.Open(&clickhouse.Options{Addr: []string{f.listener.Addr().String()}, Auth: auth})
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
		return conn.Ping(t.Context())
	}
	for code, auth := range map[int32]clickhouse.Auth{
		codeUnknownDatabase:      {Database: "nowhere", Username: "default"},
		codeAuthenticationFailed: {Database: "stats", Username: "default", Password: "guess"},
	} {
		var refused *clickhouse.Exception
		require.ErrorAs(t, ping(auth), &refused)
		require.Equal(t, code, refused.Code)
	}
	require.Error(t, ping(clickhouse.Auth{Database: "broken", Username: "default"}))
	require.Empty(t, reached, "a refused client must not reach upstream")
	require.Error(t, ping(clickhouse.Auth{Database: "stats", Username: "default"}), "this upstream hangs up")
	<-reached
	cancel()
	require.NoError(t, <-done)
}
