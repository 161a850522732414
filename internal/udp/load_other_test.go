//go:build !linux

package udp

// loadMain is for the benchmarks against a bare loop, which only Linux has.
func loadMain() {}
