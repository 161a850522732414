package parley_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os/signal"
	"syscall"
	"time"

	"parley"
	"parley/world"
)

// Ship is a player's own entity: its exported fields are what players see.
type Ship struct {
	world.Body
	Health int16
}

// sail is the whole game: who comes gets a ship, and ships go where they are steered.
func sail(w *world.World, in []world.Input) {
	for i := range in {
		switch in[i].Kind {
		case world.Join:
			w.Own(in[i].Player, world.SpawnFor(w, &in[i], Ship{Health: 100}))
		case world.Steer:
			w.Steer(&in[i])
		}
	}
	w.MoveAll()
}

// A game is served until a signal comes; every player is told then.
func ExampleServe() {
	game := parley.Game{Name: "ships", Kinds: world.Kinds(Ship{}), Step: sail}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := parley.Serve(ctx, game, parley.Config{}); err != nil {
		log.Fatal(err)
	}
}

// Start is for who wants to do something with a running server.
func ExampleStart() {
	game := parley.Game{Name: "ships", Kinds: world.Kinds(Ship{}), Step: sail}
	server, err := parley.Start(game, parley.Config{
		Replica: "127.0.0.1:0", Relay: "127.0.0.1:0", // ports of the system's choice
		Stamp: parley.Off, Duplex: parley.Off, Realm: parley.Off,
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range server.Addrs() {
		fmt.Println(a.Name, "listens on", a.Addr.Addr())
	}
	server.Broadcast("", "the tide is coming in")
	players, _ := server.Players()
	for _, p := range players {
		server.Kick(p.Room, p.ID, "the harbour closes")
	}
	fmt.Println(server.Close())
	// Output:
	// replica listens on 127.0.0.1
	// relay listens on 127.0.0.1
	// <nil>
}

// A server has as many worlds as it is told to open. Players ask for one by its name.
func ExampleServer_Open() {
	game := parley.Game{Name: "ships", Kinds: world.Kinds(Ship{}), Step: sail}
	server, err := parley.Start(game, parley.Config{
		Replica: "127.0.0.1:0", Stamp: parley.Off, Relay: parley.Off, Duplex: parley.Off, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	err = server.Open(parley.Room{Name: "regatta", Seed: 7, Mode: "race", MaxPlayers: 8, Idle: 10 * time.Minute})
	fmt.Println(err, errors.Is(server.Open(parley.Room{Name: "regatta"}), parley.ErrRoomThere))
	rooms, _ := server.Rooms()
	for _, r := range rooms {
		fmt.Printf("%s %q: %d of %d players\n", r.Name, r.Mode, r.Players, r.MaxPlayers)
	}
	fmt.Println(server.CloseRoom("regatta"))
	// Output:
	// <nil> true
	// main "": 0 of 1000 players
	// regatta "race": 0 of 8 players
	// <nil>
}

// Two players who want the same are matched, and get a room of their own.
func ExampleServer_Match() {
	game := parley.Game{Name: "ships", Kinds: world.Kinds(Ship{}), Step: sail}
	server, err := parley.Start(game, parley.Config{
		Replica: "127.0.0.1:0", Stamp: parley.Off, Relay: parley.Off, Duplex: parley.Off, Realm: parley.Off, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	rooms := make(chan string)
	for _, name := range []string{"ann", "ben"} {
		go func() {
			found, err := server.Match(context.Background(), parley.MatchRequest{Name: name, Mode: "duel", Players: 2})
			if err != nil {
				log.Fatal(err)
			}
			rooms <- found.Room // found.Ticket lets the player in
		}()
	}
	one, other := <-rooms, <-rooms
	fmt.Println(one == other)
	// Output: true
}
