package core

import (
	"cmp"
	"crypto/tls"
	"log/slog"
	"net/netip"
	"time"

	"parley/internal/way"
)

// Config sets up a server or a client. The zero Config is usable, with a Schema that has none of a
// game's messages. Config must not be changed after use.
type Config struct {
	// Schema gives the sizes of the game's messages. Both ends must have the same Schema.
	Schema *Schema

	// FeedWait is how long a client tries to get a feed before it joins with main alone. Default 5 s.
	FeedWait time.Duration

	// FeedTimeout is how long the feed may be silent before it is considered lost. Its messages then go
	// over main until it is initialised again. Default 10 s.
	FeedTimeout time.Duration

	// JoinTimeout is how long a main may be open before its player has joined. Default 10 s, and never
	// less than FeedWait plus 2 s.
	JoinTimeout time.Duration

	// Resync is the time between two full syncs of each client: a server sends it all elements, which
	// repairs the effects of lost updates. Default 5 s. Negative means never, except on joining and on
	// request.
	Resync time.Duration

	// Linger is how long Close waits for the queue of main to be written. Default 1 s. If negative,
	// Close does not wait.
	Linger time.Duration

	// MaxQueue is how many bytes may wait to be written to main. Beyond it, a server disconnects the
	// client with ReasonSlow, so that a slow reader costs no more memory and slows down no other. At a
	// client, calls that send fail with ErrQueueFull. Default 1 MiB, at least 128 KiB.
	MaxQueue int

	// MaxState is how many bytes of elements a client keeps. If a server sends more, the client leaves
	// with ReasonOverflow. Default 16 MiB.
	MaxState int

	// MaxUpdate is the size of the largest datagram that is sent on the feed, in bytes. Larger messages
	// go over main. Default 1,200, which usual paths do not fragment; at most MaxDatagram, and
	// 1,100 at a server with Sessions: over WebTransport a datagram has no more.
	MaxUpdate int

	// MaxPlayers bounds the players of a server. Beyond it, a new player is told REFUSED. Default
	// 5,000, at most 28,000, which leaves ids for connections that have not joined yet.
	MaxPlayers int

	// Admit, if set, is called by a server for each CONN_INIT. It returns "" to admit the address, or
	// the reason to refuse it, which is logged. The client is told only REFUSED. Admit runs on the
	// server's loop and must not block.
	Admit func(main netip.AddrPort) string

	// WaitingPerAddress bounds the mains of an address (/64 of IPv6) that are open and have not joined.
	// A /24 or /56 network may have eight times as many. Further ones are closed at once, and their
	// clients try again. Default 64. There are also limits on how often an address connects: see
	// connectRate in limits.go. Negative turns off both kinds of limits, also that on all mains together.
	WaitingPerAddress int

	// Judge is called by a server for the pass that a client shows, as the data of the query that the
	// schema marks (Query.Pass). The program answers with Conn.AnswerPass, at once or later. A client may show another pass
	// after the answer, at most 8 in all. Only the verdict on the newest counts. Default: there are no passes, and the status
	// is 1. The bytes of pass are valid only during the call. Judge runs on the server's loop and must not block. EventClosed
	// comes for each client that Judge was told of, whether it has joined or not.
	Judge func(c *Conn, pass []byte)

	// Enter, if set, is called by a server when a player is about to enter: its CONN_OK or CONN_FAILED
	// has come. It returns "" to let the player enter, or the reason to refuse it, which is logged. The
	// client is told only REFUSED. Enter runs on the server's loop and must not block.
	Enter func(c *Conn) string

	// Pass is the pass that a client shows before it joins, as the data of the query that the schema
	// marks: with the size before it, if the schema has one there. If the pass is refused, Close.Status says
	// why. Default nil: the query is not sent.
	Pass []byte

	// TakeID chooses the id of a new connection's feed, from 1 to MaxPlayer and not in use. It is also the SID
	// of the player's own element, unless AnswerPass gives another. If TakeID returns 0, no id is free, and the
	// player is refused. FreeID is called when an id is no longer in use. seen says whether it was the SID of
	// a player in the game. If not, no other client was told of it. Without these functions, ids are used in
	// turn from 1 to MaxPlayer. Both run on the server's loop.
	TakeID func() int16
	FreeID func(id int16, seen bool)

	// AnyFeedAddr allows a feed from another address than that of its main, as some networks give a
	// client two addresses. By default that is refused, so that an attacker who learns or guesses a
	// token must also have the address. If it is allowed, a client can direct its updates to a third
	// party that never asked for them.
	AnyFeedAddr bool

	// FeedAddr is the address of the feed, written host:port, if it differs from that of main. A server
	// listens there, and a client sends there. Listen and Dial use it; the core does not.
	FeedAddr string

	// TLS encrypts main. A server's TLS needs certificates; a client's may be empty. Tokens then stay
	// secret, but the feed itself is neither encrypted nor signed. Default nil: plain TCP. Listen and
	// Dial use it; the core does not.
	TLS *tls.Config

	// Sessions, at a server, knows the true addresses of clients in browsers, which the server's own addresses do not reach. Package parley sets
	// it. Default: there are none.
	Sessions interface {
		Source(peer netip.AddrPort) netip.AddrPort
	}

	// Banned, at a server, reports whether an address is banned at the time now. What comes from a banned address is dropped and counted
	// before anything else is done, and has no answer. Any goroutine may call it, for each datagram and each connection, so it must
	// not block. Default: nobody is banned.
	Banned func(now time.Time, from netip.Addr) bool

	// Proxies, at a server, are the networks of proxies in front of it. Each of their TCP connections must begin with a header of the PROXY
	// protocol, version 1 or 2, and the address in it is the client's in all limits, bans and logs. No header is read from
	// others. Default: there are none.
	Proxies []netip.Prefix

	// Log gets a line for each player that joins or leaves. Default: none.
	Log *slog.Logger

	rules *rules
}

// fill returns a copy in which every field has its value.
func (c Config) fill() *Config {
	if c.rules != nil {
		return &c
	}
	c.FeedWait = cmp.Or(c.FeedWait, 5*time.Second)
	c.FeedTimeout = cmp.Or(c.FeedTimeout, 10*time.Second)
	c.JoinTimeout = cmp.Or(c.JoinTimeout, 10*time.Second)
	c.JoinTimeout = max(c.JoinTimeout, c.FeedWait+2*time.Second)
	c.Resync = cmp.Or(c.Resync, 5*time.Second)
	c.Resync = max(c.Resync, 0)
	c.Linger = cmp.Or(c.Linger, time.Second)
	c.Linger = max(c.Linger, 0)
	c.MaxQueue = cmp.Or(c.MaxQueue, 1<<20)
	c.MaxQueue = max(c.MaxQueue, 2*fillBytes)
	c.MaxState = cmp.Or(c.MaxState, 16<<20)
	c.MaxUpdate = cmp.Or(c.MaxUpdate, 1200)
	c.MaxUpdate = min(c.MaxUpdate, MaxDatagram)
	if c.Sessions != nil { // an element goes the same way to all
		c.MaxUpdate = min(c.MaxUpdate, way.Largest(way.SessionAddr(way.WebTransport, 0).Addr()))
	}
	c.MaxPlayers = cmp.Or(c.MaxPlayers, 5000)
	c.MaxPlayers = min(c.MaxPlayers, 28_000)
	c.rules = c.Schema.compile()
	return &c
}
