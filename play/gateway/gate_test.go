package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/account"
	"parley/play/message"
	"parley/protocol/relay"
	relaycore "parley/protocol/relay/core"
)

var testKey = relay.TicketKey("a key of at least sixteen bytes")

// ticketFor makes a ticket that is good for an hour.
func ticketFor(t *testing.T, room, name string) []byte {
	t.Helper()
	return must(relay.NewTicket(testKey, room, name, time.Hour))
}

// show has somebody enter a hub with a pass, as a dialect does.
func (d *desk) show(h *Hub, pass []byte) (*Seat, error) {
	s := d.chair()
	s.from = netip.MustParseAddr("192.0.2.1")
	var err error
	if s.pass, err = h.gate.Judge(s.from, pass); err != nil {
		return s, err
	}
	h.withRoom(s, func(_ *Room, why error) { err = why })
	if err != nil {
		return s, err
	}
	if s.pass != nil && s.pass.Kind == message.PassTicket {
		if err := h.gate.refusal(s.pass); err != nil {
			return s, err
		}
	}
	d.inbox.put(request{seat: s, ask: askEnter})
	return s, nil
}

// settle runs ticks until the tickets that are being spent are.
func settle(t *testing.T, h *Hub) {
	t.Helper()
	ticks(t, h, 1)
	waitFor(t, func() { ticks(t, h, 1) }, "all tickets are spent", func() bool { return h.main.entering == 0 })
	ticks(t, h, 1)
}

func TestWhoIsLetInByWhichPass(t *testing.T) {
	key := func(c *Config) { c.TicketKey = testKey }
	open := func(*Config) {}
	forged := ticketFor(t, "", "eve")
	forged[len(forged)-1] ^= 1
	old := must(testKey.Issue(relaycore.Ticket{Name: "old", Expires: time.Now().Add(-time.Second)}))
	for _, tt := range []struct {
		name   string
		config func(*Config)
		pass   []byte
		want   error
	}{
		{"a guest in an open room", open, nil, nil},
		{"a ticket where there is no key", open, ticketFor(t, "", "ann"), RefusedTicket},
		{"a guest where there is a key", key, nil, RefusedGuest},
		{"a ticket without a room", key, ticketFor(t, "", "ann"), nil},
		{"a ticket for main", key, ticketFor(t, "main", "ann"), nil},
		{"a ticket for another room", key, ticketFor(t, "arena", "ann"), RefusedRoom},
		{"a forged ticket", key, forged, RefusedTicket},
		{"an expired ticket", key, old, RefusedTicket},
		{"one byte", key, []byte("T"), RefusedMalformed},
		{"another letter", key, []byte("Q\x04main\x00"), RefusedMalformed},
		{"a room in an open game", open, []byte("R\x04main\x03ann"), nil},
		{"another room in an open game", open, []byte("R\x05arena\x03ann"), RefusedRoom},
		{"a session that nobody has", open, []byte("Sxxxxxxxxxxxxxxxx"), RefusedSession},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c Config
			tt.config(&c)
			h, d := newDesk(t, c)
			s, err := d.show(h, tt.pass)
			if err != tt.want {
				t.Fatalf("it is told %v, want %v", err, tt.want)
			}
			settle(t, h)
			if (s.player != nil) != (tt.want == nil) {
				t.Errorf("it is %v", s.player)
			}
			if s.player != nil && s.pass != nil && s.player.Name != "ann" {
				t.Errorf("it is called %q, not as its ticket says", s.player.Name)
			}
		})
	}
}

// A dialect that does not ask for passes lets in nobody either.
func TestTheHubLetsInNobodyWithoutATicket(t *testing.T) {
	h, d := newDesk(t, Config{TicketKey: testKey})
	guest, account := d.sit("ann"), d.chair()
	account.account = true
	d.inbox.put(request{seat: account, ask: askEnter, name: "bob"})
	ticks(t, h, 1)
	if guest.player != nil || guest.kicked != RefusedGuest {
		t.Errorf("a guest is %v, told %q", guest.player, guest.kicked)
	}
	if account.player == nil {
		t.Errorf("an account is told %q", account.kicked)
	}
}

