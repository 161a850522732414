package client_test

import (
	"fmt"
	"testing"

	"parley/client"
	"parley/test/field"
	"parley/world"
)

// purse lies about, and guests is the room's own state.
type purse struct{ world.Body }

type guests struct {
	Last  string `parley:"max=32"`
	Count uint8
}

// party is a game whose Step does other things on what one player sees than on the server: it counts the guests, and on the side of a player
// makes a crab of each purse.
func party(alone bool) world.Game {
	return world.Game{
		Name: "party", Kinds: world.Kinds(crab{}, purse{}, guests{}),
		Setup: func(w *world.World) {
			world.Spawn(w, guests{})
			world.Spawn(w, purse{})
		},
		Step: func(w *world.World, in []world.Input) {
			for i := range in {
				if in[i].Kind == world.Join {
					w.Own(in[i].Player, world.SpawnFor(w, &in[i], crab{}))
				}
			}
			for _, g := range world.All[guests](w) {
				g.Count = 0
				for p := range w.Players() {
					g.Count++
					g.Last = p.Name
				}
			}
			for id := range world.All[purse](w) {
				if alone {
					w.Despawn(id)
					world.Spawn(w, crab{})
				}
			}
		},
	}
}

// Over each dialect a player sees what the server says, and not what its own Step makes of the little that it knows.
func TestAPlayerSeesWhatTheServerSays(t *testing.T) {
	game := party(true)
	for _, dialect := range []string{"replica", "relay", "duplex", "realm"} {
		t.Run(dialect, func(t *testing.T) {
			s := field.Serve(t, party(false), field.Config())
			name := dialect + "-ann"
			first, err := client.Dial(t.Context(), url(s, "replica"), game, client.Config{Name: "first"})
			if err != nil {
				t.Fatal(err)
			}
			defer first.Close()
			c, err := client.Dial(t.Context(), url(s, dialect), game, client.Config{Name: name, Password: "correct horse", Plain: true})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			right := func(f *client.Frame) (ok bool, what string) {
				purses, crabs := 0, 0
				for range client.All[purse](f) {
					purses++
				}
				for range client.All[crab](f) {
					crabs++
				}
				for _, g := range client.All[guests](f) {
					ok = g.Count == 2 && g.Last == name && purses == 1 && crabs == 2 && f.Own() != 0
					what = fmt.Sprintf("at %v: %d guests, the last %q; %d purses, %d crabs; on the server 2, %q, 1 and 2", f.Tick, g.Count, g.Last, purses, crabs, name)
				}
				return ok, what
			}
			var since float64
			until(t, c, "it sees all that is there", func(f *client.Frame) bool {
				since = f.Tick
				ok, _ := right(f)
				return ok
			})
			until(t, c, "a second", func(f *client.Frame) bool {
				if ok, what := right(f); !ok {
					t.Fatal(what)
				}
				return f.Tick > since+25
			})
		})
	}
}
