//go:build unix

package kafka

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks the file for as long as it is open; a crash releases it.
func lockFile(f *os.File) error {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}
