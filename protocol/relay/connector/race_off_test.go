//go:build !race

package connector

const underRace = false
