//go:build !race

package duplex

const underRace = false
