package duplex

import (
	"net/netip"
	"time"
)

// Config is how a server or a client speaks. The zero Config is usable, with a Schema
// that knows no game's messages. It is not changed after use.
type Config struct {
	// Schema says how long the game's messages are. Both ends must have the same.
	Schema *Schema

	// FeedWait is how long a client tries to get a feed before it joins with main
	// alone. Default 5 s.
	FeedWait time.Duration

	// FeedTimeout is how long nothing may come on the feed before it is taken for
	// lost: what goes over it then goes over main until it is initialised
	// again. Default 10 s.
	FeedTimeout time.Duration

	// JoinTimeout is how long a main may be open before its player is in the game.
	// Default 10 s, at least FeedWait and 2 s.
	JoinTimeout time.Duration

	// Resync is how often a server sends each client everything, which puts right what
	// lost updates left wrong. Default 5 s; negative is never, but on joining and on
	// request.
	Resync time.Duration

	// Linger is how long Close waits for what is queued on main to be written.
	// Default 1 s; negative is not at all.
	Linger time.Duration

	// MaxQueue is how many bytes may wait to be written to main. A server then
	// disconnects the client with ReasonSlow, so that a slow reader costs this much and
	// slows no other; a client's calls fail with ErrQueueFull. Default 1 MiB, at
	// least 128 KiB.
	MaxQueue int

	// MaxState is how many bytes of elements a client keeps; a server that sends more
	// is left with ReasonOverflow. Default 16 MiB.
	MaxState int

	// MaxUpdate is the size of the largest datagram that is sent on the feed. What is
	// larger goes over main. Default 1,200, which no usual path splits; at most
	// MaxDatagram.
	MaxUpdate int

	// MaxPlayers bounds the players of a server; one that would enter beyond it is told
	// REFUSED. Default 5,000, at most 28,000, which leaves ids for those who have not joined yet.
	MaxPlayers int

	// Admit is asked by a server for each CONN_INIT, if it is set: it returns why the
	// address is not let in, which is logged, or "" if it is. The client is told
	// REFUSED and no more. It is called on the server's loop and must not block.
	Admit func(main netip.AddrPort) string

	// WaitingPerAddress bounds the mains of an address (of IPv6, of its /64) that are open and
	// have not joined, and those of a /24 or /56 network to eight times as many; further ones
	// are closed at once, and their clients try again. Default 64. With it come limits on how
	// often an address connects: see connectRate. Negative is no limit of either.
	WaitingPerAddress int

	// Judge is asked by a server about the pass that a client shows with the query that the
	// schema marks: it returns the status of the reply, 0 if the pass is good, and false if
	// there is to be none. Default: there are no passes, and status 1. The pass is valid
	// only during the call. Judge is called on the server's loop and must not block.
	Judge func(c *Conn, pass []byte) (status uint8, answer bool)

	// Enter is asked by a server when a player would enter, with CONN_OK or CONN_FAILED, if it
	// is set: it returns why not, which is logged, or "". The client is told REFUSED. It is
	// called on the server's loop and must not block.
	Enter func(c *Conn) string

	// Pass is what a client shows before it joins, as the data of the query that the schema
	// marks. Default none: it asks nothing.
	Pass []byte

	// TakeID chooses the id of a player that connects, from 1 to MaxPlayer and in use by
	// no other, or 0 if there is none: then it is refused. FreeID says that an id is not
	// in use any more, and whether its player was ever in the game: if not, no other client was told of
	// it. Without them ids go round from 1 to MaxPlayer. Both are called on
	// the server's loop.
	TakeID func() int16
	FreeID func(player int16, joined bool)

	// AnyFeedAddr lets a feed come from another address than its main, which by default
	// it may not: then who learns a token, or guesses one, must also have the address.
	// Some networks give a client two. With it a client can have its updates sent
	// to a third party, who never asked.
	AnyFeedAddr bool

	// FeedAddr is where the feed is, written host:port, if not at the address of main:
	// a server listens there, a client sends there. The shell alone uses it.
	FeedAddr string

	// TLS has main encrypted: a server needs certificates in it, a client may give an
	// empty one. Tokens then stay secret; the feed itself is neither encrypted nor
	// signed. Default nil: plain TCP. The shell alone uses it.
	TLS *TLSConfig

	// Log gets a line for each player that comes and goes. Default none.
	Log *Logger

	rules *rules
}

// fill returns a copy in which every field has its value.
func (c Config) fill() *Config {
	if c.rules != nil {
		return &c
	}
	orElse(&c.FeedWait, 5*time.Second)
	orElse(&c.FeedTimeout, 10*time.Second)
	orElse(&c.JoinTimeout, 10*time.Second)
	c.JoinTimeout = max(c.JoinTimeout, c.FeedWait+2*time.Second)
	orElse(&c.Resync, 5*time.Second)
	c.Resync = max(c.Resync, 0)
	orElse(&c.Linger, time.Second)
	c.Linger = max(c.Linger, 0)
	orElse(&c.MaxQueue, 1<<20)
	c.MaxQueue = max(c.MaxQueue, 2*fillBytes)
	orElse(&c.MaxState, 16<<20)
	orElse(&c.MaxUpdate, 1200)
	c.MaxUpdate = min(c.MaxUpdate, MaxDatagram)
	orElse(&c.MaxPlayers, 5000)
	c.MaxPlayers = min(c.MaxPlayers, 28_000)
	c.rules = c.Schema.compile()
	return &c
}

func orElse[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
