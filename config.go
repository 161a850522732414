package parley

import (
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"math"
	"time"

	"parley/account"
	"parley/internal/scribe"
	"parley/protocol/realm"
	"parley/protocol/relay"
	"parley/world"
)

// Off, as an address, leaves a dialect out.
const Off = "off"

// Game is what a user writes: kinds, actions and one Step function.
type Game = world.Game

// Config is how a game is served. The zero Config is usable: replica, stamp, relay and duplex at
// their usual ports on all addresses. One line adds realm, which needs accounts:
//
//	parley.Config{Accounts: sqlite.OpenIn} // of parley/account/sqlite
//
// A Config is not changed after use.
type Config struct {
	// Replica, Stamp, Relay, Duplex, Realm and RealmTime are where the dialects listen, written
	// host:port; port 0 lets the system choose, and Off leaves the dialect out. Default
	// ":7000", ":7001", ":8082", ":7004" (TCP and UDP), ":9999" (TCP) and ":9998" (UDP). Realm needs Accounts.
	Replica, Stamp, Relay, Duplex, Realm, RealmTime string

	// DataDir is the folder of accounts, realm's certificate and used tickets. It is made when it is needed. Default "parley-data".
	DataDir string

	// Accounts opens the store of realm's accounts. Start calls it with DataDir, and the server closes the store.
	// sqlite.OpenIn of parley/account/sqlite keeps accounts in a file of DataDir. Default nil: realm is off. It is a function so that
	// a game compiles only the database that it uses.
	Accounts func(dataDir string) (account.Store, error)

	// Registrations is how many tries to register a minute an address may have, and Failures how
	// many log-ins of an address or a name may fail. Default 3 and 5; negative is no limit.
	Registrations, Failures int

	// TickRate is how many ticks a second has, at most 1,000. Default 20.
	TickRate int

	// Seed makes one world unlike another. Default 0.
	Seed uint64

	// Sight is how far a player sees, in cells. Default 128; below 0 is everything.
	Sight float64

	// MaxPlayers bounds the players of all dialects together, at most world.MaxPlayers. Default 1,000.
	MaxPlayers int

	// PerAddress bounds the seats of an address (of a /64 with IPv6) at once, over all dialects, spectators included, and how fast
	// it takes them. Default 256; below 0 is no limit, for a server whose players come through a proxy.
	PerAddress int

	// Record, if set, gets a recording of all that happens: world.Replay runs it again and finds the
	// first tick that comes out otherwise. (`parley replay` does so for the arena.) The first error ends
	// the recording, not the game, and is logged.
	Record io.Writer

	// RelayConnector has relay speak the message set of an existing game (see
	// protocol/relay/connector): its clients then play their own games through this server, and
	// none of them is in the world.
	RelayConnector bool

	// RelayUnproven has relay let an address in with its first package, for clients that answer no challenge. Default
	// off. It is for trusted networks: whoever forges addresses then takes places in their names.
	RelayUnproven bool

	// TicketKey has the players of replica, relay and duplex show a ticket (see protocol/relay) for the room "main" or for none.
	// Each lets in one player: which were used is kept in DataDir until they expire. realm's accounts need none. Spectators
	// need none either, so stamp is off unless Stamp is set. Default: all are guests.
	TicketKey relay.TicketKey

	// RealmTLS is the certificate of realm. Default: one of its own, kept in DataDir.
	RealmTLS *tls.Config

	// RealmPlain has realm without TLS, for use behind a proxy that has it.
	RealmPlain bool

	// RealmTimeForAll has realm's time server answer every address, within a rate for each, and not only
	// addresses with a live connection: behind a proxy (RealmPlain) no player's address has one.
	RealmTimeForAll bool

	// RealmSight is how many chunks around its own a realm player is sent without a question, when it enters and
	// as it walks. Default 0: the nine around it when it enters, and others when its client asks.
	RealmSight int

	// RealmLoginWithin is how long a realm client may take until it has logged in. Default one minute.
	RealmLoginWithin time.Duration

	// RealmConfig is what the game adds to realm's config message, and RealmExtension the
	// values.
	RealmConfig    []realm.Field
	RealmExtension []realm.Value

	// RealmFirstType is the number of the kind that is type 0 in realm. Default 0: types are
	// the numbers of kinds.
	RealmFirstType int

	// Log gets a line for each player that comes and goes. Its handler may block: it is called by a goroutine of its own,
	// behind a bounded buffer. A kind of line comes at most ten times a second. Stats("log") counts the lines that were
	// left out. Default: slog.Default().
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

// check refuses what no part of a server would.
func (c Config) check() error {
	switch {
	case c.TickRate < 0 || c.TickRate > 1000: // a tick of a negative rate would never wait
		return fmt.Errorf("parley: Config.TickRate is 1 to 1000, or 0 for 20, not %d", c.TickRate)
	case c.MaxPlayers < 0 || c.MaxPlayers > world.MaxPlayers:
		return fmt.Errorf("parley: Config.MaxPlayers is 1 to %d, or 0 for 1000, not %d", world.MaxPlayers, c.MaxPlayers)
	case math.IsNaN(c.Sight) || math.IsInf(c.Sight, 0):
		return fmt.Errorf("parley: Config.Sight is a number of cells, below 0 for everything, not %v", c.Sight)
	case c.TicketKey != nil && len(c.TicketKey) < relay.MinTicketKey:
		return fmt.Errorf("parley: Config.TicketKey has %d bytes: at least %d are needed", len(c.TicketKey), relay.MinTicketKey)
	case c.Accounts == nil && c.Realm != "" && c.Realm != Off:
		return fmt.Errorf("parley: Config.Realm is %q, and Config.Accounts is nil: set Accounts to sqlite.OpenIn of parley/account/sqlite, or leave Realm out", c.Realm)
	case len(c.RealmConfig) != len(c.RealmExtension):
		return fmt.Errorf("parley: Config.RealmConfig has %d fields, and RealmExtension %d values", len(c.RealmConfig), len(c.RealmExtension))
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
