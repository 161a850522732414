package connector

import (
	"cmp"
	"net/netip"
	"time"

	"parley/protocol/relay/core"
)

// Config sets up a server with this lobby. The zero Config is usable. Config must not be changed after use.
type Config struct {
	// MaxGames bounds the games, and so the ports and sockets. Further OpenGame messages are answered with
	// DifferentGame, the only refusal in the message set. Default 256.
	MaxGames int

	// MaxPlayers bounds the players of each game, whatever its opener asks for. Each package is sent to all others, so
	// this also bounds the amplification if an attacker fills a game with forged addresses. Default 4, the most that
	// the game's own clients support. Up to 256 are possible, but only with PassForeign.
	MaxPlayers int

	// PassForeign relays messages that the game's own clients cannot decode: player numbers above 3, unknown classes
	// and types of objects, paths of 60 points. It is for other clients that use the message set: the game's own
	// clients end their session when such a message reaches them. Default false: such packages are dropped and counted.
	PassForeign bool

	// MaxStrangers bounds the known addresses that have no game. The one that has been silent for
	// longest makes room for the next. Default 1,024.
	MaxStrangers int

	// FirstPort and LastPort are the range of ports for games, both included, for a firewall that lets only these
	// through. There are never more games than ports. Default 0: the system chooses.
	FirstPort, LastPort uint16

	// Banned, at a server, reports whether an address is banned at the time now. What comes from a banned address is dropped and counted
	// before anything else is done, and has no answer. Any goroutine may call it, for each datagram, so it must
	// not block. Default: nobody is banned.
	Banned func(now time.Time, from netip.Addr) bool

	// Log, if set, gets a line for each player that joins or leaves a game, with its number and the
	// game's port. Default: none.
	Log *core.Logger

	linger  time.Duration // closeWithin, or less in tests that would wait for it
	confirm time.Duration // confirmAfter, or another in a test that goes by the millisecond
}

// fill returns a copy in which every field has its value.
func (c Config) fill() *Config {
	c.MaxGames = cmp.Or(c.MaxGames, 256)
	c.MaxPlayers = cmp.Or(c.MaxPlayers, seatsOfTheGame)
	c.MaxPlayers = min(max(c.MaxPlayers, 1), MaxPlayer+1)
	if !c.PassForeign {
		c.MaxPlayers = min(c.MaxPlayers, seatsOfTheGame)
	}
	c.MaxStrangers = cmp.Or(c.MaxStrangers, 1024)
	c.confirm = cmp.Or(c.confirm, confirmAfter)
	c.linger = cmp.Or(c.linger, closeWithin)
	if c.FirstPort != 0 {
		c.MaxGames = min(c.MaxGames, max(int(c.LastPort)-int(c.FirstPort)+1, 0))
	}
	return &c
}

// maxPeers is how many addresses a server knows at most: a player is one at its game's port and
// may be one at the main port, and so is one that has just left.
func (c *Config) maxPeers() int { return 2*c.MaxGames*c.MaxPlayers + c.MaxStrangers + 64 }

// Addresses that proved nothing hold at most a quarter of the games and of the seats, and a sixteenth of the strangers: a stranger
// takes 4 KiB, so that is the memory of a quarter at 1 KiB each. Beyond that they are asked first: see riddle.go.
func (c *Config) unprovenGames() int     { return max(c.MaxGames/4, 1) }
func (c *Config) unprovenSeats() int     { return max(c.MaxGames*c.MaxPlayers/4, c.MaxPlayers) }
func (c *Config) unprovenStrangers() int { return max(c.MaxStrangers/16, 1) }
