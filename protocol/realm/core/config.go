package core

import (
	"cmp"
	"time"
)

// Config sets up a server or a client. The zero Config is usable. Config must not be changed after use.
type Config struct {
	// Schema has the game's attributes, actions and config fields. Both ends must have the same Schema. Default: no
	// attributes, actions or fields.
	Schema Schema

	// TickRate is the number of ticks a second. Default 20. A client must have the same TickRate as its server, which
	// does not send it.
	TickRate int

	// MinVersion and MaxVersion are the oldest and newest versions that a server accepts. Default 9 and 10.
	MinVersion, MaxVersion uint16

	// Version is the version of a client. Default 10.
	Version uint16

	// MaxRollbackTicks is how many ticks a client's message may be late. Default 20; negative means none.
	MaxRollbackTicks int

	// TimeServerPort is the port of the time server, which clients are told. realm.Listen sets it to that of the
	// server's own time server.
	TimeServerPort uint16

	// Extension has the values that the game adds to the config message, with the types of Schema.Config.
	Extension []Value

	// PingAfter is how long a connection may be silent before a ping is sent. Default 5 s.
	PingAfter time.Duration

	// Timeout is how long a connection may be silent before it is closed with exit 3. Default 10 s.
	Timeout time.Duration

	// VersionWithin is how long a client may take for its first message, including the handshake. Default 5 s.
	VersionWithin time.Duration

	// LoginWithin is how long a client may take to enter the game. Default 60 s.
	LoginWithin time.Duration

	// Linger is how long the exit message may take to be written. Default 1 s.
	Linger time.Duration

	// MaxQueue bounds the bytes that wait to be written to one peer. Beyond it, a server first merges entity updates
	// in the queue. If that is not enough, the client is dropped with exit 2. At a client, calls that send fail with
	// ErrQueueFull. Default 1 MiB.
	MaxQueue int

	// MaxPlayers bounds the players in the game. Further log-ins are answered LoginPlayerLimitReached. Default 4,096.
	MaxPlayers int

	// MaxWaiting bounds the connections that are not in the game. Beyond it, the oldest is closed, so that clients
	// that never log in keep nobody out. Default 8,192. A realm.Server admits a quarter of MaxWaiting. Beyond that, it
	// closes the newest connection of the address that has the most.
	MaxWaiting int

	// MaxChat is the size of the largest chat_send in bytes. A longer one causes exit 2. Default 512.
	MaxChat int

	// ChatRate is how many chat_send a second are accepted from a client. Further ones are dropped and counted.
	// Default 5.
	ChatRate int

	// OwnChat leaves chat to the game. Without it, a server broadcasts each chat_send, and also passes it to the game.
	OwnChat bool

	// Terrain returns the chunks of the world of Mux.Main; other groups have their own. Without it, clients get no chunks.
	Terrain TerrainSource

	// TerrainByTurn sends chunks only when the game calls Conn.SendChunks, and not whenever a client's budget allows
	// it. So a game with many players can bound the total cost of their terrain. Conn.Enter sends the chunk of a new
	// player in any case.
	TerrainByTurn bool

	// SightRadius is the radius, in chunks, of the terrain that a player is sent on entry. Default 1, nine chunks in
	// all. If negative, only the player's own chunk is sent.
	SightRadius int

	// FollowSight also sends the chunks that come within SightRadius as the player moves. It is for clients that never
	// ask for chunks. The game reports the player's position with Conn.LookFrom.
	FollowSight bool

	// TerrainRate is the budget for each client's terrain, in bytes a second. Default 256 KiB.
	TerrainRate int

	filled    bool
	extension Fields
	codec     *Codec
}

// TerrainSource returns the chunks of a world. It is called on the server's loop, within the byte budget of the
// receiving client, and must not block.
type TerrainSource interface {
	// AppendChunk appends a chunk, as AppendChunk of this package does, or returns false if there is no chunk at
	// that place.
	AppendChunk(b []byte, id ChunkID) ([]byte, bool)
}

// fill returns a copy in which every field has its value. It panics if Extension is not of
// the schema's types.
func (c Config) fill() *Config {
	if c.filled {
		return &c
	}
	c.TickRate = cmp.Or(c.TickRate, 20)
	c.MinVersion = cmp.Or(c.MinVersion, Version9)
	c.MaxVersion = cmp.Or(c.MaxVersion, Version10)
	c.Version = cmp.Or(c.Version, Version10)
	c.MaxRollbackTicks = cmp.Or(c.MaxRollbackTicks, 20)
	c.MaxRollbackTicks = max(c.MaxRollbackTicks, 0)
	c.PingAfter = cmp.Or(c.PingAfter, 5*time.Second)
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.VersionWithin = cmp.Or(c.VersionWithin, 5*time.Second)
	c.LoginWithin = cmp.Or(c.LoginWithin, time.Minute)
	c.Linger = cmp.Or(c.Linger, time.Second)
	c.MaxQueue = cmp.Or(c.MaxQueue, 1<<20)
	c.MaxPlayers = cmp.Or(c.MaxPlayers, 4096)
	c.MaxWaiting = cmp.Or(c.MaxWaiting, 8192)
	c.MaxChat = cmp.Or(c.MaxChat, 512)
	c.ChatRate = cmp.Or(c.ChatRate, 5)
	c.SightRadius = cmp.Or(c.SightRadius, 1)
	c.SightRadius = max(c.SightRadius, 0)
	c.TerrainRate = cmp.Or(c.TerrainRate, 256<<10)
	if c.codec == nil {
		c.codec = NewCodec(c.Schema)
	}
	if len(c.Extension) > 0 {
		var err error
		if c.extension, err = c.codec.Extension(c.Extension...); err != nil {
			panic("realm: Config.Extension is not what Config.Schema.Config says")
		}
	}
	c.filled = true
	return &c
}
