package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"parley/arena"
	"parley/world"
)

// The types of the arena, and of arrays and structs.
func TestTypeScript(t *testing.T) {
	got, err := TypeScript(arena.Game())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"    player: {\n      health: number\n      cooldown_one: number\n    }\n",
		"    throw: {\n      angle: number\n      entity?: number\n    }\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks\n%s\nand is\n%s", want, got)
		}
	}
	type Slot struct {
		Item  uint8
		Count uint64
	}
	type Chest struct {
		Lid   struct{ Open bool }
		Slots [2]Slot
		Label string `parley:"max=9"`
	}
	type Wait struct{}
	got, err = TypeScript(world.Game{Name: "chests */", Kinds: world.Kinds(Chest{}), Actions: world.Actions(Wait{}), Step: func(*world.World, []world.Input) {}})
	if err != nil {
		t.Fatal(err)
	}
	slot := "{\n        item: number\n        count: bigint\n      }"
	want := "    chest: {\n      lid: {\n        open: boolean\n      }\n      slots: [" + slot + ", " + slot + "]\n      label: string\n    }\n"
	if !strings.Contains(got, want) || !strings.Contains(got, "    wait: {}\n") || strings.Count(got, "*/") != 2 { // of the comment, and in the string
		t.Errorf("it lacks\n%s\nand is\n%s", want, got)
	}
}

// What a page is told of the arena has all that its body stops at.
func TestPageOf(t *testing.T) {
	p, err := PageOf(arena.Game())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"solid":[1]`, `"hitboxes":[{},{"radius":10},{"radius":10}]`, `"max_speed":2`, `{"name":"entity","path":["entity"],"type":"entity","wire":"entity"}`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("it lacks %s and is %s", want, text)
		}
	}
}
