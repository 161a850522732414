package world

import (
	"fmt"
	"strings"
	"testing"
)

func TestAKindIsItsStruct(t *testing.T) {
	s := newSim(t, Config{}).Schema()
	var got []string
	for _, k := range s.Kinds {
		line := fmt.Sprintf("%d %s body=%v max=%v:", k.Number, k.Name, k.HasBody, k.MaxSpeed)
		for _, f := range k.Fields {
			line += fmt.Sprintf(" %s/%v", f.Name, f.Type)
			if !f.InBody {
				line += fmt.Sprintf("#%d", f.Attr)
			}
		}
		got = append(got, line)
	}
	for _, a := range s.Actions {
		line := fmt.Sprintf("%d %s:", a.Number, a.Name)
		for _, f := range a.Fields {
			line += fmt.Sprintf(" %s/%v", f.Name, f.Type)
		}
		got = append(got, line)
	}
	const body = "x/f64 y/f64 angle/f32 norm/f32 sprite/u16"
	want := []string{
		"1 walker body=true max=1.5: " + body + " health/i16#0 name/string#1 target/entity#2",
		"2 sprout body=true max=1: " + body + " age/u16#0 parent/entity#1 ratio/f32#2",
		"3 mark body=false max=1: count/u64#0 note/string#1 on/bool#2",
		"0 sow: angle/f32 entity/entity",
		"1 dig: value/u8 deep/bool",
		"2 say: text/string",
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	// x, y, tick, overdraft and two sums of the Body, then steps, path and last.
	if n := len(s.Kinds[0].hidden); n != 6+1+3+1 {
		t.Errorf("%d hidden values", n)
	}
	if s.Kind(2).Name != "sprout" || s.Kind(9) != nil || s.Action(1).Name != "dig" || s.Action(9) != nil || s.ActionNamed("nosuch") != nil {
		t.Error("a kind or an action is not found by its number")
	}
}

type tagged struct {
	Body `parley:"kind=7,speed=0.5,cap=3"`
	A    uint16 `parley:"attr=0"`
	B    uint16 `parley:"attr=30000,name=cooldown_one"`
	C    string `parley:"max=5"`
	D    uint8
}

type plain struct{ A uint16 }

type numbered struct {
	_ struct{} `parley:"action=4"`
	A int8
}

func TestTagsNumberThings(t *testing.T) {
	g := testGame()
	g.Setup = nil
	g.Kinds, g.Actions = Kinds(plain{}, tagged{}), Actions(sow{}, numbered{})
	s := newSimOf(t, g, Config{})
	k := s.Schema().Kind(7)
	if k == nil || k.MaxSpeed != 0.5 || k.rows != 3 {
		t.Fatalf("%+v", k)
	}
	var attrs []uint16
	for _, f := range append(s.Schema().Kind(1).Fields, k.Fields[bodyFields:]...) {
		attrs = append(attrs, f.Attr)
	}
	// Each kind has numbers of its own. In the second 0 is taken by a tag, so those without begin at 1.
	if got := fmt.Sprint(attrs); got != "[0 0 30000 1 2]" {
		t.Errorf("attributes %v", got)
	}
	if k.Fields[6].Name != "cooldown_one" || k.Fields[7].Max != 5 {
		t.Errorf("%+v", k.Fields)
	}
	if a := s.Schema().Action(4); a == nil || a.Name != "numbered" || len(a.Fields) != 1 {
		t.Errorf("%+v", a)
	}
}

type (
	badPointer struct{ P *int }
	badSlice   struct{ S []byte }
	badMap     struct{ m map[int]int }
	badHidden  struct{ A, b any }
	badEmpty   struct{ a int8 }
	badOrder   struct {
		A uint8
		Body
	}
	badTag struct {
		A uint8 `parley:"colour=red"`
	}
	badAttr struct {
		A uint8 `parley:"attr=x"`
	}
	badSpeed struct {
		Body `parley:"speed=1e9"`
	}
	badCap struct {
		Body `parley:"cap=0"`
	}
	badKind struct {
		Body `parley:"kind=256"`
	}
	badMax struct {
		A string `parley:"max=251"`
	}
	badName struct {
		A string `parley:"name="`
	}
	badLarge struct {
		A, B string `parley:"max=200"`
	}
	badMany struct {
		h [300]uint8
		A uint8
	}
	badInt    struct{ A int }
	badParams struct{ A, B, C, D, E, F, G, H, I uint8 }
	badParam  struct{ A []int }
	badLower  struct{ a uint8 }
	badTwice  struct {
		A uint8  `parley:"attr=3"`
		B uint16 `parley:"attr=3"`
	}
	badTaken struct {
		A uint8
		B uint8 `parley:"attr=0"`
	}
	badShadow struct {
		Body
		X int16
	}
	badPlace struct {
		A int16 `parley:"speed=1"`
	}
	twinA struct {
		Body `parley:"kind=2"`
	}
	twinB struct {
		Body `parley:"kind=2"`
	}
)

// What nothing but reflection reads.
var _ = []any{badMap{}.m, badHidden{}.b, badEmpty{}.a, badMany{}.h, badLower{}.a}

func TestWhatCannotBeToldIsRefused(t *testing.T) {
	wide := func() any {
		type badWide struct {
			A00, A01, A02, A03, A04, A05, A06, A07, A08, A09, A10, A11, A12, A13, A14, A15, A16, A17, A18, A19, A20, A21 bool
			B00, B01, B02, B03, B04, B05, B06, B07, B08, B09, B10, B11, B12, B13, B14, B15, B16, B17, B18, B19, B20, B21 bool
			C00, C01, C02, C03, C04, C05, C06, C07, C08, C09, C10, C11, C12, C13, C14, C15, C16, C17, C18, C19, C20, C21 bool
		}
		return badWide{}
	}()
	for _, tt := range []struct {
		kinds   []any
		actions []any
		want    string
	}{
		{[]any{badPointer{}}, nil, "kind bad_pointer: badPointer.P is *int: use world.ID"},
		{[]any{badSlice{}}, nil, "badSlice.S is []uint8: use an array of a fixed size, such as [16]uint8, or a string"},
		{[]any{badMap{}}, nil, "badMap.m is map[int]int: use an array of structs"},
		{[]any{badHidden{}}, nil, "badHidden.A is interface {}: use a type of its own for each case"},
		{[]any{badEmpty{}}, nil, "no field to replicate"},
		{[]any{badOrder{}}, nil, "a Body comes first"},
		{[]any{badTag{}}, nil, `tag "colour=red": there is no such tag`},
		{[]any{badAttr{}}, nil, `tag "attr=x"`},
		{[]any{badSpeed{}}, nil, "not from 0 to 256"},
		{[]any{badCap{}}, nil, "not from 1"},
		{[]any{badKind{}}, nil, "not from 1 to 255"},
		{[]any{badMax{}}, nil, "not from 1 to 250"},
		{[]any{badName{}}, nil, "empty"},
		{[]any{badLarge{}}, nil, "a record of up to 402 bytes, and 255 is the limit"},
		{[]any{badMany{}}, nil, "and 192 is the limit"},
		{[]any{wide}, nil, "66 fields, and 64 is the limit"},
		{[]any{badInt{}}, nil, "kind bad_int: badInt.A is int: use int32 or int64, whose size is the same on every machine"},
		{[]any{badShadow{}}, nil, "kind bad_shadow: field X: another field is x to clients"},
		{[]any{badPlace{}}, nil, "kind bad_place: field A: kind=, speed=, cap= and action= stand at the Body"},
		{[]any{badTwice{}}, nil, "kind bad_twice: fields a and b have the attribute 3: attr= gives another"},
		{[]any{badTaken{}}, nil, "kind bad_taken: fields a and b have the attribute 0: attr= gives another"},
		{[]any{twinA{}, twinB{}}, nil, "kinds twin_a and twin_b have the number 2"},
		{[]any{plain{}, plain{}}, nil, "two kinds are named plain"},
		{[]any{3}, nil, "not a named struct"},
		{[]any{nil}, nil, "not a named struct"},
		{[]any{struct{ A uint8 }{}}, nil, "not a named struct"},
		{nil, []any{badParams{}}, "9 fields, and 8 is the limit"},
		{nil, []any{badParam{}}, "action bad_param: badParam.A is []int: use an array of a fixed size"},
		{nil, []any{badLower{}}, "not exported"},
		{nil, []any{badPlace{}}, "action bad_place: field A: kind="},
		{nil, []any{badTag{}}, "there is no such tag"},
		{nil, []any{sow{}, sow{}}, "two actions are named sow"},
		{nil, []any{nil}, "not a named struct"},
	} {
		_, err := New(Game{Step: testStep, Kinds: Kinds(tt.kinds...), Actions: Actions(tt.actions...)}, Config{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%T %T: got %v, want %q", tt.kinds, tt.actions, err, tt.want)
		}
	}
	if _, err := New(Game{}, Config{}); err == nil {
		t.Error("a game without Step passes")
	}
}

func TestSnake(t *testing.T) {
	for name, want := range map[string]string{"TicksLeft": "ticks_left", "HP": "hp", "MaxHP": "max_hp", "HTTPPort": "http_port", "x": "x", "X2": "x2"} {
		if got := snake(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
