package message

import (
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"testing"

	"parley/internal/kit/chance"
	"parley/world"
)

// Bee is a kind whose floats are quantised.
type Bee struct {
	world.Body `parley:"cap=8,q=1/256,min=-128,max=127.99,angle=256,norm=1/64"`
	Heat       float32 `parley:"q=0.1,min=-3,max=9"`
	Range      float64 `parley:"q=1/256,min=0,max=1000"`
	Name       string  `parley:"max=8"`
	Rough      float32
}

// Mote has a small world, and Star a large one.
type Mote struct {
	world.Body `parley:"cap=8,q=1/2,min=0,max=100"`
}

type Star struct {
	world.Body `parley:"cap=8,q=1/256,min=-100000,max=100000"`
}

// Sting is an action with a quantised parameter.
type Sting struct {
	Force float32 `parley:"q=1/4,min=0,max=10"`
	At    world.ID
}

// hive is a world with one entity that stands still.
func hive[T any](t testing.TB, one T) *world.Sim {
	t.Helper()
	sim, err := world.New(world.Game{
		Name: "hive", Kinds: world.Kinds(Bee{}, Mote{}, Star{}), Actions: world.Actions(Sting{}),
		Step: func(*world.World, []world.Input) {}, Setup: func(w *world.World) { world.Spawn(w, one) },
	}, world.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return sim
}

var bee = Bee{Body: world.Body{X: 1.5, Y: -2.001, Angle: math.Pi / 2, Norm: 0.25, Sprite: 3}, Heat: 1.26, Range: 4, Name: "maja", Rough: 1}

// The bytes of a quantised entity. A change of them is a change of the protocol.
func TestTheBytesOfQuantisedFields(t *testing.T) {
	c := ball(t, hive(t, bee))
	little, ok := AppendRecord(nil, c, Little, 100)
	if !ok {
		t.Fatal("no room")
	}
	big, _ := AppendRecord(nil, c, Big, 100)
	var variables string
	for i := range c.Kind.Fields {
		at, _ := VariableOf(c.Kind, i)
		v := Variables(c.Kind)[at]
		if v.Name != VariableName(c.Kind, i) {
			t.Errorf("field %d is in %q and in %q", i, v.Name, VariableName(c.Kind, i))
		}
		variables += fmt.Sprintf("%s %v %x; ", v.Name, v.Type, AppendVariable(nil, c, i))
	}
	action := hive(t, bee).Schema().Actions[0]
	params := []world.Value{world.FloatValue(world.F32, 2.6), world.UintValue(world.Entity, 258)}
	for what, tt := range map[string][2]string{
		"stamp":                {hex.EncodeToString(little), "0100" + "01" + "17" + "8001" + "00fe" + "40" + "1000" + "0300" + "0d" + "00040000" + "046d616a61" + "0000803f"},
		"relay":                {hex.EncodeToString(big), "0001" + "01" + "17" + "0180" + "fe00" + "40" + "0010" + "0003" + "0d" + "00000400" + "046d616a61" + "3f800000"},
		"duplex":               {hex.EncodeToString(AppendElement(nil, c)), "01" + "0180" + "fe00" + "40" + "0010" + "0003" + "0d" + "00000400" + "046d616a61" + "3f800000"},
		"replica":              {variables, "x,y u32 800100fe; x,y u32 800100fe; angle i8 40; norm i16 1000; sprite u16 0300; heat i8 0d; range u32 00040000; name string 6d616a61; rough f32 0000803f; "},
		"an action in relay":   {hex.EncodeToString(AppendAct(nil, action, params, Big)), "0000" + "0a" + "0102"},
		"an action in replica": {hex.EncodeToString(AppendParams(nil, action.Fields, params, Little)), "0a" + "0201"},
	} {
		if tt[0] != tt[1] {
			t.Errorf("%s: got\n%s, want\n%s", what, tt[0], tt[1])
		}
	}
	for _, tt := range []struct {
		c    *world.Change
		want string
	}{
		{ball(t, hive(t, Mote{world.Body{X: 50, Y: 99.8}})), "x,y u16 64c8"},
		{ball(t, hive(t, Star{world.Body{X: -1, Y: 1}})), "x,y u64 00ffffff00010000"},
	} {
		v := Variables(tt.c.Kind)[1]
		if got := fmt.Sprintf("%s %v %x", v.Name, v.Type, AppendVariable(nil, tt.c, world.FieldY)); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.c.Kind.Name, got, tt.want)
		}
	}
}

