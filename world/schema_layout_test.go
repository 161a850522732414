package world

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
)

// Ware and the structs below it are what a game has in a bag.
type Ware struct {
	Kind  uint8
	Count uint16 `parley:"countdown"`
	seed  uint32
}

type Hull struct {
	Armour [2]int8 `parley:"attr=100"`
	Heat   float32 `parley:"q=0.5,min=0,max=100"`
}

// unit is embedded: its Body is that of the kind that embeds it.
type unit struct {
	Body `parley:"speed=3"`
	HP   int16
}

type freighter struct {
	unit
	Hull  `parley:"name=hull"`
	Bag   [2]Ware
	Grid  [2][2]bool
	Crew  [1]struct{ Name string } `parley:"attr=40"`
	Route [2]ID                    `parley:"name=way"`
	memo  [2]Ware
	Last  uint8
}

// What nothing but reflection reads.
var _ = []any{freighter{}.memo, Ware{}.seed}

func schemaOf(t testing.TB, kinds KindList, actions ActionList) *Schema {
	t.Helper()
	g, err := Game{Name: "layout", Step: testStep, Kinds: kinds, Actions: actions}.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	return g.schema
}

func namesOf(fields []Field) string {
	var list []string
	for _, f := range fields {
		list = append(list, f.Name)
	}
	return strings.Join(list, " ")
}

func TestAKindIsFlattened(t *testing.T) {
	s := schemaOf(t, Kinds(freighter{}), Actions())
	k := s.Kinds[0]
	var got []string
	for _, f := range k.Fields {
		got = append(got, fmt.Sprintf("%s/%v#%d", f.Name, f.Wire, f.Attr))
	}
	want := "x/f64#0 y/f64#0 angle/f32#0 norm/f32#0 sprite/u16#0 hp/i16#0 " +
		"hull.armour[0]/i8#100 hull.armour[1]/i8#101 hull.heat/u8#1 " +
		"bag[0].kind/u8#2 bag[0].count/u16#3 bag[1].kind/u8#4 bag[1].count/u16#5 " +
		"grid[0][0]/bool#6 grid[0][1]/bool#7 grid[1][0]/bool#8 grid[1][1]/bool#9 " +
		"crew[0].name/string#40 way[0]/entity#10 way[1]/entity#11 last/u8#12"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	if got, want := namesOf(k.hidden[6:]), "bag[0].seed bag[1].seed memo[0].kind memo[0].count memo[0].seed memo[1].kind memo[1].count memo[1].seed"; got != want {
		t.Errorf("hidden: got  %s\nwant %s", got, want)
	}
	if !k.HasBody || k.MaxSpeed != 3 || !k.Fields[10].Countdown || k.Fields[9].Countdown || k.Fields[8].Step != 0.5 {
		t.Errorf("%+v", k)
	}
}

// Each value is loaded from and stored at its own place, and nothing else is.
func TestAFlattenedFieldIsItsValue(t *testing.T) {
	s := schemaOf(t, Kinds(freighter{}), Actions())
	f := freighter{Last: 9}
	f.Bag[1].Count, f.Grid[1][0], f.Crew[0].Name, f.Route[1], f.Hull.Armour[1] = 700, true, "ann", 12, -3
	want := map[string]string{"bag[1].count": "700", "grid[1][0]": "true", "crew[0].name": `"ann"`, "way[1]": "12", "hull.armour[1]": "-3", "last": "9"}
	row := reflect.ValueOf(&f).UnsafePointer()
	for _, field := range s.Kinds[0].Fields {
		got := field.value(row).String()
		switch w, ok := want[field.Name]; {
		case ok && got != w, !ok && got != "0" && got != "false" && got != `""`:
			t.Errorf("%s is %s", field.Name, got)
		}
	}
	var back freighter
	for i := range s.Kinds[0].Fields {
		field := &s.Kinds[0].Fields[i]
		field.setValue(reflect.ValueOf(&back).UnsafePointer(), field.value(row))
	}
	if back != f {
		t.Errorf("got %+v, want %+v", back, f)
	}
}

type order struct {
	At struct{ X, Y float32 }
	To [2]ID
}

