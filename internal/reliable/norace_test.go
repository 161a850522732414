//go:build !race

package reliable

const underRace = false
