package world

import "testing"

// crowdGame gives every player an entity of its own.
func crowdGame() Game {
	type Person struct{ Body }
	return Game{
		Name: "crowd", Kinds: Kinds(Person{}),
		Step: func(w *World, in []Input) {
			for i := range in {
				if in[i].Kind == Join && in[i].Name != "ghost" {
					w.Own(in[i].Player, SpawnFor(w, &in[i], Person{}))
				}
			}
		},
	}
}

func TestAPlayersOwnEntityHasTheReservedNumber(t *testing.T) {
	s := newSimOf(t, crowdGame(), Config{})
	wire := s.Reserve()
	other, _ := s.Join("other")
	p, err := s.JoinAs("reserved", wire)
	if err != nil {
		t.Fatal(err)
	}
	s.Advance()
	for _, tt := range []struct {
		player PlayerID
		is     bool
	}{{other, false}, {p, true}} {
		own, _ := s.World().Player(tt.player)
		if got := s.Wire(own.Entity); got == 0 || (got == wire) != tt.is {
			t.Errorf("player %d has number %d; %d was reserved", tt.player, got, wire)
		}
	}
	if own, _ := s.World().Player(p); s.ByWire(wire) != own.Entity {
		t.Errorf("number %d is of %v", wire, s.ByWire(wire))
	}
}

// A number that nobody took rests and is given again, and not before.
func TestReservedNumbersComeBack(t *testing.T) {
	s := newSimOf(t, crowdGame(), Config{ReuseTicks: 5})
	taken := map[uint16]bool{}
	for {
		wire := s.Reserve()
		if wire == 0 {
			break
		}
		if taken[wire] {
			t.Fatalf("number %d was given twice", wire)
		}
		taken[wire] = true
	}
	if len(taken) != MaxEntity-keptNumbers {
		t.Errorf("%d numbers were given", len(taken))
	}
	for i := range keptNumbers { // what the players do has the others
		if s.book.give(ID(1<<50+i), 0) == 0 {
			t.Fatalf("the world has %d numbers to itself, want %d", i, keptNumbers)
		}
	}
	s.Release(7)
	s.Release(7)
	if wire := s.Reserve(); wire != 0 {
		t.Errorf("number %d was given before it had rested", wire)
	}
	ghost, err := s.JoinAs("ghost", 9)
	if err != nil {
		t.Fatal(err)
	}
	s.Leave(ghost)
	for range 6 {
		s.Advance()
	}
	got := map[uint16]bool{s.book.next(): true, s.book.next(): true}
	if !got[7] || !got[9] || s.book.next() != 0 {
		t.Errorf("after a rest %v came back, want 7 and 9", got)
	}
}

// 15.2: connections that reserve a number and go do not use them up.
func TestReservingAndReleasingUsesUpNoNumbers(t *testing.T) {
	notRaced(t)
	s := newSimOf(t, crowdGame(), Config{})
	for i := range 5 * MaxEntity {
		if i%200 == 0 { // 4,000 a second at 20 ticks
			s.Advance()
		}
		wire := s.Reserve()
		if wire == 0 {
			t.Fatalf("reservation %d has none", i)
		}
		switch i % 3 {
		case 0:
			s.Release(wire)
		case 1: // it joins, gets nothing of its own, and leaves
			p, err := s.JoinAs("ghost", wire)
			if err != nil {
				t.Fatal(err)
			}
			s.Leave(p)
		case 2: // who has none yet is gone before
			p, err := s.JoinAs("player", wire)
			if err != nil {
				t.Fatal(err)
			}
			s.Leave(p)
		}
	}
}
