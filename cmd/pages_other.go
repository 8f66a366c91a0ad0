//go:build !linux

package cmd

func gatherPages() (gathered int) { return 0 }
