//go:build race

package realm

const underRace = true