// Each ticket lets in one player, whoever comes with it at the same time, and also after restarts.
func TestATicketLetsInOne(t *testing.T) {
	file := filepath.Join(t.TempDir(), "spent-tickets")
	for _, tt := range []struct{ name, file string }{{"in memory", ""}, {"in a file", file}} {
		t.Run(tt.name, func(t *testing.T) {
			config := Config{TicketKey: testKey, SpentFile: tt.file, PerAddress: -1}
			var tickets [][]byte
			for i := range 300 {
				tickets = append(tickets, ticketFor(t, "main", fmt.Sprint("p", i)))
			}
			h, d := newDesk(t, config)
			for _, ticket := range tickets {
				// Three judge it good before one of them has entered.
				for range 3 {
					if _, err := d.show(h, ticket); err != nil {
						t.Fatal(err)
					}
				}
			}
			settle(t, h)
			if in := len(h.main.players); in != len(tickets) || len(h.main.names) != len(tickets) {
				t.Errorf("%d tickets let in %d", len(tickets), in)
			}
			for range 2 {
				for _, ticket := range tickets {
					if _, err := d.show(h, ticket); err != RefusedUsed {
						t.Fatalf("a used ticket is told %v", err)
					}
				}
				if tt.file == "" {
					break
				}
				ends(t, h.Shutdown)
				h, d = newDesk(t, config)
			}
			ends(t, h.Shutdown)
		})
	}
}

// Who says goodbye over one dialect and shows its ticket again over another is not that player again, whichever of the two the hub reads
// first.
func TestATicketIsUsedOnceItsPlayerSaidGoodbye(t *testing.T) {
	h, first := newDesk(t, Config{TicketKey: testKey})
	second := &desk{radius: -1}
	h.Add(second)
	ticket := ticketFor(t, "main", "ann")
	s := must(second.show(h, ticket))
	settle(t, h)
	again := first.chair()
	again.from, again.pass = s.from, s.pass
	first.inbox.put(request{seat: again, ask: askEnter})
	s.leave(true)
	settle(t, h)
	if again.player != nil || again.kicked != RefusedUsed {
		t.Errorf("it is %v, told %v", again.player, again.kicked)
	}
	if len(h.main.players) != 0 {
		t.Errorf("%d players", len(h.main.players))
	}
}

// A player is in the world when its ticket is on the disk, and not before.
func TestATicketIsOnTheDiskBeforeItsPlayerIsIn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "spent-tickets")
	h, d := newDesk(t, Config{TicketKey: testKey, SpentFile: file})
	defer h.Shutdown(t.Context())
	s := must(d.show(h, ticketFor(t, "", "ann")))
	ticks(t, h, 1)
	waitFor(t, func() {
		ticks(t, h, 1)
		if s.player != nil {
			text, err := os.ReadFile(file)
			if err != nil || !bytes.Contains(text, s.pass.serial[:]) {
				t.Fatalf("it is in, and its ticket is not kept: %v", err)
			}
		}
	}, "it is in", func() bool { return s.player != nil })
}

// A ticket that a full game turned away is still good.
func TestAFullGameSpendsNoTicket(t *testing.T) {
	h, d := newDesk(t, Config{TicketKey: testKey, MaxPlayers: 2, SpentFile: filepath.Join(t.TempDir(), "spent-tickets")})
	defer h.Shutdown(t.Context())
	var seats []*Seat
	for i := range 5 { // at once: those whose tickets are being written have their places
		s := must(d.show(h, ticketFor(t, "", fmt.Sprint("p", i))))
		seats = append(seats, s)
	}
	settle(t, h)
	in := 0
	for _, s := range seats {
		spent := h.gate.spent.has(s.pass)
		if s.player != nil {
			in++
		} else if s.kicked != RefusedFull {
			t.Errorf("it is told %v", s.kicked)
		}
		if spent != (s.player != nil) {
			t.Errorf("in the game: %v, its ticket spent: %v", s.player != nil, spent)
		}
	}
	if in != 2 {
		t.Errorf("%d are in", in)
	}
}