// Clients read, in each dialect, the very floats that the world has.
func TestClientsReadWhatTheWorldHas(t *testing.T) {
	r := chance.Rand(t, 19)
	float := func(size float64) float64 { return (r.Float64()*2 - 1) * size * math.Pow(2, float64(r.IntN(8)-5)) }
	for range 2000 {
		one := Bee{
			Body: world.Body{X: float(200), Y: float(200), Angle: float32(float(10)), Norm: float32(float(300))},
			Heat: float32(float(10)), Range: float(2000), Rough: float32(float(1)),
		}
		sim := hive(t, one)
		c := ball(t, sim)
		k := c.Kind
		var want []world.Value
		for i := range k.Fields {
			want = append(want, c.Value(i))
		}
		held := sim.World().Body(c.ID)
		if want[0].Float() != held.X || want[1].Float() != held.Y || float32(want[2].Float()) != held.Angle || float32(want[3].Float()) != held.Norm {
			t.Fatalf("%+v is published as %v", held, want)
		}
		got := make([]world.Value, len(k.Fields))
		for _, o := range []world.Order{Little, Big} {
			b, _ := AppendRecord(nil, c, o, 100)
			for rec := range Records(b, o) {
				if rest, ok := ParseFields(got, k.Fields, rec.Fields, o); !ok || len(rest) > 0 || !slices.Equal(got, want) {
					t.Fatalf("%x is %v, want %v", rec.Fields, got, want)
				}
			}
		}
		if _, fields, ok := ParseElement(AppendElement(nil, c)); !ok {
			t.Fatal("an element is not read")
		} else if _, ok := ParseFields(got, k.Fields, fields, Big); !ok || !slices.Equal(got, want) {
			t.Fatalf("%x is %v, want %v", fields, got, want)
		}
		for i := range k.Fields {
			if k.Fields[i].Type == world.Text {
				continue
			}
			b := AppendVariable(nil, c, i)
			if v, ok := ParseVariable(k, i, b); !ok || v != want[i] {
				t.Fatalf("variable %s: %x is %v, want %v", VariableName(k, i), b, v, want[i])
			}
			if _, ok := ParseVariable(k, i, b[:len(b)-1]); ok {
				t.Fatalf("variable %s: a byte less is taken", VariableName(k, i))
			}
			if _, ok := ParseVariable(k, i, append(b, 0)); ok {
				t.Fatalf("variable %s: a byte more is taken", VariableName(k, i))
			}
		}
	}
}

// Packets are written and read without memory.
func TestQuantisedFieldsAllocateNothing(t *testing.T) {
	c := ball(t, hive(t, Star{world.Body{X: 1, Y: 2, Angle: 3, Norm: 4}}))
	buf, values := make([]byte, 0, 100), make([]world.Value, len(c.Kind.Fields))
	if n := testing.AllocsPerRun(100, func() {
		b, _ := AppendRecord(buf, c, Little, 100)
		if _, ok := ParseFields(values, c.Kind.Fields, b[RecordBytes:], Little); !ok {
			t.Fatal("it is not read")
		}
		if _, ok := ParseVariable(c.Kind, world.FieldX, AppendVariable(buf, c, world.FieldX)); !ok {
			t.Fatal("it is not read")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// What is read of quantised fields is in their range, and has no other bytes.
func FuzzParseQuantised(f *testing.F) {
	sim := hive(f, bee)
	b, _ := AppendRecord(nil, ball(f, sim), Little, 100)
	f.Add(b[RecordBytes:])
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, k := range sim.Schema().Kinds {
			for _, o := range []world.Order{Little, Big} {
				values := make([]world.Value, len(k.Fields))
				rest, ok := ParseFields(values, k.Fields, b, o)
				if !ok {
					continue
				}
				if again := append(AppendParams(nil, k.Fields, values, o), rest...); !slices.Equal(again, b) {
					t.Errorf("%x is %v, and that is %x", b, values, again)
				}
			}
			for i := range k.Fields {
				if v, ok := ParseVariable(k, i, b); ok && !v.Finite() {
					t.Errorf("%x is %v", b, v)
				}
			}
		}
	})
}
