//go:build !unix

package kafka

import (
	"errors"
	"os"
)

// lockFile refuses: without a lock two processes could spoil a data directory.
func lockFile(*os.File) error {
	return errors.New("a data directory needs file locks, which this system does not offer here")
}
