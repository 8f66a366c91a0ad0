//go:build !unix

package kafka

import (
	"errors"
	"os"
)

// lockFile always fails: without a lock two processes could corrupt a data directory.
func lockFile(*os.File) error {
	return errors.New("a data directory needs file locks, which this system does not support")
}
