package cmd

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Sizes of pages, on processors with small pages of this size.
const (
	smallPage = 4 << 10
	hugePage  = 2 << 20
)

// gatherPages moves the memory of this process into huge pages where all small pages of one are in
// use, so it takes no more memory. A request looks up words and campaigns all over the catalog. With
// small pages the processor must first look up the address of most of them (benchmark row
// ad_request_100k). Linux before 6.1, and a system that forbids huge pages, leave the memory as it
// is.
func gatherPages() {
	if os.Getpagesize() != smallPage {
		return
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	for line := range bytes.Lines(maps) {
		from, end := anonymous(string(line))
		gather((from+hugePage-1)&^(hugePage-1), end)
	}
}

// gather moves the memory from the start of a huge page to end. It asks the kernel once for adjacent
// pages: each call interrupts all processors.
func gather(from, end uintptr) {
	for at := from; at < end; at = from + hugePage {
		for from = at; from+hugePage <= end && resident(from); {
			from += hugePage
		}
		if from > at {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, at, from-at, unix.MADV_COLLAPSE) // advice: may fail
		}
	}
}

// anonymous returns the addresses of a line of /proc/self/maps that describes writable memory
// without a file, and else no addresses.
func anonymous(line string) (from, end uintptr) {
	fields := strings.Fields(line)
	if len(fields) < 5 || fields[1] != "rw-p" || fields[4] != "0" {
		return 0, 0
	}
	if len(fields) > 5 && !strings.HasPrefix(fields[5], "[anon:") { // a stack
		return 0, 0
	}
	if n, err := fmt.Sscanf(fields[0], "%x-%x", &from, &end); n < 2 || err != nil {
		return 0, 0
	}
	return from, end
}

// resident reports whether all small pages of a huge page are in memory.
func resident(at uintptr) bool {
	var pages [hugePage / smallPage]byte
	_, _, failed := unix.Syscall(unix.SYS_MINCORE, at, hugePage, uintptr(unsafe.Pointer(&pages[0])))
	if failed != 0 {
		return false
	}
	for _, page := range pages {
		if page&1 == 0 {
			return false
		}
	}
	return true
}
