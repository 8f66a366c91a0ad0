package testenv

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// FreeAddr returns a loopback address without a listener. Its port is below those that the system
// assigns to connections, so that none takes it before the intended process listens.
func FreeAddr() (string, error) {
	var err error
	for range 100 {
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 15_000+rand.IntN(15_000))); err == nil {
			return l.Addr().String(), l.Close()
		}
	}
	return "", fmt.Errorf("no free port: %w", err)
}
