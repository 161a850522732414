//go:build race

package relay

const underRace = true
