package bots_test

import (
	"math"
	"testing"

	"parley/internal/kit/chance"
	"parley/play/bots"
	"parley/test/field"
	"parley/world"
)

// bee is a kind whose floats are quantised.
type bee struct {
	world.Body `parley:"cap=64,q=1/256,min=-128,max=127.99,angle=256,norm=1/64"`
	Heat       float32 `parley:"q=0.1,min=-3,max=9"`
	Name       string
	Range      float64 `parley:"q=1/256,min=0,max=1000"`
}

// sting is an action with a quantised parameter.
type sting struct {
	Force float32 `parley:"q=1/4,min=0,max=10"`
}

// hive is a game in which bees stand about. Steering turns a player's own, and stinging warms it.
func hive(bees []bee) world.Game {
	return world.Game{
		Name: "hive", Kinds: world.Kinds(bee{}), Actions: world.Actions(sting{}),
		Setup: func(w *world.World) {
			for _, b := range bees {
				world.Spawn(w, b)
			}
		},
		Step: func(w *world.World, in []world.Input) {
			for i := range in {
				switch in := &in[i]; in.Kind {
				case world.Join:
					w.Own(in.Player, world.SpawnFor(w, in, bee{}))
				case world.Steer:
					w.Steer(in)
				case world.Act:
					v, _ := world.Read[sting](in)
					if _, own := world.Avatar[bee](w, in.Player); own != nil {
						own.X = float64(v.Force) // so that everybody sees what was read
					}
					world.Done(w, in, v)
				}
			}
		},
	}
}

// Over each dialect a client has the floats of the server to the bit; over realm, whose document has whole cells, the cells.
func TestQuantisedBodiesOverEachDialect(t *testing.T) {
	r := chance.Rand(t, 19)
	float := func(size float64) float64 { return (r.Float64()*2 - 1) * size * math.Pow(2, float64(r.IntN(8)-5)) }
	bees := make([]bee, 40)
	for i := range bees {
		bees[i] = bee{
			Body: world.Body{X: float(200), Y: float(200), Angle: float32(float(10)), Norm: float32(float(3))},
			Heat: float32(float(10)), Range: float(1000), Name: "maja"[:r.IntN(5)],
		}
	}
	sim, err := world.New(hive(bees), world.Config{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[uint16]bots.Thing{}
	for id, b := range world.All[bee](sim.World()) {
		want[sim.Wire(id)] = bots.Thing{Kind: 1, X: b.X, Y: b.Y, Angle: b.Angle, Norm: b.Norm}
	}
	s := field.Serve(t, hive(bees), field.Config())
	angle, norm := &s.Schema.Kinds[0].Fields[world.FieldAngle], &s.Schema.Kinds[0].Fields[world.FieldNorm]
	for _, dialect := range bots.Dialects {
		t.Run(dialect, func(t *testing.T) {
			p := field.Enter(t, dialect, s.At[dialect], bots.Config{Schema: s.Schema, Name: "ann", Password: "correct horse", Plain: true})
			s.Within(t, "it sees all bees", func() (all bool) {
				p.See(func(v *bots.Sight) {
					all = true
					for id := range want {
						_, seen := v.Things[id]
						all = all && seen
					}
				})
				return all
			})
			s.Within(t, "it has their values", func() (all bool) {
				p.See(func(v *bots.Sight) {
					all = true
					for id, w := range want {
						if dialect == "realm" {
							w.X, w.Y = math.Floor(w.X)+.5, math.Floor(w.Y)+.5
						}
						all = all && v.Things[id] == w
					}
				})
				return all
			})
			if dialect == "stamp" {
				return
			}
			asked := [2]float32{float32(float(10)), r.Float32()}
			if err := p.Steer(asked[0], asked[1]); err != nil {
				t.Fatal(err)
			}
			if err := p.Act(s.Schema.Actions[0], world.FloatValue(world.F32, 2.6)); err != nil {
				t.Fatal(err)
			}
			s.Within(t, "it sees its own as the server has it", func() bool {
				own, ok := p.Own()
				return ok && (own.X == 2.5) &&
					angle.Encode(world.FloatValue(world.F32, float64(asked[0]))) == angle.Encode(world.FloatValue(world.F32, float64(own.Angle))) &&
					norm.Encode(world.FloatValue(world.F32, float64(asked[1]))) == norm.Encode(world.FloatValue(world.F32, float64(own.Norm))) &&
					(own.Angle != asked[0] || own.Norm != asked[1])
			})
		})
	}
	// x and y share a variable of four bytes, and each has the half of it.
	if f := s.Stats().Fields.Replica; f.Of("bee", "x") < 2*40 || f.Of("bee", "x") != f.Of("bee", "y") || f.Of("bee", "norm")*f.Of("bee", "sprite") == 0 {
		t.Errorf("%d bytes of x, %d of y", f.Of("bee", "x"), f.Of("bee", "y"))
	}
}
