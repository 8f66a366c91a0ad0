package lifecycle

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestListenerStartsOnce(t *testing.T) {
	l := NewListener()
	require.Empty(t, l.Addr())
	taken := errors.New("the port is taken")
	require.ErrorIs(t, l.StartOnce(func() (string, error) { return "", taken }), taken)
	select {
	case <-l.Ready():
		t.Fatal("ready without an address")
	default:
	}
	require.NoError(t, l.StartOnce(func() (string, error) { return "127.0.0.1:1", nil }))
	require.NoError(t, l.StartOnce(func() (string, error) { return "", taken }))
	<-l.Ready()
	require.Equal(t, "127.0.0.1:1", l.Addr())
}
