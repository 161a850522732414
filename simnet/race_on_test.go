//go:build race

package simnet

// isRace is true when the race detector is on, which makes a run about eight times as slow.
const isRace = true
