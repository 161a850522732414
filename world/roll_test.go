package world

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"testing"
)

// rollModel is the page's sessions, kept in the simplest way: all tokens that a player was ever told, and which of them counts.
type rollModel struct {
	seats   map[PlayerID]*modelSeat
	tickets map[Serial]modelTicket
}

type modelSeat struct {
	told   []TokenHash
	base   int // the newest that was acknowledged or used, or the first
	known  bool
	away   bool
	since  uint64
	serial Serial
}

type modelTicket struct {
	player  PlayerID
	expires int64
}

// works reports whether the i-th token of a player lets in: "The old token works until the new one is acknowledged or used, and not
// after" (entry.md).
func (m *modelSeat) works(i int) bool { return i == m.base || i == len(m.told)-1 }

// The roll does what the model does, also after it was loaded from a snapshot or made again from the log.
func TestTheRollAgainstAModel(t *testing.T) {
	r := newRand(t)
	for range rounds(400, 4000) {
		s := newSim(t, Config{Seed: 1, MaxRollbackTicks: 2})
		s.Keep(1, 1)
		log := s.AppendHead(nil)
		m := rollModel{map[PlayerID]*modelSeat{}, map[Serial]modelTicket{}}
		var players []PlayerID
		var gone []TokenHash
		due := int64(1_700_000_000e6)
		serials := []Serial{}
		for range 150 {
			if len(players) == 0 || r.IntN(15) == 0 {
				p := join(t, s, "p")
				players = append(players, p)
				m.seats[p] = &modelSeat{since: s.Tick()}
			}
			p := players[r.IntN(len(players))]
			at := m.seats[p]
			switch r.IntN(9) {
			case 0, 1: // a token is told
				n := Session{Token: newToken(r.Uint64())}
				if len(at.told) == 0 && r.IntN(2) == 0 {
					binary.LittleEndian.PutUint64(n.Serial[:], r.Uint64())
					n.Expires = due/1e6 + int64(r.IntN(200))
					m.tickets[n.Serial] = modelTicket{p, n.Expires}
					at.serial = n.Serial
					serials = append(serials, n.Serial)
				}
				at.told = append(at.told, n.Token)
				s.Admit(p, n)
			case 2: // the newest is acknowledged
				s.Known(p)
				at.known = true
				at.base = max(0, len(at.told)-1)
			case 3, 4: // one of those ever told is used
				if len(at.told) == 0 {
					break
				}
				i := r.IntN(len(at.told))
				got, ok := s.Use(at.told[i])
				if ok != at.works(i) || ok && got != p {
					t.Fatalf("token %d of %d, newest known %d: %v %v", i, len(at.told), at.base, got, ok)
				}
				if ok {
					at.known, at.base = true, max(at.base, i)
				}
			case 5:
				s.Away(p)
				if !at.away {
					at.away, at.since = true, s.Tick()
				}
			case 6:
				s.Back(p)
				at.away, at.since = false, s.Tick()
			case 7:
				if r.IntN(4) == 0 {
					s.Leave(p)
					gone = append(gone, at.told...)
					delete(m.seats, p)
					players = slices.DeleteFunc(players, func(q PlayerID) bool { return q == p })
				}
			default:
				due += int64(r.IntN(30e6))
				log = append(log, s.Seal(due, 0)...)
				s.Advance()
			}
		}
		log = append(log, s.Seal(due, 0)...)
		s.Advance()
		loaded, _, err := Load(testGame(), bytes.NewReader(s.AppendSnapshot(nil)))
		if err != nil {
			t.Fatal(err)
		}
		again := newSim(t, Config{Seed: 1, MaxRollbackTicks: 2})
		applyAll(t, again, log)
		for _, s := range []*Sim{s, loaded, again} {
			m.want(t, s, gone, serials, due/1e6)
		}
	}
}

func newToken(n uint64) TokenHash {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	return sha256.Sum256(b[:])
}

