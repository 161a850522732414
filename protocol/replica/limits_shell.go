package replica

// Limits of the shell: what waits between a loop and the program.
const (
	// maxQueuedEvents and maxQueuedEventBytes bound what a client's loop has ready
	// for Events. Past either it polls no more, so that the engine's own bounds
	// are reached, packets are refused and the server slows down: a server that
	// floods a slow client costs it this much and no more. One event may pass the
	// bytes, as a message may be larger than they are.
	maxQueuedEvents     = 128
	maxQueuedEventBytes = 256 << 10

	// clientBatch is small because a client has one peer, and a program may have
	// thousands of clients: each buffer is 64 KiB.
	clientBatch = 4
)
