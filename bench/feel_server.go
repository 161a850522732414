package main

import (
	"encoding/json"

	"parley"
	"parley/arena"
)

// feelPeers are our game server with each dialect that has players.
var feelPeers = []Peer{
	feelPeer("replica", "UDP"), feelPeer("relay", "UDP"), feelPeer("duplex", "a stream of TCP and a feed of UDP"), feelPeer("realm", "TLS over TCP"),
}

func feelPeer(dialect, carrier string) Peer {
	return Peer{
		Name: dialect + " arena", Settings: "the game server and the arena with a zero Config but for addresses, and no limits for one address; " + carrier,
		Ours: true, Only: true, TCP: dialect == "realm", Feel: dialect, Missing: netsMissing,
	}
}

// feelServerRole is the game server with the arena.
func feelServerRole() map[string]deed {
	return map[string]deed{"arena": func(with json.RawMessage) (any, error) {
		w, err := decode[feelWith](with)
		if err != nil {
			return nil, err
		}
		// All players come from one address.
		return listenGame(arena.GameAt(w.Rate), w.Dialect, w.Host, parley.Config{
			TickRate: w.Rate, Sight: float64(w.Sight), DataDir: w.Dir, PerAddress: -1, Registrations: -1,
		})
	}}
}
