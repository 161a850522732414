package scribe

import "time"

const (
	// maxWaiting is how many lines wait to be written. At ten a second for each of some twenty kinds, that is
	// enough for a disk that hangs for five seconds under attack.
	maxWaiting = 1024

	// maxValueBytes bounds one value of a line, so that a name or a reason of a stranger cannot make the
	// buffer large: 1,024 lines with eight values of that size are 8 MiB.
	maxValueBytes = 1024

	// maxStackBytes bounds the stack trace of a panic, which is our own text.
	maxStackBytes = 16 << 10

	// tailLines is how many of the newest lines are kept to be looked at, and maxLineBytes what is shown of each: half a MiB
	// together.
	tailLines    = 256
	maxLineBytes = 2048

	// At most perKind lines of a kind are written in any span. Without this limit 454 KB of forged datagrams
	// wrote 22 MB of log.
	perKind = 10
	span    = time.Second

	// maxKinds bounds how many kinds are counted separately. All others share one count. A server's messages
	// are constants, so only a program that logs variable messages reaches it.
	maxKinds = 256
)
