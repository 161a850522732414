//go:build race

package admission

// raceEnabled shortens the long random tests: the race detector makes them ten times as
// slow, and has nothing to find in code without goroutines.
const raceEnabled = true
