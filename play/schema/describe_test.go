package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"parley/arena"
	"parley/world"
)

func bazaar() world.Game {
	return world.Game{
		Name: "bazaar", Version: "v2", Kinds: world.Kinds(Chest{}, Bee{}, Crab{}), Actions: world.Actions(Move{}, Shout{}, Wait{}),
		Step: func(*world.World, []world.Input) {},
	}
}

// Wait is an action without parameters.
type Wait struct{}

// The files are what programs read and people see. They change when the format does: with PARLEY_UPDATE=1 they are written anew.
func TestTheDescriptionOfAGame(t *testing.T) {
	d, err := Describe(bazaar(), 0)
	if err != nil {
		t.Fatal(err)
	}
	list, err := json.MarshalIndent(d, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]byte{"bazaar.txt": []byte(d.Text()), "bazaar.json": append(list, '\n')} {
		path := filepath.Join("testdata", name)
		if os.Getenv("PARLEY_UPDATE") != "" {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v\ngot\n%s\nwant\n%s", name, err, got, want)
		}
	}
	var again Description
	if err := json.Unmarshal(list, &again); err != nil || again.Text() != d.Text() {
		t.Errorf("what was read of the JSON is another description: %v", err)
	}
}

// The arena has the numbers that its clients have always known.
func TestTheNumbersOfTheArena(t *testing.T) {
	d, err := Describe(arena.Game(), 1)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, k := range d.Kinds {
		got += fmt.Sprintf("%s %d link %d type %d:", k.Name, k.Number, k.ReplicaLink, k.RealmType)
		for _, f := range k.Fields {
			if f.Realm != nil {
				got += fmt.Sprintf(" %s %d %d %v;", f.Name, f.Replica.Variable, f.Realm.Attribute, f.Realm.NeedsType)
			}
		}
	}
	if want := "player 1 link 0 type 0: health 6 1 false; cooldown_one 7 30000 false;ball 2 link 1 type 1: ticks_left 6 0 false; sender 7 2 false;"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAGameThatIsNone(t *testing.T) {
	type Mine struct{ Depth int }
	if _, err := Describe(world.Game{Kinds: world.Kinds(Mine{})}, 0); err == nil || err.Error() != "world: kind mine: Mine.Depth is int: use int32 or int64, whose size is the same on every machine" {
		t.Error(err)
	}
	d, err := Describe(world.Game{}, 0)
	if err != nil || d.Text() == "" {
		t.Error(err)
	}
}

// The game before and after a field was added at the end of each struct.
func before() world.Game {
	type Ship struct {
		world.Body
		Hull struct{ Armour, Heat int16 }
		Bag  [2]Slot `parley:"attr=20"`
		Name string
	}
	type Mine struct {
		Fuse uint16
		Text string
	}
	type Fire struct{ At [2]float32 }
	type Dive struct{ Depth uint8 }
	return world.Game{Kinds: world.Kinds(Ship{}, Mine{}), Actions: world.Actions(Fire{}, Dive{})}
}

func after() world.Game {
	type Ship struct {
		world.Body
		Hull struct{ Armour, Heat int16 }
		Bag  [2]Slot `parley:"attr=20"`
		Name string
		Log  [3]struct{ At, By uint32 }
	}
	type Mine struct {
		Fuse  uint16
		Text  string
		Depth float64 `parley:"attr=9"`
	}
	type Fire struct {
		At   [2]float32
		Hard bool
	}
	type Dive struct {
		Depth uint8
		Fast  [2]uint8
	}
	return world.Game{Kinds: world.Kinds(Ship{}, Mine{}), Actions: world.Actions(Fire{}, Dive{})}
}

// A field that is added at the end of a struct changes no number of any other, in any dialect.
func TestAFieldAtTheEndRenumbersNothing(t *testing.T) {
	was, err := Describe(before(), 0)
	if err != nil {
		t.Fatal(err)
	}
	is, err := Describe(after(), 0)
	if err != nil {
		t.Fatal(err)
	}
	same := func(name string, a, b []FieldDescription) {
		if len(b) <= len(a) {
			t.Fatalf("%s has no field more", name)
		}
		for i := range a {
			if a[i].Realm != nil {
				// That a block has to have the type may change, and is no number.
				b[i].Realm.NeedsType = a[i].Realm.NeedsType
			}
			if !reflect.DeepEqual(a[i], b[i]) {
				t.Errorf("%s: got %+v, want %+v", name, b[i], a[i])
			}
		}
	}
	for i, k := range was.Kinds {
		now := is.Kinds[i]
		if now.Number != k.Number || now.ReplicaLink != k.ReplicaLink || now.RealmType != k.RealmType {
			t.Errorf("got %+v, want %+v", now, k)
		}
		same(k.Name, k.Fields, now.Fields)
	}
	for i, a := range was.Actions {
		if is.Actions[i].Number != a.Number {
			t.Errorf("got %+v, want %+v", is.Actions[i], a)
		}
		same(a.Name, a.Fields, is.Actions[i].Fields)
	}
	if was.Fingerprint == is.Fingerprint {
		t.Error("the games have one fingerprint")
	}
	if fmt.Sprint(was.Kinds[1].Fields[0].Realm.Attribute, was.Kinds[1].Fields[1].Realm.Attribute) != "0 1" {
		t.Errorf("a second kind does not count from 0: %+v", was.Kinds[1].Fields)
	}
}

func TestPaths(t *testing.T) {
	for name, want := range map[string]string{"x": `["x"]`, "slots[2].count": `["slots",2,"count"]`, "grid[0][12]": `["grid",0,12]`, "a.b.c[3]": `["a","b","c",3]`} {
		if got, _ := json.Marshal(Path(name)); string(got) != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
