//go:build !race

package shelltest

// Race reports whether the race detector is on.
const Race = false
