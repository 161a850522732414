package realm

import (
	"time"
)

// Config is how a server or a client speaks. The zero Config is usable. It is not changed
// after use.
type Config struct {
	// Schema says what the game's attributes, actions and config fields are. Both ends
	// must have the same. Default: none of them.
	Schema Schema

	// TickRate is how many ticks a second has. Default 20. A client must have the server's,
	// as the wire does not tell it.
	TickRate int

	// MinVersion and MaxVersion are what a server accepts. Default 9 and 10.
	MinVersion, MaxVersion uint16

	// Version is what a client speaks. Default 10.
	Version uint16

	// MaxRollbackTicks is how many ticks in the past a client's tick may be. Default 20;
	// negative is none.
	MaxRollbackTicks int

	// TimeServerPort is told to clients. A Server sets it to the port of its own time server.
	TimeServerPort uint16

	// Extension is what the game adds to config, of the types of Schema.Config.
	Extension []Value

	// PingAfter is how long nothing may come before a ping is sent. Default 5 s.
	PingAfter time.Duration

	// Timeout is how long nothing may come before the connection is given up with exit 3.
	// Default 10 s.
	Timeout time.Duration

	// VersionWithin is how long a client may take for its first message, the handshake
	// included. Default 5 s.
	VersionWithin time.Duration

	// LoginWithin is how long a client may take until it is in the game. Default 60 s.
	LoginWithin time.Duration

	// Linger is how long an exit may take to be written. Default 1 s.
	Linger time.Duration

	// MaxQueue bounds the bytes that wait to be written to one peer. At a server, entity updates
	// in it are merged first; if that is not enough the client is dropped with exit 2.
	// A client's calls fail with ErrQueueFull. Default 1 MiB.
	MaxQueue int

	// MaxPlayers bounds the players in the game; further log-ins are answered 5. Default
	// 4,096.
	MaxPlayers int

	// MaxWaiting bounds the connections that are not in the game. Of more, the one that came
	// first is closed, so that a crowd that never logs in keeps nobody out. Default 8,192. A Server
	// takes a quarter of them, and closes the newest of the address that has the most.
	MaxWaiting int

	// MaxChat is the largest chat_send in bytes; a longer one is exit 2. Default 512.
	MaxChat int

	// ChatRate is how many a second are taken; further ones are dropped and counted.
	// Default 5.
	ChatRate int

	// OwnChat says that the game tells others what was said, or not. Without it a server
	// broadcasts each chat_send, and tells the game of it.
	OwnChat bool

	// Terrain gives the chunks of the world. Without it clients get none.
	Terrain TerrainSource

	// TerrainByTurn has chunks sent when the game calls Conn.SendChunks, and not whenever a client's
	// budget has room: a game that has many players can so bound what their terrain costs it all
	// together. The chunk that a player enters in is sent by Enter in any case.
	TerrainByTurn bool

	// SightRadius is how many chunks around its own a player is sent when it enters. Default 1,
	// which are nine chunks in all; negative is just its own.
	SightRadius int

	// FollowSight has a player sent the chunks that come within SightRadius as it walks, for clients that never ask:
	// the game tells where it is with Conn.LookFrom.
	FollowSight bool

	// TerrainRate is the budget of terrain for each client in bytes a second. Default 256 KiB.
	TerrainRate int

	// Log gets a line for each connection that begins or ends. Default: none.
	Log *Logger

	filled    bool
	extension Fields
	codec     *Codec
}

// TerrainSource gives the chunks of a world. It is called on the server's loop, within the byte
// budget of whoever is to get the chunk, and must not block.
type TerrainSource interface {
	// AppendChunk appends a chunk, as AppendChunk of this package does, or returns false if
	// there is none at that place.
	AppendChunk(b []byte, id ChunkID) ([]byte, bool)
}

// fill returns a copy in which every field has its value. It panics if Extension is not of
// the schema's types.
func (c Config) fill() *Config {
	if c.filled {
		return &c
	}
	orElse(&c.TickRate, 20)
	orElse(&c.MinVersion, Version9)
	orElse(&c.MaxVersion, Version10)
	orElse(&c.Version, Version10)
	orElse(&c.MaxRollbackTicks, 20)
	c.MaxRollbackTicks = max(c.MaxRollbackTicks, 0)
	orElse(&c.PingAfter, 5*time.Second)
	orElse(&c.Timeout, 10*time.Second)
	orElse(&c.VersionWithin, 5*time.Second)
	orElse(&c.LoginWithin, time.Minute)
	orElse(&c.Linger, time.Second)
	orElse(&c.MaxQueue, 1<<20)
	orElse(&c.MaxPlayers, 4096)
	orElse(&c.MaxWaiting, 8192)
	orElse(&c.MaxChat, 512)
	orElse(&c.ChatRate, 5)
	orElse(&c.SightRadius, 1)
	c.SightRadius = max(c.SightRadius, 0)
	orElse(&c.TerrainRate, 256<<10)
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

func orElse[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
