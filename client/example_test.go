package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"time"

	"parley"
	"parley/client"
	"parley/world"
)

// Ship is a player's own entity in the examples' game.
type Ship struct {
	world.Body `parley:"speed=3"`
	Health     int16
}

// Fire is what a player can do.
type Fire struct{ Angle float32 }

// sea is the examples' game: the same value is given to parley.Start and to client.Dial.
var sea = world.Game{
	Name: "sea", Kinds: world.Kinds(Ship{}), Actions: world.Actions(Fire{}),
	Step: func(w *world.World, inputs []world.Input) {
		for i := range inputs {
			in := &inputs[i]
			switch in.Kind {
			case world.Join:
				w.Own(in.Player, world.SpawnFor(w, in, Ship{Health: 100}))
			case world.Steer:
				w.Steer(in)
			case world.Act:
				if fire, ok := world.Read[Fire](in); ok {
					world.Done(w, in, fire)
				}
			}
		}
		w.MoveAll()
	},
}

// serve starts a server of a dialect, and returns its address.
func serve() (server *parley.Server, url string) {
	server, err := parley.Start(sea, parley.Config{
		Replica: "127.0.0.1:0", Stamp: parley.Off, Relay: parley.Off, Duplex: parley.Off, Realm: parley.Off, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		log.Fatal(err)
	}
	return server, "replica://" + server.Addrs()[0].Addr.String()
}

// A player joins, sails east and sees its own ship go.
func Example() {
	server, url := serve()
	defer server.Close()
	c, err := client.Dial(context.Background(), url, sea, client.Config{Name: "ann"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	c.Steer(0, 2) // from now on, in the direction of x, two cells a tick
	for frame := range c.Frames(60) {
		if me, ok := client.Own[Ship](frame); ok && me.X > 20 {
			fmt.Println("ann's ship sails, with a health of", me.Health)
			break
		}
	}
	// Output: ann's ship sails, with a health of 100
}

// A program with a loop of its own asks for each frame.
func ExampleClient_At() {
	server, url := serve()
	defer server.Close()
	c, err := client.Dial(context.Background(), url, sea, client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for c.Err() == nil {
		frame := c.At(time.Now())
		ships := 0
		for range client.All[Ship](frame) {
			ships++
		}
		if ships == 1 {
			fmt.Println("one ship is in sight")
			break
		}
		time.Sleep(time.Second / 60) // until the display is ready
	}
	// Output: one ship is in sight
}

// Events tell what no entity shows.
func ExampleFrame_Events() {
	server, url := serve()
	defer server.Close()
	c, err := client.Dial(context.Background(), url, sea, client.Config{Name: "ann"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	fired := false
	for frame := range c.Frames(60) {
		if frame.Own() != 0 && !fired {
			fired = client.Act(c, Fire{Angle: 1}) == nil
			c.Say("fire!")
		}
		for ev := range frame.Events() {
			switch fire, ok := client.As[Fire](ev); {
			case ok:
				fmt.Println("fired at", fire.Angle, "by this player:", ev.Own)
			case ev.Kind == client.Said:
				fmt.Printf("%s says %s\n", ev.Name, ev.Text)
				c.Close() // the loop ends with the last frame
			}
		}
	}
	// Unordered output:
	// ann says fire!
	// fired at 1 by this player: true
}

// Dial says why there is no game.
func ExampleDial() {
	server, url := serve()
	defer server.Close()
	other := sea
	other.Name = "lake"
	_, err := client.Dial(context.Background(), url, other, client.Config{})
	fmt.Println("another game:", errors.Is(err, client.ErrOtherGame))
	_, err = client.Dial(context.Background(), url, sea, client.Config{Room: "nowhere"})
	fmt.Println("no such room:", errors.Is(err, client.ErrRefused))
	// Output:
	// another game: true
	// no such room: true
}
