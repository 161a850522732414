package arena

import (
	"math"
	"testing"

	"parley/internal/kit/chance"
	"parley/world"
)

// seesAnother reports whether another player is on the screen of one, and how near the nearest is.
func seesAnother(w *world.World, own world.ID) (seen bool, nearest float64) {
	nearest = math.Inf(1)
	p := world.Get[Player](w, own)
	for id, other := range world.All[Player](w) {
		if dx, dy := math.Abs(p.X-other.X), math.Abs(p.Y-other.Y); id != own {
			seen = seen || dx <= sightX && dy <= sightY
			nearest = min(nearest, max(dx, dy))
		}
	}
	return seen, nearest
}

// Everybody but the first begins in sight of another player, in a free place, at nobody's feet.
func TestLivesBeginInSightOfOthers(t *testing.T) {
	for _, seed := range chance.Seeds(50) {
		sim, err := world.New(Game(), world.Config{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		w := sim.World()
		for n := range 40 { // of the spawn points a fifth
			p, _ := sim.Join("x")
			sim.Advance()
			id, own := world.Avatar[Player](w, p)
			if !w.Free(own.X, own.Y, w.Hitbox(&own.Body)) {
				t.Errorf("seed=%d: player %d begins in a wall at (%v, %v)", seed, n, own.X, own.Y)
			}
			if seen, nearest := seesAnother(w, id); n > 0 && !seen || nearest < apart {
				t.Errorf("seed=%d: player %d sees another: %v, the nearest is %v cells away", seed, n, seen, nearest)
			}
		}
	}
}

// A crowd has no good places left. It gets in nevertheless, spread over the arena.
func TestACrowdIsSpread(t *testing.T) {
	sim := newArena(t)
	for range 1000 {
		if _, err := sim.Join("x"); err != nil {
			t.Fatal(err)
		}
	}
	sim.Advance()
	if n := world.Count[Player](sim.World()); n != 1000 {
		t.Fatalf("%d players", n)
	}
	var quarters [4]int
	for _, p := range world.All[Player](sim.World()) {
		at := 0
		if p.X > 0 {
			at++
		}
		if p.Y > 0 {
			at += 2
		}
		quarters[at]++
	}
	for _, n := range quarters {
		if n < 150 {
			t.Errorf("in the quarters of the arena are %v", quarters)
		}
	}
}

// A player who was killed comes back out of sight of the killer, if another player is there to be near to. With nobody else it
// comes back in sight of the killer, at another place.
func TestAKillerDoesNotWaitForItsVictim(t *testing.T) {
	for _, seed := range chance.Seeds(50) {
		for _, witness := range []bool{true, false} {
			sim, err := world.New(Game(), world.Config{Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			w := sim.World()
			a, b, pa, pb := join2(t, sim)
			foe, _ := world.Avatar[Player](w, a)
			own, _ := world.Avatar[Player](w, b)
			if witness {
				c, _ := sim.Join("eve")
				sim.Advance()
				id, _ := world.Avatar[Player](w, c)
				w.Place(id, -320, -320)
			}
			w.Place(foe, -60, 0)
			w.Place(own, 0, 0)
			pb.Health = BallHarm
			throwAt(sim, a, 0)
			for range 6 {
				sim.Advance()
			}
			if pb.Health != MaxHealth {
				t.Fatalf("seed=%d: it has health %d", seed, pb.Health)
			}
			faced := math.Abs(pa.X-pb.X) <= sightX && math.Abs(pa.Y-pb.Y) <= sightY
			if seen, nearest := seesAnother(w, own); faced == witness || !seen || nearest < apart {
				t.Errorf("seed=%d: it comes back at (%v, %v); witness %v", seed, pb.X, pb.Y, witness)
			}
		}
	}
}
