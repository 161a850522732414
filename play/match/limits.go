package match

import "time"

const (
	// defaultWait is how long a player waits for others: "waits up to 30 s" (entry).
	defaultWait = 30 * time.Second

	// defaultMaxWaiting bounds those who wait, each some 400 bytes here and a goroutine in the server: strangers who ask for a
	// mode that nobody else plays wait for half a minute each.
	defaultMaxWaiting = 1 << 14

	// defaultPerAddress bounds those of one address (/64 of IPv6): one host must not fill the queue, and a house full of
	// players must be able to wait together.
	defaultPerAddress = 64

	// MinPlayers is the size of the smallest group: with one, strangers would open rooms by themselves.
	MinPlayers = 2

	// defaultMaxPlayers is the size of the largest group.
	defaultMaxPlayers = 1000

	// MaxMode bounds the mode, in bytes, as for rooms. Each that somebody waits for has a line, so there are no more of them than
	// players.
	MaxMode = 255
)
