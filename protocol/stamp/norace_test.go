//go:build !race

package stamp

const underRace = false