// applyAll runs a log from its beginning.
func applyAll(t testing.TB, s *Sim, log []byte) {
	t.Helper()
	in, err := NewLogReader(bytes.NewReader(log))
	for err == nil {
		var block []byte
		if block, err = in.Next(); err != nil {
			break
		}
		e, err := s.ReadEntry(block)
		if err == nil {
			err = s.Apply(e)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// want compares a roll with the model.
func (m *rollModel) want(t *testing.T, s *Sim, gone []TokenHash, serials []Serial, now int64) {
	t.Helper()
	for p, at := range m.seats {
		got, ok := s.Seat(p)
		if !ok || got != (Seat{at.known, at.away, at.since, at.serial}) {
			t.Fatalf("player %d: %+v, want %+v", p, got, at)
		}
		for i, token := range at.told {
			if got, ok := s.ByToken(token); ok != at.works(i) || ok && got != p {
				t.Fatalf("player %d: token %d of %d, newest known %d: %v %v", p, i, len(at.told), at.base, got, ok)
			}
		}
	}
	for _, token := range gone {
		if p, ok := s.ByToken(token); ok {
			t.Fatalf("a token of one who left is %d's", p)
		}
	}
	for _, serial := range serials {
		k := m.tickets[serial]
		again, spent := s.Spent(serial)
		if !spent && k.expires >= now {
			t.Fatalf("a ticket that is spent until %d is not, and it is %d", k.expires, now)
		}
		if spent && k.expires < now-ticketSweep {
			t.Fatalf("a ticket that expired at %d is kept, and it is %d", k.expires, now)
		}
		want := PlayerID(0)
		if at := m.seats[k.player]; spent && at != nil && at.serial == serial && !at.known {
			want = k.player
		}
		if again != want {
			t.Fatalf("the ticket brings %d back, want %d", again, want)
		}
	}
	if len(s.roll.tokens) > 2*len(m.seats) {
		t.Fatalf("%d tokens of %d players", len(s.roll.tokens), len(m.seats))
	}
	if _, ok := s.ByToken(TokenHash{}); ok {
		t.Fatal("no token is one")
	}
}

// Step is given Away and Back like joins and leaves, and they are never too many.
func TestAwayAndBack(t *testing.T) {
	var got []InputKind
	g := testGame()
	g.Step = func(w *World, in []Input) {
		testStep(w, in)
		for _, i := range in {
			if i.Kind == Away || i.Kind == Back {
				got = append(got, i.Kind)
			}
		}
	}
	s := newSimOf(t, g, Config{})
	p := join(t, s, "a")
	s.Advance()
	for range 2 * maxPlayerInputs {
		s.Steer(p, s.Tick(), steer(1, 1), 0)
	}
	s.Away(p)
	s.Away(p) // it is away already
	s.Back(p)
	s.Back(p) // over another connection
	s.Away(99)
	s.Back(99)
	s.Advance()
	if want := []InputKind{Away, Back, Back}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	own, _ := avatar(t, s, p)
	away, back := events(s, PlayerAway), events(s, PlayerBack)
	if len(away) != 1 || away[0].Player != p || away[0].Entity != own || len(back) != 2 {
		t.Errorf("%+v", s.Events())
	}
	for range 300 { // more than a byte counts
		s.Back(p)
	}
	wantReason(t, "one more", s.Steer(p, s.Tick(), steer(1, 1), 0), TooMany)
	s.Advance()
	if len(events(s, PlayerBack)) != 300 {
		t.Errorf("%d events", len(events(s, PlayerBack)))
	}
	s.Leave(p)
	s.Advance()
	if _, ok := s.Seat(p); ok {
		t.Error("one who left has a seat")
	}
}

// The mode is the game's to read, and part of the hash if there is one.
func TestMode(t *testing.T) {
	plain, duel := newSim(t, Config{Seed: 1}), newSim(t, Config{Seed: 1, Mode: "duel"})
	if duel.World().Mode() != "duel" || plain.World().Hash() == duel.World().Hash() || newSim(t, Config{Seed: 1, Mode: "deul"}).World().Hash() == duel.World().Hash() {
		t.Error("the mode is no part of the world")
	}
	if _, err := New(testGame(), Config{Mode: string(make([]byte, 256))}); err == nil {
		t.Error("a mode of 256 bytes")
	}
}