// "Account names, `server`, and what folds to either, are no guest's name."
func TestATicketDoesNotGiveTheNameOfAnAccount(t *testing.T) {
	accounts := map[string]bool{"bob": true}
	for _, file := range []string{"", filepath.Join(t.TempDir(), "spent-tickets")} {
		h, d := newDesk(t, Config{TicketKey: testKey, SpentFile: file})
		h.gate.ReserveNames(func(_ context.Context, name string) (bool, error) {
			if name == "unknown" {
				return false, errors.New("the store does not answer")
			}
			return accounts[account.NameKey(name)], nil
		})
		for i, tt := range []struct{ name, want string }{
			{"ann", "ann"}, {"bob", "guest-2"}, {"BOB", "guest-3"}, {"ｂｏｂ", "guest-4"}, {"Server", "guest-5"}, {"unknown", "guest-6"}, {"bob-2", "bob-2"},
			{"server" + strings.Repeat(" ", 60) + "x", "guest-8"}, {"bob" + strings.Repeat(" ", 62) + "x", "guest-9"}, // which are cut
			{"bo\u200db", "guest-10"}, {"bob\ufe0f", "guest-11"}, {"gu\u200dest-1", "guest-12"}, {"ser\u3164ver", "guest-13"}, {"\u200d\u2800", "guest-14"},
			{"an\u200dn", "an\u200dn#2"}, {"👩\u200d👧", "👩\u200d👧"},
		} {
			s := must(d.show(h, ticketFor(t, "", tt.name)))
			settle(t, h)
			if s.player == nil || s.player.Name != tt.want {
				t.Errorf("%d: %q is %+v, want %q", i, tt.name, s.player, tt.want)
			}
		}
		ends(t, h.Shutdown)
	}
}

// A disk that takes nothing lets nobody in, and the ticket is good again when it does.
func TestATicketThatCannotBeKeptLetsNobodyIn(t *testing.T) {
	dir := t.TempDir()
	var log bytes.Buffer
	h, d := newDesk(t, Config{TicketKey: testKey, SpentFile: filepath.Join(dir, "spent-tickets"), Log: slog.New(slog.NewTextHandler(&log, nil))})
	defer h.Shutdown(t.Context())
	h.gate.spent.out.Close() // writes fail from here on
	ticket := ticketFor(t, "", "ann")
	s := must(d.show(h, ticket))
	settle(t, h)
	if s.player != nil || s.kicked != RefusedBusy || h.gate.Stats().Unkept != 1 {
		t.Errorf("it is %v, told %q, %+v", s.player, s.kicked, h.gate.Stats())
	}
	s = must(d.show(h, ticket))
	settle(t, h)
	if s.player == nil {
		t.Errorf("later it is told %v", s.kicked)
	}
	if n := len(h.gate.spent.expiry); n != 1 {
		t.Errorf("%d are remembered of one ticket", n)
	}
	h.Shutdown(t.Context())
	if !strings.Contains(log.String(), "could not be spent") {
		t.Errorf("the log is %s", log.String())
	}
	again, err := openSpent(h.gate.spent.file, time.Now, h.log)
	if err != nil || !again.has(s.pass) {
		t.Errorf("the file does not have it: %v", err)
	}
	again.close(t.Context())
}

// What a loss of power leaves is read; what it cannot leave is refused, with the file's name.
func TestSpentTicketsSurviveALossOfPowerAndNoDamage(t *testing.T) {
	const n = 300
	file := filepath.Join(t.TempDir(), "spent-tickets")
	b := must(openSpent(file, time.Now, slog.New(slog.DiscardHandler)))
	for i := range n {
		s := &Seat{pass: &Pass{Kind: message.PassTicket, serial: [16]byte{byte(i), byte(i >> 8), 1}, expires: time.Now().Add(time.Hour).Unix()}}
		if err := b.spend(s); err != nil {
			t.Fatal(err)
		}
	}
	ends(t, b.close)
	whole, err := os.ReadFile(file)
	if err != nil || len(whole) != spentRecordBytes*(n+1) {
		t.Fatalf("%d bytes, %v", len(whole), err)
	}
	open := func(text []byte) (kept int, err error) {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := openSpent(file, time.Now, slog.New(slog.DiscardHandler))
		if err != nil {
			return 0, err
		}
		defer b.close(t.Context())
		return len(b.serials), nil
	}
	for _, cut := range []int{0, 1, 31, 32, 33, 100 * spentRecordBytes} {
		want := n - (cut+spentRecordBytes-1)/spentRecordBytes
		if kept, err := open(whole[:len(whole)-cut]); kept != want || err != nil {
			t.Errorf("without its last %d bytes: %d are kept, want %d; %v", cut, kept, want, err)
		}
	}
	zeros := bytes.Clone(whole)
	clear(zeros[len(zeros)-70*spentRecordBytes : len(zeros)-50*spentRecordBytes])
	if kept, err := open(zeros); kept != n-20 || err != nil {
		t.Errorf("with zeros near its end: %d are kept; %v", kept, err)
	}
	clear(zeros[50*spentRecordBytes : 51*spentRecordBytes])
	damaged := map[string][]byte{"zeros far from its end": zeros, "an empty file": {}, "half a header": whole[:16]}
	for _, at := range []int{0, 31, 32, 40, 60, 63, 10 * spentRecordBytes, len(whole) - 1, len(whole) - 32} {
		text := bytes.Clone(whole)
		text[at] ^= 0x10
		damaged[fmt.Sprint("byte ", at)] = text
	}
	for what, text := range damaged {
		if kept, err := open(text); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: %d are kept, %v", what, kept, err)
		}
	}
}

