package schema

import (
	"encoding/hex"
	"fmt"
	"testing"

	"parley/internal/kit/chance"
	"parley/protocol/realm/core"
	"parley/world"
)

// Bee is a kind with floats that are quantised and one that is not.
type Bee struct {
	world.Body `parley:"q=1/256,min=-128,max=127.99,angle=256,norm=1/64"`
	Heat       float32 `parley:"q=0.1,min=-3,max=9"`
	Range      float64 `parley:"q=1/256,min=0,max=1000"`
	Level      float64 `parley:"q=1,min=0,max=200"`
	Rough      float64
}

// Sting is an action with the same.
type Sting struct {
	Heat  float32 `parley:"q=0.1,min=-3,max=9"`
	Range float64 `parley:"q=1/256,min=0,max=1000"`
	Level float64 `parley:"q=1,min=0,max=200"`
	Rough float64
}

func hive(t *testing.T) (*world.Schema, *core.Codec) {
	t.Helper()
	sim, err := world.New(world.Game{Name: "hive", Kinds: world.Kinds(Bee{}), Actions: world.Actions(Sting{}), Step: func(*world.World, []world.Input) {}}, world.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return sim.Schema(), core.NewCodec(Realm(sim.Schema(), 0))
}

// Attributes of realm have the types of the steps, and the fields of the body are no attributes.
func TestTheBytesOfQuantisedAttributes(t *testing.T) {
	s, c := hive(t)
	got := ""
	var raw []byte
	for i, v := range []float64{1.26, 4, 3.4, 1} {
		f := &s.Kinds[0].Fields[world.FieldSprite+1+i]
		a, err := c.Attributes(core.Attribute{ID: f.Attr, Value: ToRealm(f, world.FloatValue(f.Type, v), &raw)})
		if err != nil {
			t.Fatal(err)
		}
		m := core.Message{Kind: core.KindEntityUpdate, Entity: core.Entity{ID: 1, Has: core.HasObject, Attributes: a}}
		b := c.AppendTo(nil, &m)
		got += hex.EncodeToString(b[len(b)-a.Len()*2-f.Wire.Bytes():]) + " "
	}
	if want := "00000d 000100000400 000203 00033ff0000000000000 "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, ok := c.Attribute(4); ok {
		t.Error("the body has attributes")
	}
}

// What either side reads of the other's parameters and attributes is the value that it holds, and a number of steps out of
// the range is none.
func TestBothSidesOfRealmHaveTheSameValue(t *testing.T) {
	r := chance.Rand(t, 19)
	s, c := hive(t)
	a := s.Actions[0]
	for range 20_000 {
		var values []core.Value
		var raw []byte
		var want []world.Value
		for i := range a.Fields {
			f := &a.Fields[i]
			v := world.FloatValue(f.Type, (r.Float64()*2-0.5)*1000/float64(1+r.IntN(1000)))
			steps := ToRealm(f, v, &raw)
			held, ok := FromRealm(f, steps)
			if again, _ := FromRealm(f, ToRealm(f, held, &raw)); !ok || again != held {
				t.Fatalf("%s: %v is %v and then %v", f.Name, v, held, again)
			}
			values, want = append(values, steps), append(want, held)
		}
		action, err := c.Action(uint16(a.Number), values...)
		if err != nil {
			t.Fatal(err)
		}
		b := c.AppendTo(nil, &core.Message{Kind: core.KindActionDo, Tick: 1, Action: action})
		var m core.Message
		if err := c.ParseErr(core.FromClient, b, &m); err != nil {
			t.Fatal(err)
		}
		for i := range a.Fields {
			if got, ok := FromRealm(&a.Fields[i], m.Action.Params.Get(i)); !ok || got != want[i] {
				t.Fatalf("%s: read as %v, want %v", a.Fields[i].Name, got, want[i])
			}
		}
	}
	for i, v := range []core.Value{core.I8(91), core.U32(256_001), core.U8(201)} {
		if got, ok := FromRealm(&a.Fields[i], v); ok {
			t.Errorf("%s: %v steps are %v", a.Fields[i].Name, fmt.Sprint(v), got)
		}
	}
}
