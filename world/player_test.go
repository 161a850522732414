package world

import (
	"maps"
	"slices"
	"testing"
)

// Players come and go, and the world goes back to ticks when others were there.
func TestPlayersAgainstAMap(t *testing.T) {
	r := newRand(t)
	var ps players
	model := map[PlayerID]uint64{}
	var saved []Player
	savedModel := map[PlayerID]uint64{}
	number := func() PlayerID { return PlayerID(1 + r.IntN(200)*(1+r.IntN(300))) }
	for n := range uint64(rounds(20_000, 500_000)) {
		p := number()
		switch r.IntN(8) {
		case 0, 1, 2:
			ps.add(Player{ID: p, Since: n})
			if _, ok := model[p]; !ok {
				model[p] = n
			}
		case 3, 4:
			if len(ps.list) > 0 && r.IntN(2) == 0 {
				p = ps.list[r.IntN(len(ps.list))].ID
			}
			ps.remove(p)
			delete(model, p)
		case 5:
			saved, savedModel = append(saved[:0], ps.list...), maps.Clone(model)
		case 6:
			if r.IntN(4) == 0 {
				ps.load(saved)
				model = maps.Clone(savedModel)
			}
		}
		for range 10 {
			i, ok := ps.find(p)
			since, there := model[p]
			if ok != there || ok && (ps.list[i].ID != p || ps.list[i].Since != since) {
				t.Fatalf("player %d: %v, want %v", p, ok, there)
			}
			p = number()
		}
	}
	if !slices.IsSortedFunc(ps.list, func(a, b Player) int { return int(a.ID) - int(b.ID) }) || len(ps.list) != len(model) {
		t.Errorf("%d players, want %d in order", len(ps.list), len(model))
	}
	for p := range model {
		if _, ok := ps.find(p); !ok {
			t.Errorf("player %d is not found", p)
		}
	}
	if _, ok := ps.find(0); ok {
		t.Error("player 0 is nobody")
	}
}

// NextPlayer says which number Join gives, also where the numbers begin anew.
func TestNextPlayer(t *testing.T) {
	notRaced(t)
	s := newSim(t, Config{})
	first := s.NextPlayer()
	if p := join(t, s, "stays"); p != first || p != 1 {
		t.Fatalf("%d, want %d", p, first)
	}
	for range 1<<16 + 5 {
		want := s.NextPlayer()
		p := join(t, s, "goes")
		if p != want || p == 0 || p == first {
			t.Fatalf("%d, want %d", p, want)
		}
		s.Leave(p)
		if s.Tick() == 0 || p%512 == 0 {
			s.Advance()
		}
	}
}
