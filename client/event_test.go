package client_test

import (
	"testing"

	"parley/client"
	"parley/test/field"
	"parley/world"
)

// lobby is a game whose players have no entities.
func lobby() world.Game {
	return world.Game{Name: "lobby", Kinds: world.Kinds(guests{}), Step: func(*world.World, []world.Input) {}}
}

// A player without an entity is told who is there and what is said. Over realm a player without one is not let in.
func TestAPlayerWithoutAnEntity(t *testing.T) {
	s := field.Serve(t, lobby(), field.Config())
	for _, dialect := range []string{"replica", "relay", "duplex"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			name := dialect + "-ann"
			c, err := client.Dial(t.Context(), url(s, dialect), lobby(), client.Config{Name: name})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := c.Say("hello"); err != nil {
				t.Fatal(err)
			}
			came, said := false, false
			until(t, c, "it is told that it is there, and what it says", func(f *client.Frame) bool {
				for ev := range f.Events() {
					came = came || ev.Own && ev.Name == name && (ev.Kind == client.Here || ev.Kind == client.Joined)
					said = said || ev.Kind == client.Said && ev.Name == name && ev.Text == "hello"
				}
				return came && said
			})
		})
	}
}