// The file does not grow for ever, and what has expired is forgotten.
func TestSpentTicketsThatHaveExpiredAreForgotten(t *testing.T) {
	now := time.Now()
	file := filepath.Join(t.TempDir(), "spent-tickets")
	b := must(openSpent(file, func() time.Time { return now }, slog.New(slog.DiscardHandler)))
	spend := func(i int, valid time.Duration) error {
		return b.spend(&Seat{pass: &Pass{Kind: message.PassTicket, serial: [16]byte{byte(i), byte(i >> 8), byte(i >> 16)}, expires: now.Add(valid).Unix()}})
	}
	for i := range 1000 {
		if err := spend(i, time.Duration(1+i%10)*time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(5 * time.Minute)
	if spend(9, time.Minute) != RefusedUsed {
		t.Error("a ticket that has not expired is forgotten")
	}
	if len(b.serials) != 500 || len(b.expiry) != 500 {
		t.Errorf("%d are remembered, %d of them in order; want 500", len(b.serials), len(b.expiry))
	}
	ends(t, b.close)
	b = must(openSpent(file, func() time.Time { return now }, slog.New(slog.DiscardHandler)))
	if info, err := os.Stat(file); err != nil || info.Size() != 502*spentRecordBytes { // with the header, and what was forgotten
		t.Errorf("the file has %d bytes after a restart: %v", info.Size(), err)
	}
	b.records = maxSpentRecords // as if so many had come and gone
	now = now.Add(time.Hour)
	if err := spend(5000, time.Minute); err != nil {
		t.Fatal(err)
	}
	ends(t, b.close)
	if info, err := os.Stat(file); err != nil || info.Size() != 3*spentRecordBytes {
		t.Errorf("the file has %d bytes, want %d: %v", info.Size(), 3*spentRecordBytes, err)
	}
}

// When no more can be remembered no ticket is taken.
func TestSpentTicketsAreBounded(t *testing.T) {
	now := time.Now()
	b := must(openSpent("", func() time.Time { return now }, slog.New(slog.DiscardHandler)))
	const left = 5
	for range maxSpent - left {
		b.expiry = append(b.expiry, spentTicket{expires: now.Unix() + 30})
	}
	spend := func(i int) error {
		return b.spend(&Seat{pass: &Pass{Kind: message.PassTicket, serial: [16]byte{byte(i), 1}, expires: now.Unix() + 60}})
	}
	for i := range 2 * left {
		if err := spend(i); (err == nil) != (i < left) {
			t.Fatalf("ticket %d is told %v", i, err)
		}
	}
	now = now.Add(30 * time.Second)
	if err := spend(left); err != nil {
		t.Errorf("when others have expired it is told %v", err)
	}
}

// "Malformed and forged passes are counted by address, ten a minute; beyond that only sound passes of that address are looked
// at. A sound pass always passes."
func TestTenBadPassesAMinute(t *testing.T) {
	h, d := newDesk(t, Config{TicketKey: testKey})
	now := time.Now()
	h.gate.clock = func() time.Time { return now }
	forged := ticketFor(t, "", "eve")
	forged[40] ^= 1
	answers := func() (n int) {
		for range 1000 {
			switch _, err := d.show(h, forged); err {
			case RefusedTicket:
				n++
			case RefusedSilence:
			default:
				t.Fatal(err)
			}
		}
		return n
	}
	if n := answers(); n != badPasses {
		t.Errorf("%d are answered", n)
	}
	if _, err := d.show(h, ticketFor(t, "", "ann")); err != nil {
		t.Errorf("a sound pass is told %v", err)
	}
	if _, err := h.gate.Judge(netip.MustParseAddr("192.0.2.2"), forged); err != RefusedTicket {
		t.Errorf("another address is told %v", err)
	}
	now = now.Add(time.Minute)
	if n := answers(); n != badPasses {
		t.Errorf("%d are answered after a minute", n)
	}
	if st := h.gate.Stats(); st.Bad != 2*badPasses+1 || st.Unlooked != 2*(1000-badPasses) {
		t.Errorf("the counters are %+v", st)
	}
}

func TestAHubWithADamagedFileDoesNotStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "spent-tickets")
	if err := os.WriteFile(file, []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Config{Game: pawnGame(), TicketKey: testKey, SpentFile: file}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("the error is %v", err)
	}
	if _, err := New(Config{Game: pawnGame(), TicketKey: testKey, SpentFile: filepath.Join(file, "below")}); err == nil {
		t.Error("a file without a folder is none")
	}
	// A disk that does not answer does not keep a server from ending.
	b := must(openSpent("", time.Now, nil))
	b.writing = make(chan struct{})
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.close(late); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

// T38: over the wire nobody is in without a ticket, each lets in one, and who is refused is told why.
func TestPassesOverTheWire(t *testing.T) {
	good, forged := ticketFor(t, "main", "ann"), ticketFor(t, "", "eve")
	forged[len(forged)-1] ^= 1
	old := must(testKey.Issue(relaycore.Ticket{Name: "old", Expires: time.Now().Add(-time.Second)}))
	for _, open := range []func(h *Hub) listener{
		func(h *Hub) listener { return must(NewReplica(h, ReplicaConfig{Addr: loopback})) },
		func(h *Hub) listener { return must(NewDuplex(h, DuplexConfig{Addr: loopback})) },
	} {
		h := newArena(t, Config{TicketKey: testKey, SpentFile: filepath.Join(t.TempDir(), "spent-tickets")})
		d := open(h)
		gone := func() bool {
			r, ok := d.(*Replica)
			return len(h.main.players) == 0 && (!ok || r.conns() == 0)
		}
		for _, tt := range []struct {
			name            string
			pass            []byte
			replica, duplex string // what it is told, "" if it is let in
		}{
			{"a guest", nil, "room needs a ticket", "refused"},
			{"a forged ticket", forged, "ticket is not valid", "status 3"},
			{"an old ticket", old, "ticket is not valid", "status 3"},
			{"a ticket of another room", ticketFor(t, "arena", "ann"), "no such room", "status 8"},
			{"a part of a ticket", good[:40], "ticket is not valid", "status 14"},
			{"a pass of another kind", []byte("X"), "ticket is not valid", "status 14"},
			{"a ticket", good, "", ""},
			{"the same ticket again", good, "ticket was used", "status 3"},
		} {
			want := map[string]string{"replica": tt.replica, "duplex": tt.duplex}[d.Name()]
			g := join(t, h, d, tt.pass)
			if got := g.told(); !strings.Contains(got, want) || (want == "") != (got == "") {
				t.Errorf("%s, %s: it is told %q, want %q", d.Name(), tt.name, got, want)
			}
			if want == "" && h.main.Players()[0].Name != "ann" {
				t.Errorf("%s, %s: it is called %q", d.Name(), tt.name, h.main.Players()[0].Name)
			}
			if g.Player != nil {
				g.Close(context.Background())
			}
			until(t, h, d.Name()+", "+tt.name+": it is gone", gone)
		}
	}
}

// A connection whose pass had no answer takes no place among replica's connections: one address could take all of them.
func TestReplicaKeepsNoPlaceForWhoIsNotAnswered(t *testing.T) {
	h := newArena(t, Config{MaxPlayers: 1}) // two connections have a place
	d := must(NewReplica(h, ReplicaConfig{Addr: loopback}))
	for range badPasses {
		h.gate.Judge(netip.MustParseAddr("127.0.0.1"), []byte("junk"))
	}
	for range 3 {
		g := join(t, h, d, []byte("junk"))
		if g.told() == "" {
			t.Error("it is in")
		}
		until(t, h, "it is gone", func() bool { return d.conns() == 0 })
	}
	if st := h.gate.Stats(); st.Unlooked != 3 {
		t.Errorf("the counters are %+v", st)
	}
}

// conns counts the connections.
func (d *Replica) conns() (n int) {
	d.server.Do(func() { n = len(d.seats) })
	return n
}
