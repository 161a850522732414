package bots_test

import (
	"testing"

	"parley/play/bots"
	"parley/test/field"
	"parley/world"
)

// drifter is a body, and drifterQ one that is quantised.
type drifter struct{ world.Body }

type drifterQ struct {
	world.Body `parley:"q=1/256,min=-128,max=127.99,angle=256,norm=1/64"`
}

const drifters = 100

// drift is a game in which bodies go to and fro, each in its own direction.
func drift[T any](with func(world.Body) T, body func(*T) *world.Body) world.Game {
	return world.Game{
		Name: "drift", Kinds: world.Kinds(*new(T)),
		Setup: func(w *world.World) {
			for i := range drifters {
				world.Spawn(w, with(world.Body{X: float64(i%10) * 3, Y: float64(i/10) * 3, Angle: float32(i), Norm: 0.3}))
			}
		},
		Step: func(w *world.World, in []world.Input) {
			for i := range in {
				if in[i].Kind == world.Join {
					w.Own(in[i].Player, world.SpawnFor(w, &in[i], with(world.Body{})))
				}
			}
			for _, one := range world.All[T](w) {
				b := body(one)
				if w.Tick()%100 == 99 {
					b.Norm = -b.Norm
				}
				w.Move(b)
			}
		},
	}
}

// BenchmarkObjectTick says how many bytes a server sends a player for each body that moves, in a tick.
func BenchmarkObjectTick(b *testing.B) {
	games := map[string]world.Game{
		"floats":    drift(func(b world.Body) drifter { return drifter{b} }, func(d *drifter) *world.Body { return &d.Body }),
		"quantised": drift(func(b world.Body) drifterQ { return drifterQ{b} }, func(d *drifterQ) *world.Body { return &d.Body }),
	}
	for _, dialect := range bots.Dialects {
		for _, name := range []string{"floats", "quantised"} {
			b.Run(dialect+"/"+name, func(b *testing.B) {
				s := field.Serve(b, games[name], field.Config())
				field.Enter(b, dialect, s.At[dialect], bots.Config{Schema: s.Schema, Name: "ann", Password: "correct horse", Plain: true})
				wait := func(ticks int) (sent, at uint64) {
					for begin := s.WorldStats().Ticks; s.WorldStats().Ticks < begin+uint64(ticks); {
						s.Players() // waits for the hub, which has other things to do
					}
					return sentBytes(s, dialect), s.WorldStats().Ticks
				}
				sent, at := wait(40) // until it is sent changes only
				b.ResetTimer()
				sentNow, now := wait(b.N)
				b.ReportMetric(float64(sentNow-sent)/float64(now-at)/drifters, "B/object-tick")
			})
		}
	}
}

// sentBytes returns the payload of all that a dialect has sent.
func sentBytes(s *field.Server, dialect string) uint64 {
	st := s.Stats()
	switch dialect {
	case "replica":
		return st.Replica.Socket.OutBytes
	case "stamp":
		return st.Stamp.Socket.OutBytes
	case "relay":
		return st.Relay.Socket.OutBytes
	case "duplex":
		return st.Duplex.Socket.OutBytes + st.Duplex.Traffic.MainOutBytes
	}
	return st.Realm.Traffic.OutBytes
}
