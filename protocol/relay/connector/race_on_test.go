//go:build race

package connector

const underRace = true
