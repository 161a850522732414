package parley_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley"
	"parley/arena"
	"parley/internal/patient"
	"parley/play/bots"
	"parley/protocol/relay"
	"parley/test/field"
)

// found is what a call of Match returned.
type found struct {
	parley.MatchResult
	err error
}

// look calls Match, and returns where its result comes.
func look(ctx context.Context, s *field.Server, r parley.MatchRequest) chan found {
	out := make(chan found, 1)
	go func() {
		res, err := s.Match(ctx, r)
		out <- found{res, err}
	}()
	return out
}

// waiting waits until so many wait for a match.
func waiting(t *testing.T, s *field.Server, n int) {
	t.Helper()
	s.Within(t, fmt.Sprintf("%d wait for a match", n), func() bool { return s.Stats().Matches.Waiting == n })
}

func TestTwoWhoWantTheSameAreMatched(t *testing.T) {
	for _, key := range []relay.TicketKey{nil, relay.TicketKey("a key of at least sixteen bytes")} {
		t.Run(fmt.Sprintf("ticket key %v", key != nil), func(t *testing.T) {
			c := field.Config()
			c.TicketKey, c.DataDir, c.Realm = key, t.TempDir(), parley.Off
			s := field.Serve(t, arena.Game(), c)
			ann := look(t.Context(), s, parley.MatchRequest{Name: "ann", Mode: "duel"})
			waiting(t, s, 1)
			other := look(t.Context(), s, parley.MatchRequest{Mode: "race"})
			waiting(t, s, 2)
			bob := patient.Value(look(t.Context(), s, parley.MatchRequest{Name: "bob", Mode: "duel", Players: 2}))
			got := patient.Value(ann)
			if bob.err != nil || got.err != nil || got.Room != bob.Room || !strings.HasPrefix(got.Room, "match-") || string(got.Ticket) == string(bob.Ticket) {
				t.Fatalf("ann: %+v\nbob: %+v", got, bob)
			}
			rooms := roomsOf(t, s)
			i := slices.IndexFunc(rooms, func(r parley.RoomState) bool { return r.Name == got.Room })
			if i < 0 || rooms[i].Mode != "duel" || rooms[i].MaxPlayers != 2 || !rooms[i].Closed {
				t.Fatalf("the rooms are %+v", rooms)
			}
			schema := s.Schema
			for dialect, f := range map[string]found{"replica": got, "duplex": bob} {
				v := field.Enter(t, dialect, s.At[dialect], bots.Config{Schema: schema, Ticket: f.Ticket})
				defer v.Leave()
			}
			s.Within(t, "both are in the room", func() bool {
				list := playersOf(t, s)
				return len(list) == 2 && list[0].Room == got.Room && list[1].Room == got.Room
			})
			if list := playersOf(t, s); list[0].Name+list[1].Name != "annbob" && list[0].Name+list[1].Name != "bobann" {
				t.Errorf("the players are %+v", list)
			}
			// A ticket is spent, and without one nobody comes in.
			for name, c := range map[string]bots.Config{"a used ticket": {Ticket: got.Ticket}, "no ticket": {Room: got.Room}} {
				c.Schema = schema
				if v, err := field.Visit(t.Context(), "relay", s.At["relay"], c); err == nil {
					if v.Wait(field.Patience) {
						t.Errorf("%s lets in", name)
					}
					v.Leave()
				}
			}
			select {
			case x := <-other:
				t.Errorf("somebody who wants another game is told %+v", x)
			default:
			}
			s.Close()
			if x := patient.Value(other); !errors.Is(x.err, parley.ErrClosed) {
				t.Errorf("somebody who waits when the server ends is told %v", x.err)
			}
		})
	}
}

// A ticket of the server's own key is good for its own match and for nothing else, and an open room needs none.
func TestAMatchTicketIsGoodForItsRoomOnly(t *testing.T) {
	t.Parallel() // it waits for most of its time
	c := field.Replica()
	s := field.Serve(t, arena.Game(), c)
	ann := look(t.Context(), s, parley.MatchRequest{})
	patient.Value(look(t.Context(), s, parley.MatchRequest{}))
	got := patient.Value(ann)
	if got.err != nil {
		t.Fatal(got.err)
	}
	schema := s.Schema
	guest := field.Enter(t, "replica", s.At["replica"], bots.Config{Schema: schema})
	guest.Leave()
	if err := s.CloseRoom(got.Room); err != nil {
		t.Fatal(err)
	}
	if err := s.Open(parley.Room{Name: got.Room}); err != nil { // another of that name
		t.Fatal(err)
	}
	v, err := field.Visit(t.Context(), "replica", s.At["replica"], bots.Config{Schema: schema, Ticket: got.Ticket})
	if err == nil {
		defer v.Leave()
		if v.Wait(field.Patience) {
			t.Error("it lets into a room that was opened by somebody else")
		}
	}
}

