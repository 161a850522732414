package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/netip"

	"parley"
	"parley/account/storetest"
	"parley/world"
)

// narrowPeers are our game server with each of its dialects.
var narrowPeers = []Peer{
	narrowPeer("replica", "UDP"), narrowPeer("relay", "UDP"), narrowPeer("duplex", "a stream of TCP and a feed of UDP"), narrowPeer("realm", "TLS over TCP"),
	narrowPeer("stamp", "UDP, a spectator"),
}

func narrowPeer(dialect, carrier string) Peer {
	return Peer{
		Name: dialect + " player", Settings: "the game server with a zero Config but for addresses; " + carrier, Ours: true, Only: true, TCP: dialect == "realm",
		Narrow: dialect, Missing: netsMissing,
	}
}

// narrowWith says which game is played, and where.
type narrowWith struct {
	Dialect string `json:"dialect"`
	Host    string `json:"host"` // where the server listens
	Dir     string `json:"dir"`  // for its files
	Walkers int    `json:"walkers"`
	Near    int    `json:"near"`
	Rate    int    `json:"rate"`
}

// narrowServerRole is the game server with a world of walkers.
func narrowServerRole() map[string]deed {
	var clock tickClock
	return map[string]deed{
		"listen": func(with json.RawMessage) (any, error) {
			w, err := decode[narrowWith](with)
			if err != nil {
				return nil, err
			}
			return listenNarrow(w, &clock)
		},
		"ticks": func(json.RawMessage) (any, error) { return clock.all(), nil },
	}
}

// listenNarrow starts a server of walkers.
func listenNarrow(w narrowWith, clock *tickClock) (netip.AddrPort, error) {
	return listenGame(narrowGame(clock), w.Dialect, w.Host, parley.Config{TickRate: w.Rate, Sight: narrowSight, DataDir: w.Dir})
}

// listenGame starts a game server that speaks one dialect, and returns its address.
func listenGame(game world.Game, dialect, host string, c parley.Config) (addr netip.AddrPort, err error) {
	for _, a := range []*string{&c.Replica, &c.Stamp, &c.Relay, &c.Duplex, &c.Realm, &c.RealmTime} {
		*a = parley.Off
	}
	at := map[string]*string{"replica": &c.Replica, "stamp": &c.Stamp, "relay": &c.Relay, "duplex": &c.Duplex, "realm": &c.Realm}[dialect]
	if at == nil {
		return addr, fmt.Errorf("there is no dialect %q", dialect)
	}
	*at = net.JoinHostPort(host, "0")
	if dialect == "realm" {
		c.RealmTime = *at
	}
	c.Accounts, c.Log = storetest.OpenMemory, slog.New(slog.DiscardHandler)
	s, err := parley.Start(game, c)
	if err != nil {
		return addr, err
	}
	for _, a := range s.Addrs() {
		if a.Name == dialect {
			return a.Addr, nil
		}
	}
	return addr, fmt.Errorf("%s does not listen", dialect)
}
