package core

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
)

// entryStage is a server with many rooms, and a newcomer in a state of the table. Each newcomer has an address of its own.
type entryStage struct {
	hall   *hall
	lobby  *EntryLobby
	room   *Room
	peer   netip.AddrPort
	judged *Newcomer
	count  int
}

var entryMessages = []struct {
	name string
	make func(s *entryStage) []byte
}{
	{"pass", func(*entryStage) []byte { return pack(Unordered, true, 0, "Rmain") }},
	{"pass, semi-ordered", func(*entryStage) []byte { return pack(SemiOrdered, true, 0, "Rmain") }},
	{"pass, unreliable", func(*entryStage) []byte { return pack(Unreliable, true, 0, "Rmain") }},
	{"pass, behind the answer", func(*entryStage) []byte { return pack(Unordered, true, 2, "Rmain") }},
	{"random bytes, to the server, with the pass's id", func(*entryStage) []byte { return pack(Unordered, true, 0, "\x00\x01\x02") }},
	{"the largest payload, to the server, with the pass's id", func(*entryStage) []byte { return pack(Unordered, true, 0, strings.Repeat("T", MaxPayload)) }},
	{"empty package, with the pass's id", func(*entryStage) []byte { return pack(Unordered, true, 0, "") }},
	{"package to the others, with the pass's id", func(*entryStage) []byte { return pack(Unordered, false, 0, "x") }},
	{"package to the others", func(*entryStage) []byte { return pack(Unordered, false, 3, "x") }},
	{"answer", func(s *entryStage) []byte { return pack(Unordered, true, 1, s.hall.challengeOf(s.peer)) }},
	{"answer, first of all", func(s *entryStage) []byte { return pack(Unordered, true, 0, s.hall.challengeOf(s.peer)) }},
	{"answer, unreliable", func(s *entryStage) []byte { return pack(Unreliable, true, 1, s.hall.challengeOf(s.peer)) }},
	{"wrong answer", func(*entryStage) []byte { return pack(Unordered, true, 1, "\xffwrong..!") }},
	{"package, far", func(*entryStage) []byte { return pack(Unordered, true, 2000, "x") }},
	{"confirm", func(*entryStage) []byte { return confirmOf(0) }},
	{"leaving", func(*entryStage) []byte { return pack(Unreliable, true, 0, "") }},
	{"malformed", func(*entryStage) []byte { return []byte{0x80, 0, 0, 0} }},
}

// Begin has a newcomer come as far as a state.
func (s *entryStage) Begin(state string) {
	if s.count++; s.count%1000 == 1 {
		s.lobby = NewEntryLobby(EntryConfig{Rules: stageRules})
		s.hall = newHall(s.hall.t, Config{Lobby: s.lobby})
		s.room = s.hall.mux.NewRoom()
	}
	h := s.hall
	if p := h.mux.First().Peer(s.peer); p != nil {
		p.Remove(Close{Reason: ReasonClosed})
		h.turn()
	}
	h.now = h.now.Add(11 * time.Second)
	s.peer, s.judged = addr(s.count), nil
	step := slices.Index([]string{"none", "proven", "judged", "open", "ignored"}, state)
	if step >= 1 {
		s.give("answer")
	}
	if step >= 2 {
		s.give("pass")
	}
	if step >= 3 {
		s.admit()
	}
	if step == 4 {
		h.mux.First().Peer(s.peer).Remove(Close{Reason: ReasonClosed})
		h.turn()
	}
	s.effects()
}

func (s *entryStage) admit() {
	if _, err := s.judged.Admit(s.room, ""); err != nil {
		s.hall.t.Fatal(err)
	}
	s.judged = nil
	s.hall.turn()
}

func (s *entryStage) give(name string) {
	for _, m := range entryMessages {
		if m.name == name {
			s.hall.in(s.peer, m.make(s))
		}
	}
	s.effects()
}

// State names where the newcomer stands.
func (s *entryStage) State() string {
	h := s.hall
	switch port, n := h.mux.First(), s.lobby.waiting.of[s.peer]; {
	case port.Peer(s.peer) != nil:
		return "open"
	case port.ignored != nil && port.ignored.Has(h.now, s.peer):
		return "ignored"
	case n != nil && n.shown:
		return "judged"
	case n != nil:
		return "proven"
	}
	return "none"
}

// effects returns what happened since it was last asked, in the words of the table.
func (s *entryStage) effects() (list []string) {
	for _, ev := range s.hall.heard {
		switch {
		case ev.Kind == EventPass && ev.Newcomer.Pass() != nil:
			s.judged, list = ev.Newcomer, append(list, "shown with a pass")
		case ev.Kind == EventPass:
			s.judged, list = ev.Newcomer, append(list, "shown without a pass")
		case ev.Kind == EventPackage:
			list = append(list, "delivered")
		case ev.Kind == EventLeft:
			list = append(list, fmt.Sprintf("left, goodbye %t", ev.Goodbye))
		}
	}
	s.hall.told()
	for _, b := range s.hall.out[s.peer] {
		var d Datagram
		d.Parse(b)
		switch {
		case d.Kind == KindConfirmation:
			list = append(list, "confirm")
		case isChallenge(d.Payload):
			list = append(list, "challenge")
		case d.Mode == Unreliable && len(d.Payload) == 0:
			list = append(list, "farewell")
		default:
			list = append(list, "something else")
		}
	}
	clear(s.hall.out)
	return list
}

// Give gives a message to the server and says what came of it.
func (s *entryStage) Give(message int) string {
	before, was := s.lobby.Stats(), s.hall.mux.Stats()
	s.hall.in(s.peer, entryMessages[message].make(s))
	list := s.effects()
	after, is := s.lobby.Stats(), s.hall.mux.Stats()
	for _, c := range []struct {
		name          string
		before, after uint64
	}{{"early", before.Early, after.Early}, {"wrong", before.Wrong, after.Wrong}, {"stranger", was.Strangers, is.Strangers}, {"malformed", was.Malformed, is.Malformed}} {
		if c.after > c.before {
			list = append(list, c.name)
		}
	}
	if len(list) == 0 {
		return s.State()
	}
	return s.State() + ": " + strings.Join(list, ", ")
}

// Between lets some in who are judged, or turns them away. Walks end there: which ids of a peer are known is in another table.
func (s *entryStage) Between(rng *rand.Rand) bool {
	if s.State() == "judged" && rng.IntN(4) == 0 {
		if rng.IntN(2) == 0 {
			s.admit()
		} else {
			s.judged.Refuse("no such room")
			s.hall.turn()
		}
		s.effects()
	}
	return s.State() != "open" && s.State() != "ignored"
}

// Untold is false: one that is open has come there by the messages of Begin.
func (s *entryStage) Untold(int, string) bool { return false }

func entryRole() kit.Role {
	r := kit.Role{Heading: "A server with many rooms", States: []string{"none", "proven", "judged", "open", "ignored"},
		Stage: func(t testing.TB) kit.Stage { return &entryStage{hall: &hall{t: t}} }}
	for _, m := range entryMessages {
		r.Messages = append(r.Messages, m.name)
	}
	return r
}

// T68, of relay: each kind of pass in each state of a connection.
func TestPassesInEachState(t *testing.T) { kit.States(t, "relay entry", relayPage, entryRole()) }

func TestWalksOfNewcomers(t *testing.T) {
	t.Parallel()
	kit.Walks(t, "relay entry", relayPage, promise.Keeps(t, "T68", "relay", kit.Tier(5_000, 100_000, 1_000_000)), entryRole())
}
