package program

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	front "parley"
	"parley/account"
	"parley/account/postgres"
	"parley/account/sqlite"
	"parley/internal/carry"
	"parley/play/keep"
	"parley/protocol/relay/connector"
	"parley/world"
)

// serverConfig turns flags into the game and how it is served. done lets go of what was opened; it is told
// whether the server has started.
func (f *serveFlags) serverConfig(ctx context.Context, log *slog.Logger) (game front.Game, c front.Config, done func(started bool), err error) {
	var closers []func(started bool)
	done = func(started bool) {
		for _, c := range slices.Backward(closers) {
			c(started)
		}
	}
	c = front.Config{
		Replica: f.replica, Stamp: f.stamp, Relay: f.relay, Duplex: f.duplex, Realm: f.realm, RealmTime: f.realmTime,
		DataDir: f.data, TickRate: f.tickRate, Seed: f.seed, Mode: f.mode, Sight: f.sight, MaxPlayers: f.maxPlayers, MaxRooms: f.maxRooms, PerAddress: f.perAddress, RealmPlain: f.realmPlain, RealmTimeForAll: f.realmTimeForAll, RelayUnproven: f.relayUnproven,
		Registrations: f.registrations, Failures: f.failures, Accounts: sqlite.OpenIn, Log: log,
	}
	if c.Seed == 0 {
		c.Seed = randomSeed()
	}
	if err := f.check(); err != nil {
		return game, c, done, err
	}
	c.Proxies = f.play.proxies.list
	if c.Keep, err = keep.ParseMode(f.keep); err != nil {
		return game, c, done, fmt.Errorf("--keep must be off, second or tick, not %q", f.keep)
	}
	if f.cluster.name != "" {
		c.Keep = front.KeepNothing // the cluster keeps the rooms
	}
	c.KeepHistory, c.StampRoom, c.NoMainAccounts = f.keepHistory, f.stampRoom, f.mainAccounts == front.Off
	if c.Hold = f.hold; c.Hold == 0 {
		c.Hold = -1
	}
	switch f.relayLobby {
	case "open":
	case "connector":
		c.RelayConnector = connector.Listen
	default:
		return game, c, done, fmt.Errorf("--relay-lobby must be open or connector, not %q", f.relayLobby)
	}
	profile, err := f.app.profile(f.realmProfile)
	if err != nil {
		return game, c, done, err
	}
	game = profile.game
	c.RealmConfig, c.RealmExtension, c.RealmFirstType = profile.fields, profile.values, profile.firstType
	c.RealmSight, c.RealmLoginWithin = profile.sightRadius, profile.loginWithin
	if profile.tickRate != 0 {
		if f.tickRate != defaultTickRate && f.tickRate != profile.tickRate {
			return game, c, done, fmt.Errorf("--tick-rate is %[3]d, and --realm-profile %[1]s has %[2]d ticks a second; leave out --tick-rate", f.realmProfile, profile.tickRate, f.tickRate)
		}
		f.tickRate = profile.tickRate
		c.TickRate = f.tickRate
	}
	if f.ticketKey != "" {
		if c.TicketKey, err = f.app.readTicketKey(f.ticketKey); err != nil {
			return game, c, done, fmt.Errorf("--ticket-key-file: %v", err) // which is a mistake on the command line here
		}
	}
	if f.postgres != "" && f.realm != front.Off {
		store, err := postgres.Open(ctx, f.postgres)
		if err != nil {
			return game, c, done, fmt.Errorf("--postgres: %w", err)
		}
		c.Accounts = func(string) (account.Store, error) { return store, nil }
		closers = append(closers, func(bool) { store.Close() }) // the server may not have come to it
	}
	if c.Keep == front.KeepNothing && (f.realm != front.Off || f.ticketKey != "" || f.cluster.name != "") { // the server itself locks a folder with rooms
		lock, err := keep.Open(keep.Config{Dir: f.data})
		if err != nil {
			return game, c, done, fmt.Errorf("--data: %w", err)
		}
		closers = append(closers, func(bool) { lock.Close(context.Background()) })
	}
	if f.certificate, err = f.tls.open(f, log); err != nil {
		return game, c, done, err
	}
	if f.certificate != nil {
		c.RealmTLS = f.certificate.realm()
		closers = append(closers, func(bool) { f.certificate.close() })
	}
	if f.play.addr != front.Off {
		f.play.browsers = carry.NewBuilding(carry.Config{OfHost: sessionsOfHost(f.perAddress), Most: max(sessionsAtLeast, 2*f.maxPlayers)})
		c.Browsers = f.play.browsers
	}
	if f.record != "" {
		file, closeFile, err := openRecording(f.record, f.recordOver)
		if err != nil {
			return game, c, done, fmt.Errorf("--record: %w", err)
		}
		c.Record = file
		closers = append(closers, closeFile)
	}
	if f.cluster.name != "" {
		if err := f.cluster.start(f, game, log); err != nil {
			return game, c, done, err
		}
		if err := f.cluster.hearOperators(); err != nil {
			f.cluster.node.Close()
			return game, c, done, err
		}
		c.Cluster = front.ClusterOf(f.cluster.node)
		closers = append(closers, func(bool) { f.cluster.node.Close() })
	}
	return game, c, done, nil
}

