package gateway

import (
	"context"
	"log/slog"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/play/message"
	relaycore "parley/protocol/relay/core"
)

// has reports whether a ticket is spent, or about to be.
func (b *spentTickets) has(p *Pass) bool { return b.judge(p) == RefusedUsed }

// What was forgotten as it had expired stays refused when the clock goes back, also across restarts; and a clock that was
// years ahead refuses no ticket that outlives those that were forgotten.
func TestAClockThatGoesBackMakesNoTicketGoodAgain(t *testing.T) {
	for _, tt := range []struct {
		name     string
		restarts bool
		jump     time.Duration
	}{
		{"in memory, ten minutes", false, 10 * time.Minute},
		{"in a file, ten minutes", true, 10 * time.Minute},
		{"in memory, ten years", false, 10 * 365 * 24 * time.Hour},
		{"in a file, ten years", true, 10 * 365 * 24 * time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Unix(1_800_000_000, 0)
			now := start
			clock := func() time.Time { return now }
			file := ""
			if tt.restarts {
				file = filepath.Join(t.TempDir(), "spent-tickets")
			}
			gate := must(newGatekeeper(testKey, "", slog.New(slog.DiscardHandler)))
			gate.clock = clock
			open := func() {
				t.Helper()
				gate.spent = must(openSpent(file, clock, slog.New(slog.DiscardHandler)))
			}
			restart := func() {
				t.Helper()
				if !tt.restarts {
					return
				}
				ends(t, gate.close)
				open()
			}
			ticket := func(serial byte, valid time.Duration) []byte {
				t.Helper()
				return must(testKey.Issue(relaycore.Ticket{Name: "ann", Serial: [16]byte{serial}, Expires: start.Add(valid)}))
			}
			// use has somebody enter with a ticket, and returns what it is told.
			use := func(pass []byte) error {
				p, err := gate.Judge(netip.MustParseAddr("192.0.2.1"), pass)
				if err != nil {
					return err
				}
				return gate.spend(&Seat{pass: p})
			}
			want := func(what string, got, want error) {
				t.Helper()
				if got != want {
					t.Errorf("%s: it is told %v, want %v", what, got, want)
				}
			}
			open()
			short, long := ticket(1, time.Minute), ticket(2, time.Hour)
			want("a ticket of a minute", use(short), nil)
			want("a ticket of an hour", use(long), nil)
			now = start.Add(tt.jump)
			want("the first when it has expired", use(short), RefusedTicket)
			gate.spent.spend(&Seat{pass: &Pass{Kind: message.PassTicket, serial: [16]byte{3}, expires: now.Add(time.Second).Unix()}}) // has what is old forgotten
			if _, kept := gate.spent.serials[[16]byte{1}]; kept {
				t.Fatal("what has expired is remembered")
			}
			restart()
			now = start
			restart()
			want("the first when the clock has gone back", use(short), RefusedTicket)
			wantLong := error(RefusedUsed)
			if tt.jump > time.Hour {
				wantLong = RefusedTicket
			}
			want("the second", use(long), wantLong)
			want("a new one that outlives what was forgotten", use(ticket(4, 2*time.Hour)), nil)
			if st := gate.Stats(); st.Expired < 2 {
				t.Errorf("the counters are %+v", st)
			}
			ends(t, gate.close)
		})
	}
}

// A ticket that expires between the looks at two who show it lets in one of them.
func TestATicketThatExpiresMeanwhileLetsInOne(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	b := must(openSpent("", func() time.Time { return now }, slog.New(slog.DiscardHandler)))
	p := &Pass{Kind: message.PassTicket, serial: [16]byte{1}, expires: now.Unix() + 1} // both have been judged
	if err := b.spend(&Seat{pass: p}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Second)
	if err := b.spend(&Seat{pass: p}); err != RefusedTicket {
		t.Errorf("the second is told %v", err)
	}
}

// A player who leaves while its ticket is being written has not been in: the ticket is good again, for one player, until a
// restart.
func TestWhoLeavesBeforeItIsInMayComeAgain(t *testing.T) {
	patient.Test(t)
	for _, file := range []string{"", filepath.Join(t.TempDir(), "spent-tickets")} {
		config := Config{TicketKey: testKey, SpentFile: file}
		h, d := newDesk(t, config)
		written := make(chan struct{})
		h.gate.ReserveNames(func(context.Context, string) (bool, error) { patient.Value(written); return false, nil })
		ticket := ticketFor(t, "", "ann")
		come := func(what string) *Seat {
			t.Helper()
			s, err := d.show(h, ticket)
			if err != nil {
				t.Fatalf("%s is told %v", what, err)
			}
			ticks(t, h, 1)
			return s
		}
		for range 5 {
			s := come("who was never in")
			d.inbox.put(request{seat: s, ask: askLeave})
			ticks(t, h, 1)
			if _, err := d.show(h, ticket); err != RefusedUsed {
				t.Fatalf("while it is being written another is told %v", err)
			}
			written <- struct{}{}
			settle(t, h)
			if len(h.main.players) != 0 || s.number != 0 || h.crowd.Of(s.from) != 0 {
				t.Fatalf("of who left there is %d, number %d", len(h.main.players), s.number)
			}
		}
		one := must(d.show(h, ticket))
		other := come("another at the same time")
		written <- struct{}{}
		settle(t, h)
		if one.player == nil || other.player != nil || other.kicked != RefusedUsed {
			t.Errorf("one is %v, the other is %v and told %q", one.player, other.player, other.kicked)
		}
		if _, err := d.show(h, ticket); err != RefusedUsed {
			t.Errorf("when one is in, another is told %v", err)
		}
		if b := h.gate.spent; len(b.expiry) != 1 || len(b.unused) != 0 {
			t.Errorf("%d are remembered of one ticket, %d of them unused", len(b.expiry), len(b.unused))
		}
		ends(t, h.Shutdown)
		if file == "" {
			continue
		}
		h, d = newDesk(t, config)
		if _, err := d.show(h, ticket); err != RefusedUsed {
			t.Errorf("after a restart it is told %v", err)
		}
		ends(t, h.Shutdown)
	}
}

// A player who left, and whose ticket could not be written, makes nobody else's good again.
func TestWhoLeavesMakesNoTicketOfAnotherGood(t *testing.T) {
	h, d := newDesk(t, Config{TicketKey: testKey, SpentFile: filepath.Join(t.TempDir(), "spent-tickets")})
	defer h.Shutdown(context.Background())
	h.gate.spent.out.Close() // the next write fails
	ticket := ticketFor(t, "", "ann")
	var seats [3]*Seat
	for i := range seats {
		p := must(h.gate.Judge(netip.MustParseAddr("192.0.2.1"), ticket))
		seats[i] = d.chair()
		seats[i].from, seats[i].pass = netip.MustParseAddr("192.0.2.1"), p
	}
	h.main.enter(seats[0], "")
	h.main.leave(seats[0], true)
	patient.Until(t, "the write has failed", func() bool { return h.gate.Stats().Unkept == 1 })
	h.main.enter(seats[1], "") // which learns what became of the first
	h.main.enter(seats[2], "")
	settle(t, h)
	if in := len(h.main.players); in != 1 || seats[2].kicked != RefusedUsed {
		t.Errorf("one ticket let in %d; the third is told %q", in, seats[2].kicked)
	}
}