func TestAnActionIsFlattened(t *testing.T) {
	a := schemaOf(t, Kinds(plain{}), Actions(order{})).Actions[0]
	if got := namesOf(a.Fields); got != "at.x at.y to[0] to[1]" {
		t.Fatal(got)
	}
	w := newSim(t, Config{}).World()
	in := &Input{Kind: Act, Action: a}
	want := order{To: [2]ID{3, 4}}
	want.At.X, want.At.Y = 1, float32(math.Inf(1))
	Done(w, in, want)
	want.At.Y = 0
	if got, ok := Read[order](in); !ok || got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

type (
	badDeep      struct{ A [2]struct{ B [1]int } }
	badUint      struct{ A uint }
	badAddress   struct{ A uintptr }
	badComplex   struct{ A complex64 }
	badFunc      struct{ A func() }
	badChan      struct{ A chan int }
	badHiddenInt struct {
		A uint8
		b [3]int
	}
	badNamedBody struct{ Place Body }
	badInnerBody struct{ A [2]unit }
	badTwoBodies struct {
		Body
		unit
	}
	badSame struct {
		Ware
		Kind uint8
	}
	badStructTag struct {
		A Ware `parley:"max=3"`
	}
	badWide struct {
		Body
		A [60]bool
	}
	badHuge struct {
		A [1 << 20][1 << 12]struct{ B bool }
	}
	badDots struct {
		A uint8 `parley:"name=a.b"`
	}
	badRaw struct {
		A uint8 `parley:"name=\xff"`
	}
	badDeepOrder struct{ A [3][3]uint8 }
	badLongName  struct {
		A [1]struct {
			B uint8 `parley:"name=0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"`
		} `parley:"name=0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"`
	}
	badAttrEnd struct {
		A [3]uint8 `parley:"attr=65533"`
	}
	emptyAndHuge struct {
		A [1 << 40]struct{}
		B [0]int
		C uint8
	}
)

var _ = badHiddenInt{}.b

// A struct that cannot be flattened is refused with its field and what to use in its place.
func TestWhatCannotBeFlattenedIsRefused(t *testing.T) {
	for _, tt := range []struct {
		zero any
		want string
	}{
		{badDeep{}, "world: kind bad_deep: badDeep.A[0].B[0] is int: use int32 or int64, whose size is the same on every machine"},
		{badUint{}, "badUint.A is uint: use uint32 or uint64"},
		{badAddress{}, "badAddress.A is uintptr: use world.ID"},
		{badComplex{}, "badComplex.A is complex64: use two floats"},
		{badFunc{}, "badFunc.A is func(): leave it out"},
		{badChan{}, "badChan.A is chan int: leave it out"},
		{badHiddenInt{}, "badHiddenInt.b[0] is int: use int32 or int64"},
		{badNamedBody{}, "field Place: a Body is embedded in the kind itself"},
		{badInnerBody{}, "field A[0].Body: a Body is embedded in the kind itself"},
		{badTwoBodies{}, "field unit.Body: a Body comes first"},
		{badSame{}, "field Kind: another field is kind to clients"},
		{badStructTag{}, "field A: a struct takes name= and attr= alone"},
		{badWide{}, "kind bad_wide: 65 fields, and 64 is the limit"},
		{badDots{}, `field A: tag "name=a.b": a point and brackets stand for structs and arrays`},
		{badRaw{}, `not UTF-8`},
		{badLongName{}, "field A[0].B: its name to clients has 264 bytes, and 255 is the limit"},
		{badAttrEnd{}, "field A: attr= leads beyond the greatest number, 65534"},
	} {
		_, err := New(Game{Step: testStep, Kinds: Kinds(tt.zero)}, Config{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%T: got %v, want %q", tt.zero, err, tt.want)
		}
	}
	if _, err := newKind(reflect.TypeFor[badHuge]()); err == nil || !strings.Contains(err.Error(), "kind bad_huge: 2147483647 fields, and 64 is the limit") {
		t.Error(err)
	}
	if _, err := newAction(reflect.TypeFor[badDeepOrder]()); err == nil || !strings.Contains(err.Error(), "action bad_deep_order: 9 fields, and 8 is the limit") {
		t.Error(err)
	}
	if got := namesOf(schemaOf(t, Kinds(emptyAndHuge{}), Actions()).Kinds[0].Fields); got != "c" {
		t.Errorf("got %s", got)
	}
}

// Two games that differ in what is nested have different fingerprints.
func TestANestedLayoutIsInTheFingerprint(t *testing.T) {
	seen := map[uint64]int{}
	for i, t1 := range []reflect.Type{
		reflect.TypeFor[struct{ A [2]struct{ B, C uint8 } }](),
		reflect.TypeFor[struct{ A [1]struct{ B, C [2]uint8 } }](),
		reflect.TypeFor[struct{ A struct{ B, C [2]uint8 } }](),
		reflect.TypeFor[struct{ A [2][2]uint8 }](),
		reflect.TypeFor[struct{ A [4]uint8 }](),
		reflect.TypeFor[struct {
			A [2]uint8
			B [2]uint8
		}](),
		reflect.TypeFor[struct {
			A [2]struct{ B, c uint8 }
			d uint8
		}](),
		reflect.TypeFor[struct {
			A [2]struct{ B, d uint8 }
			c uint8
		}](),
		reflect.TypeFor[struct {
			A [4]uint8
			c [2][2]uint8
		}](),
		reflect.TypeFor[struct {
			A [4]uint8
			c [4]uint8
		}](),
	} {
		k, err := newKindOf(t1, "thing")
		if err != nil {
			t.Fatal(err)
		}
		sum := schemaOf(t, KindList{kinds: []*Kind{k}}, Actions()).Fingerprint()
		if other, ok := seen[sum]; ok {
			t.Errorf("%d and %d are one", i, other)
		}
		seen[sum] = i
	}
}

// A tag with a space behind the colon says nothing to reflection: that is told, not passed over. Go vet sees it too, if somebody asks.
func TestATagThatCannotBeReadIsToldOf(t *testing.T) {
	k := reflect.StructOf([]reflect.StructField{{Name: "A", Type: reflect.TypeFor[uint8](), Tag: `parley: "countdown"`}})
	if _, err := newKindOf(k, "thing"); err == nil || !strings.Contains(err.Error(), "field a: the tag") && !strings.Contains(err.Error(), "field A: the tag") {
		t.Errorf("got %v", err)
	}
	other := reflect.StructOf([]reflect.StructField{{Name: "A", Type: reflect.TypeFor[uint8](), Tag: `json:"a" parley:"countdown"`}})
	if _, err := newKindOf(other, "thing"); err != nil {
		t.Error(err)
	}
}
