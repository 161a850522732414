//go:build race

package wire

const underRace = true