// sessionsAtLeast is how many sessions of browsers a server has at least, whatever its number of players.
const sessionsAtLeast = 4096

// sessionsOfHost is how many sessions of browsers an address may have: its seats, and those that have not entered.
func sessionsOfHost(perAddress int) int {
	if perAddress < 0 {
		return -1
	}
	return perAddress + 64
}

// check looks at what no part of the server would refuse.
func (f *serveFlags) check() error {
	playable := false
	for _, a := range []struct{ flag, addr string }{
		{"replica", f.replica}, {"stamp", f.stamp}, {"relay", f.relay}, {"duplex", f.duplex}, {"realm", f.realm}, {"realm-time", f.realmTime}, {"web", f.web}, {"play", f.play.addr},
	} {
		if a.addr == "" { // for a page that would be any port of any address
			return fmt.Errorf("--%s is empty; give an address, host:port, or off", a.flag)
		}
		playable = playable || a.addr != front.Off && a.flag != "realm-time" && a.flag != "web" && a.flag != "play"
	}
	switch {
	case !playable:
		return fmt.Errorf("all five dialects are off, so there is nothing to serve; give one an address")
	case f.web == f.play.addr && f.web != front.Off && !strings.HasSuffix(f.web, ":0"):
		return fmt.Errorf("--web and --play are both %s; give each a port of its own, or turn one off", f.web)
	case f.tickRate < 1 || f.tickRate > 1000:
		return fmt.Errorf("--tick-rate must be 1 to 1000, not %d", f.tickRate)
	case f.maxPlayers < 1 || f.maxPlayers > world.MaxPlayers:
		return fmt.Errorf("--max-players must be 1 to %d, not %d", world.MaxPlayers, f.maxPlayers)
	case f.hold < 0 || f.hold > 18*time.Hour:
		return fmt.Errorf("--hold must be 0 to 18h, not %v", f.hold)
	case f.mainAccounts != "on" && f.mainAccounts != front.Off:
		return fmt.Errorf("--main-accounts must be on or off, not %q", f.mainAccounts)
	case f.keepHistory && f.keep == front.Off:
		return fmt.Errorf("--keep-history is given and --keep is off; say --keep second or --keep tick")
	case f.maxRooms < 1:
		return fmt.Errorf("--max-rooms must be at least 1, not %d", f.maxRooms)
	case f.recordOver && f.record == "":
		return fmt.Errorf("--record-over is given without --record; name the file to record to")
	case f.perAddress < -1 || f.perAddress == 0:
		return fmt.Errorf("--per-address must be at least 1, or -1 for no limit, not %d", f.perAddress)
	case math.IsNaN(f.sight) || math.IsInf(f.sight, 0):
		return fmt.Errorf("--sight must be a number of cells, or below 0 for everything, not %v", f.sight)
	}
	if err := f.tls.check(f); err != nil {
		return err
	}
	if err := f.cluster.check(f); err != nil {
		return err
	}
	return f.play.check()
}

func randomSeed() uint64 {
	var b [4]byte // short enough to be typed again
	rand.Read(b[:])
	return uint64(binary.LittleEndian.Uint32(b[:]))
}
