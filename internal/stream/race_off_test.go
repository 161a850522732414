//go:build !race

package stream

const underRace = false
