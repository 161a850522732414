package account

import (
	"log/slog"
	"runtime"
	"time"
)

// Config sets up a Service. The zero Config is usable. Config must not be changed after use.
type Config struct {
	// HashAtOnce is how many passwords are hashed at once, each with 19 MiB and one core for about 35 ms. 0 means half of
	// the cores that Go may use, at least one: a flood of log-ins leaves the other half to the game. It is never more than
	// those cores. If it is all of them, as on a machine with one core, a tick of the game may wait 10 ms while passwords
	// are hashed: Go lets a goroutine keep a core that long.
	HashAtOnce int

	// Queue bounds each of three queues: requests that wait for the store, for a hash from a known address, and for a hash
	// from an unknown address. 0 means 1,024. When a queue is full, the last request of the address with the most waiting
	// requests is answered Busy.
	Queue int

	// Failures is how many log-ins of a name, and of an address, may fail in a minute, up to 1,000. 0 means 5; negative
	// means no limit.
	Failures int

	// Registrations is how many times an address may try to register in a minute, up to 1,000. 0 means 3; negative means no
	// limit.
	Registrations int

	// NoRegistration answers Disabled to every Register.
	NoRegistration bool

	// HideUnknown answers WrongPassword instead of Unknown. An unknown name and a wrong password take the same time,
	// whether or not this is set. Register still reveals which names are taken.
	HideUnknown bool

	// MaxSessions bounds the sessions at one time; 0 means no limit.
	MaxSessions int

	// OnEnd is called when the Service ends a session. It is called once for each such session, and never before the Answer
	// that began the session. It is not called for Logout and Close. It may be nil.
	OnEnd func(*Session, EndReason)

	// Log gets a line when the store fails, at most one a minute, and one when it works again. nil means none.
	Log *slog.Logger

	// Recheck is how often the accounts of the sessions are read again, so that sessions end when another process bans or
	// deletes their accounts, and how often the store is looked at for Trouble. 0 means 10 s; negative means never.
	Recheck time.Duration

	// cost is what tests make cheap; the zero cost is that of limits.go.
	cost cost
}

// withDefaults returns the configuration with its zeros filled in.
func (c Config) withDefaults() Config {
	cores := runtime.GOMAXPROCS(0)
	if c.HashAtOnce <= 0 {
		c.HashAtOnce = max(1, cores/2)
	}
	c.HashAtOnce = min(c.HashAtOnce, cores)
	if c.Queue <= 0 {
		c.Queue = defaultQueue
	}
	c.Failures = orDefault(c.Failures, defaultFailures)
	c.Registrations = orDefault(c.Registrations, defaultRegistrations)
	if c.Recheck == 0 {
		c.Recheck = defaultRecheck
	}
	if c.cost == (cost{}) {
		c.cost = cost{hashMemoryKiB, hashPasses, hashLanes}
	}
	return c
}

func orDefault(n, standard int) int {
	if n == 0 {
		return standard
	}
	return min(n, maxLimit)
}
