//go:build !race

package wire

const underRace = false
