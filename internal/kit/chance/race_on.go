//go:build race

package chance

// Race reports whether the race detector is on.
const Race = true
