package parley

import (
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/netip"
	"time"

	"parley/account"
	"parley/internal/scribe"
	"parley/play/keep"
	realmcore "parley/protocol/realm/core"
	"parley/protocol/relay"
	"parley/protocol/relay/connector"
	relaycore "parley/protocol/relay/core"
	"parley/world"
)

// Off, in place of an address, turns a dialect off.
const Off = "off"

// Keep says when rooms are on disk.
type Keep = keep.Mode

// The values of Config.Keep.
const (
	KeepNothing = keep.Off    // rooms end with the server
	KeepSecond  = keep.Second // ticks are written at once and synced once a second: a loss of power loses at most the last second, a killed server nothing
	KeepTick    = keep.Tick   // a tick is synced before anybody is told of it. While the disk fails, rooms stand still
)

// Game is the code of a game: kinds of entities, actions and one Step function.
type Game = world.Game

// Config sets up a server. The zero Config is usable: replica, stamp, relay and duplex listen at their usual ports on all
// addresses. One line adds realm, which needs accounts:
//
//	parley.Config{Accounts: sqlite.OpenIn} // from parley/account/sqlite
//
// Config must not be changed after use.
type Config struct {
	// Replica, Stamp, Relay, Duplex, Realm and RealmTime are the addresses at which the dialects listen, written host:port. With
	// port 0 the system chooses the port. Off turns the dialect off. Default ":7000", ":7001", ":8082", ":7004" (TCP and UDP),
	// ":9999" (TCP) and ":9998" (UDP). Realm needs Accounts.
	Replica, Stamp, Relay, Duplex, Realm, RealmTime string

	// DataDir is the folder for accounts, realm's certificate, used tickets, bans and kept rooms. It is created when needed, and is for one
	// server at a time. Default "parley-data".
	DataDir string

	// Accounts opens the store of realm's accounts. Start calls it with DataDir, and the server closes the store. sqlite.OpenIn
	// of parley/account/sqlite keeps accounts in a file in DataDir. Default nil: realm is off. It is a function so that a game
	// compiles only the database that it uses.
	Accounts func(dataDir string) (account.Store, error)

	// Registrations bounds the attempts to register from one address in a minute. Failures bounds the failed log-ins in a
	// minute, from one address and for one name. Default 3 and 5; negative means no limit.
	Registrations, Failures int

	// TickRate is the number of ticks a second, at most 1,000. Default 20.
	TickRate int

	// Seed is the seed of the main room's random source and terrain. Default 0.
	Seed uint64

	// Mode is a text that the game reads with World.Mode in the main room, at most 255 bytes. Default none.
	Mode string

	// Sight is the distance up to which a player is told of entities, in cells (the unit of length). Default 128; negative means
	// everything.
	Sight float64

	// MaxPlayers bounds the players of all rooms and dialects together, at most world.MaxPlayers. Default 1,000.
	MaxPlayers int

	// MaxRooms bounds the rooms, the main room included (see Server.Open). One in eight is not for matches and other rooms that
	// strangers have opened (Room.ByPlayers). Default 1,000.
	MaxRooms int

	// PerAddress bounds the seats that one address has at a time, over all dialects, spectators included. With IPv6, a /64
	// counts as one address. It also bounds how fast the address takes seats. Default 256. Negative means no limit, for a server
	// whose players connect through a proxy.
	PerAddress int

	// Hold is how long a player's place is held after the connection is lost: the player is away, and its client may bring it
	// back, over any dialect. At most 18 hours. Default 30 s; negative means not at all.
	Hold time.Duration

	// Cluster has other servers run the same rooms: ClusterOf of a node of package parley/cluster. Rooms are then kept by the cluster, and Keep
	// must be KeepNothing. Default nil: this server is alone.
	Cluster *Cluster

	// Keep says when rooms are written to DataDir, so that a server that was stopped or killed goes on where it was: each room at
	// its tick, and each player away until its client comes back. Rooms that were kept are resumed by Start, the main room with
	// the seed and mode that it had. DataDir is then locked. Default KeepNothing.
	Keep Keep

	// KeepHistory keeps the whole log of each room, also of those that have ended. Default off: the newest two snapshots are
	// kept, and the log since the older one.
	KeepHistory bool

	// Chat, if set, is asked about each line that a player says, before it is ordered: it returns the line as all are to read it, or false to
	// drop it. The goroutine that runs all rooms calls it, so it must not block, and methods of Server that wait return
	// ErrInStep in it. If it panics, or returns a text that is empty, over 512 bytes or not UTF-8, the line is dropped, and the
	// log says so. Default: all lines are said as they are.
	Chat func(ChatLine) (text string, ok bool)

	// StampRoom is the room that spectators of stamp watch. Default MainRoom.
	StampRoom string

	// NoMainAccounts keeps accounts of realm out of the main room when TicketKey is set. Otherwise they enter it without a ticket.
	NoMainAccounts bool

	// Record, if set, receives a recording of the main room. world.Replay runs it again and finds the first tick whose result
	// differs (`parley replay` does so for the arena). The first write error ends the recording, not the game, and is logged.
	// When the game ends the main room with World.End, the recording is complete: the main room that follows is not recorded.
	Record io.Writer

	// RelayConnector, if set, makes relay speak the message set of an existing game: it is connector.Listen of
	// parley/protocol/relay/connector. Clients of that game then play it through this server, and none of them is in the world. It is a
	// function so that other games compile nothing of it.
	RelayConnector func(addr string, c connector.Config) (*connector.Server, error)

	// RelayUnproven makes relay admit an address at its first package, for clients that do not answer a challenge. Default off.
	// It is for trusted networks only: an attacker who forges addresses can take seats for them.
	RelayUnproven bool

	// TicketKey, if set, makes players of replica, relay and duplex show a ticket that is signed with it (see protocol/relay).
	// The ticket names the room "main" or no room. A ticket admits one player. Used tickets are kept in DataDir until they
	// expire. Players of realm need no ticket, as they have accounts. Spectators need none either, so stamp is then off unless
	// Stamp is set. Default nil: all players are guests.
	TicketKey relay.TicketKey

	// RealmTLS holds the certificate of realm. Default: a self-signed certificate, kept in DataDir.
	RealmTLS *tls.Config

	// RealmPlain turns realm's TLS off, for use behind a proxy that terminates TLS.
	RealmPlain bool

	// RealmTimeForAll makes realm's time server answer every address, with a rate limit for each. Otherwise it answers only
	// addresses with a live connection. Behind a proxy (RealmPlain), players' own addresses have none.
	RealmTimeForAll bool

	// RealmSight is the radius, in chunks, of the terrain that a realm player is sent without asking, on entry and as it moves.
	// Default 0: the nine chunks around it on entry, and others when its client asks.
	RealmSight int

	// RealmLoginWithin is the time that a realm client has to log in. Default one minute.
	RealmLoginWithin time.Duration

	// Proxies are the networks of proxies in front of duplex and realm. Each of their TCP connections must begin with a header of the
	// PROXY protocol, version 1 or 2, and the address in it is the player's in all limits, bans and logs. No header is read
	// from others. Default: there are none.
	Proxies []netip.Prefix

	// RealmConfig lists the fields that the game adds to realm's config message. RealmExtension lists their values.
	RealmConfig    []realmcore.Field
	RealmExtension []realmcore.Value

	// RealmFirstType is the number of the kind that is type 0 in realm. Default 0: type numbers equal kind numbers.
	RealmFirstType int

	// Browsers, if set, brings players in browsers, who come over WebSocket and WebTransport to a port of their own. Package program sets it,
	// and serves them at --play. Default: nobody does.
	Browsers interface{ Dialects() []string }

	// Log gets a line for each player that joins or leaves. Its handler may block: a goroutine of its own calls it, behind a
	// bounded buffer. Each kind of line is limited to ten a second. Stats().Log counts the lines that were dropped. Default:
	// slog.Default().
	Log *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Stamp == "" && c.TicketKey != nil {
		c.Stamp = Off
	}
	for _, d := range []struct {
		addr     *string
		standard string
	}{{&c.Replica, ":7000"}, {&c.Stamp, ":7001"}, {&c.Relay, ":8082"}, {&c.Duplex, ":7004"}, {&c.Realm, ":9999"}, {&c.RealmTime, ":9998"}, {&c.DataDir, "parley-data"}} {
		if *d.addr == "" {
			*d.addr = d.standard
		}
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	c.Log = slog.New(scribe.New(c.Log.Handler()))
	if c.Record != nil {
		c.Record = watchedRecord{c.Record, c.Log}
	}
	return c
}

// maxHold is the most that the dialects can say: 65,535 seconds are 18.2 hours.
const maxHold = 18 * time.Hour

// check refuses what no part of a server would.
func (c Config) check() error {
	switch {
	case c.TickRate < 0 || c.TickRate > 1000: // a tick of a negative rate would never wait
		return fmt.Errorf("parley: Config.TickRate must be 1 to 1000, or 0 for 20, not %d", c.TickRate)
	case c.MaxPlayers < 0 || c.MaxPlayers > world.MaxPlayers:
		return fmt.Errorf("parley: Config.MaxPlayers must be 1 to %d, or 0 for 1000, not %d", world.MaxPlayers, c.MaxPlayers)
	case c.MaxRooms < 0:
		return fmt.Errorf("parley: Config.MaxRooms must be at least 1, or 0 for 1000, not %d", c.MaxRooms)
	case c.Keep > KeepTick:
		return fmt.Errorf("parley: Config.Keep must be KeepNothing, KeepSecond or KeepTick, not %v", c.Keep)
	case c.Cluster != nil && c.Keep != KeepNothing:
		return fmt.Errorf("parley: Config.Cluster is set, and Config.Keep is %v: the cluster keeps the rooms, so leave Keep at KeepNothing", c.Keep)
	case c.KeepHistory && c.Keep == KeepNothing:
		return fmt.Errorf("parley: Config.KeepHistory is set, and Config.Keep is KeepNothing: set Keep too")
	case c.Hold > maxHold:
		return fmt.Errorf("parley: Config.Hold must be at most %v, not %v", maxHold, c.Hold)
	case math.IsNaN(c.Sight) || math.IsInf(c.Sight, 0):
		return fmt.Errorf("parley: Config.Sight must be a number of cells, or below 0 for everything, not %v", c.Sight)
	case c.TicketKey != nil && len(c.TicketKey) < relaycore.MinTicketKey:
		return fmt.Errorf("parley: Config.TicketKey has %d bytes, and at least %d are needed: make a longer key", len(c.TicketKey), relaycore.MinTicketKey)
	case c.Accounts == nil && c.Realm != "" && c.Realm != Off:
		return fmt.Errorf("parley: Config.Realm is %q, and Config.Accounts is nil: set Accounts to sqlite.OpenIn of parley/account/sqlite, or leave Realm out", c.Realm)
	case len(c.RealmConfig) != len(c.RealmExtension):
		return fmt.Errorf("parley: Config.RealmConfig has %d fields, and Config.RealmExtension has %d values: give each field one value", len(c.RealmConfig), len(c.RealmExtension))
	}
	return nil
}

// watchedRecord logs what ends a recording: nobody else would hear of a full disk.
type watchedRecord struct {
	io.Writer
	log *slog.Logger
}

func (r watchedRecord) Write(p []byte) (int, error) {
	n, err := r.Writer.Write(p)
	if err != nil {
		r.log.Error("the recording ends here, the game goes on", "err", err)
	}
	return n, err
}
