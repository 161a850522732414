//go:build race

package reliable

const underRace = true
