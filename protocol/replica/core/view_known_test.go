package core

import (
	"encoding/binary"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/simnet"
)

// What is said of an entity once Knows is true never comes before its values: whatever is lost, doubled and overtaken, while
// entities come and go, their slots are used again, and the one that is asked about changes. And it is said in the end.
func TestWhatIsSaidOfAnEntityComesAfterItsValues(t *testing.T) {
	said := 0
	kit.Seeds(t, kit.Rounds(200, 10_000), func(t *testing.T, seed uint64) {
		path := simnet.Profile{Delay: 10 * time.Millisecond, Jitter: 60 * time.Millisecond, Loss: .2, Duplicate: .05}
		r := newRoom(t, seed, path, 1, 1)
		rng, x := r.w.Rand(), r.clients[0]
		heard := 0
		x.onEvent = func(_ time.Time, ev Event) {
			if ev.Kind != EventMessage || string(ev.Name) != "parley.you" {
				return
			}
			heard++
			kind, id, made := binary.LittleEndian.Uint16(ev.Data), ev.Data[2], binary.LittleEndian.Uint32(ev.Data[3:])
			for _, name := range []string{"a", "b"} {
				v, ok := x.Values().EntityValue(kind, id, name)
				if now := r.entityIn(id); now == nil || r.made[now] != made {
					continue // it is hidden by now, or another has its place
				}
				if !ok || binary.LittleEndian.Uint32(v.Data[4:]) != made {
					t.Errorf("seed %d: it is told of entity %d, and has %s as %x", seed, made, name, v.Data)
				}
			}
		}
		c := r.w.conn(x)
		for range 6 {
			e := r.spawn()
			r.set(e, 1, 0)
		}
		var own *Entity
		told, pending := map[*Entity]bool{}, 0
		turn := func() {
			r.w.mux.Advance(r.w.Now())
			if own != nil && !told[own] {
				if c.Knows(own) {
					id, _ := c.Sees(own)
					data := append(binary.LittleEndian.AppendUint16(nil, own.Kind()), id)
					if c.SendReserved(Ordered, "parley.you", binary.LittleEndian.AppendUint32(data, r.made[own])) == nil {
						told[own] = true
						said++
					}
				}
			}
			c.Replicate([]int{300, 100_000}[rng.IntN(2)])
			r.w.server.Poke()
			r.w.Pass(20 * time.Millisecond)
		}
		for range 100 {
			for _, e := range r.entities {
				switch rng.IntN(12) {
				case 0:
					if _, sees := c.Sees(e); sees {
						c.Hide(e)
						told[e] = false
					} else if err := c.Show(e); err != nil {
						t.Fatal(err)
					}
				case 1:
					r.set(e, rng.IntN(2), rng.Uint32())
				}
			}
			if rng.IntN(8) == 0 { // also one that has long been in sight
				own = r.entities[rng.IntN(len(r.entities))]
			}
			turn()
		}
		own, pending = r.entities[0], 0
		if err := c.Show(own); err != nil {
			t.Fatal(err)
		}
		for told[own] = false; !told[own]; pending++ {
			if turn(); pending > 500 {
				t.Fatalf("seed %d: it is not known within 500 ticks", seed)
			}
		}
		r.w.Pass(5 * time.Second)
		if heard == 0 {
			t.Errorf("seed %d: nothing was heard", seed)
		}
	})
	if said == 0 {
		t.Error("nothing was said")
	}
}

// entityIn returns the entity in a slot of the first client.
func (r *room) entityIn(id uint8) *Entity {
	for e, s := range r.w.conn(r.clients[0]).endpoint.view.seen {
		if s.id == id {
			return e
		}
	}
	return nil
}
