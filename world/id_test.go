package world

import "testing"

func TestIDTableAgainstAMap(t *testing.T) {
	r := newRand(t)
	var table lookup[ID]
	model := map[ID]uint32{}
	check := func(id ID) {
		got, ok := table.get(id)
		want, there := model[id]
		if ok != there || got != want {
			t.Fatalf("%v: %d %v, want %d %v", id, got, ok, want, there)
		}
	}
	for range rounds(500_000, 10_000_000) {
		// Few IDs, so that they meet often.
		id := ID(1 + r.Uint64N(600))
		if r.IntN(2) == 0 {
			id <<= 48
		}
		switch r.IntN(5) {
		case 0, 1:
			v := r.Uint32()
			table.put(id, v)
			model[id] = v
		case 2, 3:
			table.remove(id)
			delete(model, id)
		}
		check(id)
		if table.n != len(model) {
			t.Fatalf("%d, want %d", table.n, len(model))
		}
	}
	for id := range model {
		check(id)
	}
	check(0)
	table.clear()
	clear(model)
	check(1)
}

func TestAnIDSaysWhereItComesFrom(t *testing.T) {
	if got := makeID(12, 3, 2049).String(); got != "t12.p3.2049" {
		t.Error(got)
	}
	if got := ID(0).String(); got != "none" {
		t.Error(got)
	}
}
