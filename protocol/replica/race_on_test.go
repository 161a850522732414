//go:build race

package replica

const underRace = true
