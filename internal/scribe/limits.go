package scribe

import "time"

const (
	// maxWaiting is how many lines wait to be written. At ten a second for each of some twenty kinds it
	// bridges a disk that hangs for five seconds under attack.
	maxWaiting = 1024

	// maxValueBytes bounds one value of a line, so that a name or a reason of a stranger cannot make the
	// buffer large: 1,024 lines with eight values of that size are 8 MiB.
	maxValueBytes = 1024

	// maxStackBytes bounds the stack of a panic, which is ours.
	maxStackBytes = 16 << 10

	// perKind lines of a kind are written in any time of a span. Without it 454 KB of forged datagrams wrote
	// 22 MB of log.
	perKind = 10
	span    = time.Second

	// maxKinds bounds how many kinds are told apart; all beyond share one count. The messages of a server are
	// constants, so it is only reached by a program that logs texts of its own.
	maxKinds = 256
)
