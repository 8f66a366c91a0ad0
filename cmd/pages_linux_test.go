package cmd

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGatheringPagesKeepsTheMemory(t *testing.T) {
	held := make([]byte, 8*hugePage)
	for i := range held {
		held[i] = byte(i >> 12)
	}
	gatherPages()
	for i := range held {
		if held[i] != byte(i>>12) {
			t.Fatal("byte", i, "has changed")
		}
	}
	runtime.KeepAlive(held)
}

func TestOnlyMemoryWithoutAFileIsGathered(t *testing.T) {
	for _, c := range []struct {
		line      string
		from, end uintptr
	}{
		{"c000000000-c000400000 rw-p 00000000 00:00 0 ", 0xc000000000, 0xc000400000},
		{"c000000000-c000400000 rw-p 00000000 00:00 0      [anon: Go: heap]", 0xc000000000, 0xc000400000},
		{"c000400000-c004000000 ---p 00000000 00:00 0 ", 0, 0},
		{"00400000-004ab000 r-xp 00000000 fe:00 10019183       /usr/bin/adnet", 0, 0},
		{"0058e000-00599000 rw-p 0018e000 fe:00 10019183       /usr/bin/adnet", 0, 0},
		{"7ffc19bc2000-7ffc19be3000 rw-p 00000000 00:00 0      [stack]", 0, 0},
		{"", 0, 0},
	} {
		from, end := anonymous(c.line)
		require.Equal(t, c.from, from, c.line)
		require.Equal(t, c.end, end, c.line)
	}
}
