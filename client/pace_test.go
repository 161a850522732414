package client_test

import (
	"strings"
	"testing"

	"parley/client"
	"parley/internal/patient"
	"parley/test/field"
	"parley/world"
)

// chime is the room's own state: it changes in each tick.
type chime struct{ Strokes uint32 }

func bells() world.Game {
	return world.Game{
		Name: "bells", Kinds: world.Kinds(crab{}, chime{}),
		Setup: func(w *world.World) { world.Spawn(w, chime{}) },
		Step: func(w *world.World, in []world.Input) {
			for i := range in {
				if in[i].Kind == world.Join {
					w.Own(in[i].Player, world.SpawnFor(w, &in[i], crab{}))
				}
			}
			for _, c := range world.All[chime](w) {
				c.Strokes++
			}
		},
	}
}

// Over realm a client that counts fewer ticks a second than the server makes is told so, and draws nothing wrong for long.
func TestAServerOfMoreTicks(t *testing.T) {
	config := field.Config()
	config.TickRate = 60
	game := bells()
	s := field.Serve(t, game, config)
	c, err := client.Dial(t.Context(), url(s, "realm"), game, client.Config{Name: "ann", Password: "correct horse", Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	defer patient.End().Stop()
	for range c.Frames(20) {
	}
	if err := c.Err(); err == nil || !strings.Contains(err.Error(), "more than 20 ticks a second") {
		t.Error(err)
	}
}
