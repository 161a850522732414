//go:build race

package world

const underRace = true