func TestAPlayerWhoHangsUpIsNotMatched(t *testing.T) {
	s := field.Serve(t, arena.Game(), field.Replica())
	ctx, hangUp := context.WithCancel(t.Context())
	gone := look(ctx, s, parley.MatchRequest{Name: "gone"})
	waiting(t, s, 1)
	hangUp()
	if x := patient.Value(gone); !errors.Is(x.err, context.Canceled) {
		t.Errorf("it is told %v", x.err)
	}
	ann := look(t.Context(), s, parley.MatchRequest{Name: "ann"})
	waiting(t, s, 1)
	bob := patient.Value(look(t.Context(), s, parley.MatchRequest{Name: "bob"}))
	if x := patient.Value(ann); x.err != nil || bob.err != nil || x.Room != bob.Room {
		t.Errorf("ann: %+v, bob: %+v", x, bob)
	}
}

func TestMatchesThatCannotBe(t *testing.T) {
	c := field.Replica()
	c.MaxPlayers = 10
	s := field.Serve(t, arena.Game(), c)
	for _, r := range []parley.MatchRequest{{Players: 1}, {Players: -2}, {Players: 11}, {Mode: strings.Repeat("x", 256)}, {Name: "server"}, {Name: strings.Repeat("x", 65)}} {
		if _, err := s.Match(t.Context(), r); !errors.Is(err, parley.ErrMatch) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	r := parley.MatchRequest{Players: 10, From: netip.MustParseAddr("192.0.2.1")}
	ctx, cancel := context.WithCancel(t.Context())
	var list []chan found
	for i := range 64 {
		r.Mode = fmt.Sprint("mode ", i)
		list = append(list, look(ctx, s, r))
	}
	waiting(t, s, 64)
	if _, err := s.Match(t.Context(), r); !errors.Is(err, parley.ErrTooManyWait) {
		t.Errorf("one more of an address: %v", err)
	}
	cancel()
	for _, x := range list {
		patient.Value(x)
	}
	waiting(t, s, 0)
}

// While the server has all the rooms that it may, players wait; when one ends they are matched, those who came first as the first.
func TestPlayersWaitForARoom(t *testing.T) {
	t.Parallel() // it waits for most of its time
	c := field.Replica()
	c.MaxRooms = 2
	s := field.Serve(t, arena.Game(), c)
	if err := s.Open(parley.Room{Name: "other"}); err != nil {
		t.Fatal(err)
	}
	var list []chan found
	for i := range 4 {
		list = append(list, look(t.Context(), s, parley.MatchRequest{}))
		waiting(t, s, i+1)
	}
	if err := s.CloseRoom("other"); err != nil {
		t.Fatal(err)
	}
	a, b := patient.Value(list[0]), patient.Value(list[1])
	if a.err != nil || a.Room != b.Room {
		t.Fatalf("the first: %+v, the second: %+v", a, b)
	}
	waiting(t, s, 2)
	if err := s.CloseRoom(a.Room); err != nil {
		t.Fatal(err)
	}
	if a, b := patient.Value(list[2]), patient.Value(list[3]); a.err != nil || a.Room != b.Room {
		t.Fatalf("the third: %+v, the fourth: %+v", a, b)
	}
}

// Strangers are matched with themselves until there is no place for a room: the operator still opens one.
func TestMatchesLeaveRoomsToTheOperator(t *testing.T) {
	c := field.Replica()
	c.MaxRooms, c.DataDir = 8, t.TempDir()
	s := field.Serve(t, arena.Game(), c)
	var list []chan found
	for range 2 * c.MaxRooms {
		list = append(list, look(t.Context(), s, parley.MatchRequest{From: netip.MustParseAddr("192.0.2.1")}))
	}
	s.Within(t, "there are as many matches as may be", func() bool { return len(roomsOf(t, s)) == 1+6 })
	waiting(t, s, 2*c.MaxRooms-2*6) // there is main, and a place is the operator's
	if err := s.Open(parley.Room{Name: "of-players", ByPlayers: true}); !errors.Is(err, parley.ErrTooManyRooms) {
		t.Errorf("players open a room in the operator's place: %v", err)
	}
	if err := s.Open(parley.Room{Name: "of-the-operator"}); err != nil {
		t.Errorf("strangers keep the operator from opening a room: %v", err)
	}
	for _, name := range []string{"of-the-operator", ""} { // one of the operator's, and then one of a match
		rooms, err := s.Rooms()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rooms {
			if r.ByPlayers != strings.HasPrefix(r.Name, "match-") {
				t.Errorf("%+v", r)
			}
			if name == "" && r.ByPlayers {
				name = r.Name
			}
		}
		if err := s.CloseRoom(name); err != nil {
			t.Fatal(err)
		}
	}
	waiting(t, s, 2)
	if err := s.Ban(parley.Ban{Prefix: prefix(t, "192.0.2.1")}); err != nil {
		t.Fatal(err)
	}
	for _, x := range list {
		patient.Value(x)
	}
}

// A ban of a network holds for its addresses with a zone too.
func TestABanHoldsForAddressesWithAZone(t *testing.T) {
	c := field.Replica()
	c.DataDir = t.TempDir()
	s := field.Serve(t, arena.Game(), c)
	waits := look(t.Context(), s, parley.MatchRequest{From: netip.MustParseAddr("fe80::1%eth0")})
	waiting(t, s, 1)
	if err := s.Ban(parley.Ban{Prefix: prefix(t, "fe80::/64")}); err != nil {
		t.Fatal(err)
	}
	if got := patient.Value(waits); !errors.Is(got.err, parley.ErrBanned) {
		t.Errorf("its address is banned, and it is told %v", got.err)
	}
}

func TestTickets(t *testing.T) {
	t.Parallel() // it waits for most of its time
	c := field.Replica()
	s := field.Serve(t, arena.Game(), c)
	if _, err := s.Ticket("", "ann", time.Minute); !errors.Is(err, parley.ErrNoTicketKey) {
		t.Errorf("without a key: %v", err)
	}
	c.TicketKey, c.DataDir = relay.TicketKey("a key of at least sixteen bytes"), t.TempDir()
	s = field.Serve(t, arena.Game(), c)
	for _, x := range []struct {
		room, name string
		ttl        time.Duration
	}{{"No Room", "ann", time.Minute}, {"main", "server", time.Minute}, {"main", " ann", time.Minute}, {"main", "ann", 0}, {"main", "ann", 1000 * time.Hour}} {
		if _, err := s.Ticket(x.room, x.name, x.ttl); !errors.Is(err, parley.ErrTicket) {
			t.Errorf("%+v: %v", x, err)
		}
	}
	ticket, err := s.Ticket("", "ann", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	v := field.Enter(t, "replica", s.At["replica"], bots.Config{Schema: s.Schema, Ticket: ticket})
	defer v.Leave()
	s.Within(t, "ann is in", func() bool { list := playersOf(t, s); return len(list) == 1 && list[0].Name == "ann" })
}

// Ten thousand players wait for matches of a server that runs, each with a room and a ticket of its own.
func BenchmarkServerMatch(b *testing.B) {
	const players = 10_000
	for _, keep := range []parley.Keep{parley.KeepNothing, parley.KeepSecond} {
		b.Run(fmt.Sprint("keep=", keep), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				c := field.Replica()
				c.MaxRooms, c.Keep, c.DataDir = players, keep, b.TempDir()
				s := field.Serve(b, arena.Game(), c)
				b.StartTimer()
				var all sync.WaitGroup
				for range players {
					all.Go(func() {
						if _, err := s.Match(b.Context(), parley.MatchRequest{Mode: "duel"}); err != nil {
							b.Error(err)
						}
					})
				}
				patient.Done(all.Wait)
				b.StopTimer()
				s.Close()
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*players), "µs/player")
		})
	}
}

// A player who is banned waits no longer, and one who waits is not matched with it.
func TestABannedPlayerIsNotMatched(t *testing.T) {
	c := field.Replica()
	c.DataDir = t.TempDir()
	s := field.Serve(t, arena.Game(), c)
	eve := parley.MatchRequest{Name: "eve", From: netip.MustParseAddr("::ffff:192.0.2.66")}
	out := look(t.Context(), s, eve)
	waiting(t, s, 1)
	if err := s.Ban(parley.Ban{Prefix: netip.MustParsePrefix("192.0.2.0/24")}); err != nil {
		t.Fatal(err)
	}
	if x := patient.Value(out); !errors.Is(x.err, parley.ErrBanned) {
		t.Errorf("it is told %v", x.err)
	}
	waiting(t, s, 0)
	if _, err := s.Match(t.Context(), eve); !errors.Is(err, parley.ErrBanned) || !s.Banned(eve.From) || s.Banned(netip.MustParseAddr("192.0.3.1")) {
		t.Errorf("it asks again, and is told %v", err)
	}
}
