package connector

import "parley/protocol/relay"

// Config is how a server with this lobby is. The zero Config is usable. It is not changed after
// use.
type Config struct {
	// MaxGames bounds the games, and so the ports and sockets. An OpenGame beyond is answered
	// with DifferentGame, the one refusal that the message set has. Default 256.
	MaxGames int

	// MaxPlayers bounds the players of each game, whatever its opener asks for. The game's own
	// clients know four. What one sends is sent to all others, so this is also how many bytes
	// a forger who plays with forged players has sent for each of its own. Default 8, at most
	// 256.
	MaxPlayers int

	// MaxStrangers bounds the addresses that have no game and are known because they asked
	// something. The one that is known for longest makes room for the next. Default 1,024.
	MaxStrangers int

	// FirstPort and LastPort are the ports that games may have, both included: for a firewall
	// that lets only these through. There are never more games than ports. Default 0: the system
	// chooses.
	FirstPort, LastPort uint16

	// Log, if set, gets a line for each player that joins or leaves a game, with its number and the
	// game's port. Default none.
	Log *relay.Logger
}

// fill returns a copy in which every field has its value.
func (c Config) fill() *Config {
	orElse(&c.MaxGames, 256)
	orElse(&c.MaxPlayers, 8)
	c.MaxPlayers = min(max(c.MaxPlayers, 1), MaxPlayer+1)
	orElse(&c.MaxStrangers, 1024)
	if c.FirstPort != 0 {
		c.MaxGames = min(c.MaxGames, max(int(c.LastPort)-int(c.FirstPort)+1, 0))
	}
	return &c
}

// maxPeers is how many addresses a server knows at most: a player is one at its game's port and
// may be one at the main port, and so is one that has just left.
func (c *Config) maxPeers() int { return 2*c.MaxGames*c.MaxPlayers + c.MaxStrangers + 64 }

func orElse[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
