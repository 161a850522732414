package account

import (
	"runtime"
	"time"
)

// Config sets a Service up. The zero Config is usable. It is not changed after use.
type Config struct {
	// HashAtOnce is how many passwords are hashed at once, each with 19 MiB and one core for
	// about 35 ms. 0 means half of the cores that Go may use, at least one: a flood of
	// log-ins leaves the other half to the game. It is never more than those cores. Where it is all of them, as on a machine
	// with one core, a tick may have to wait for 10 ms while passwords are hashed, which is how long Go lets a
	// goroutine keep a core.
	HashAtOnce int

	// Queue is how many requests may wait for the store, for a hash from a known address and for
	// a hash from a strange one, each. 0 means 1,024. When it is full, the last
	// request of the address that has the most waiting is answered Busy.
	Queue int

	// Failures is how many failed log-ins a minute a name may have, and an address, up to
	// 1,000. 0 means 5; negative means no limit.
	Failures int

	// Registrations is how many tries to register a minute an address may have, up to
	// 1,000. 0 means 3; negative means no limit.
	Registrations int

	// NoRegistration answers Disabled to every Register.
	NoRegistration bool

	// HideUnknown answers WrongPassword in place of Unknown. Both take the same time with and without
	// it. Register still tells which names are taken.
	HideUnknown bool

	// MaxSessions is how many accounts may be in at once; 0 means no limit.
	MaxSessions int

	// OnEnd is called when the Service ends a session, once for each and never before the
	// answer that brought the session. It is not called for Logout and Close. It may
	// be nil.
	OnEnd func(*Session, EndReason)

	// Recheck is how often the accounts of the sessions are read again, so that what another
	// process bans or deletes goes. 0 means 10 s; negative means never.
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
