//go:build !linux

package cmd

func gatherPages() {}
