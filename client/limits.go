package client

import "time"

const (
	// maxEvents bounds the events that wait for a frame: a program that draws none would else keep all that is said to it.
	maxEvents = 1024

	// maxKept bounds what a player may do while it is away. All of it is sent in one moment when it is back, and servers take as many
	// inputs of a player in a tick.
	maxKept = 32

	// goingTime is for how long what the player does waits for a server to end the connection that has told where to go on. One that does not
	// would have the player say nothing for ever.
	goingTime = 2 * time.Second

	// maxLine bounds a line of chat: the least that a dialect takes.
	maxLine = 900

	// holdUnknown is how old something may be that was done while away, in dialects that do not tell how long a place is held.
	holdUnknown = 30 * time.Second

	// maxToil is how long a client may compute at a stretch, with half of the time between counted as rest. A server may tell of thousands of
	// bodies at one place, on which the game's Step takes long, and have the client run it again and again: what the player sees and does
	// waits for that.
	maxToil = 250 * time.Millisecond

	// restTimes is how much longer than it has computed a client then predicts nothing, and maxRest the longest that it does so: it may
	// have been the client's machine that stood still.
	restTimes = 8
	maxRest   = 10 * time.Second
)
