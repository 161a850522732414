package gateway

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/play/schema"
	"parley/protocol/duplex"
	duplexcore "parley/protocol/duplex/core"
	"parley/protocol/relay"
	relaycore "parley/protocol/relay/core"
)

// openDuplex returns a hub that serves duplex alone, on loopback.
func openDuplex(t *testing.T, c Config) (*Hub, *Duplex) {
	t.Helper()
	h := newArena(t, c)
	return h, must(NewDuplex(h, DuplexConfig{Addr: loopback}))
}

// attempt is a client that tries to get in.
type attempt struct {
	mu     sync.Mutex
	client *duplex.Client
	seen   int // elements
	end    string
}

// try has a client with a pass try to get in, and go on until it is closed. No pass at all is nil.
func try(t *testing.T, h *Hub, d *Duplex, pass []byte) *attempt {
	t.Helper()
	c := duplex.Config{Schema: schema.Duplex(h.sim.Schema())}
	if pass != nil {
		c.Pass = append(binary.BigEndian.AppendUint16(nil, uint16(len(pass))), pass...)
	}
	a := &attempt{}
	var wg sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	wg.Go(func() {
		client, err := duplex.Dial(ctx, d.Addr().String(), c)
		a.mu.Lock()
		a.client = client
		if err != nil {
			a.end = err.Error()
		}
		a.mu.Unlock()
		if err != nil {
			return
		}
		for ev := range client.Events() {
			a.mu.Lock()
			switch ev.Kind {
			case duplex.EventSync:
				a.seen++
			case duplex.EventClosed:
				a.end = ev.Close.Error()
			}
			a.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		cancel()
		a.mu.Lock()
		client := a.client
		a.mu.Unlock()
		if client != nil {
			client.Close(context.Background())
		}
		patient.Done(wg.Wait)
	})
	return a
}

// outcome is "" while it is open, "in" when it is in the game, and else how it ended.
func (a *attempt) outcome() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.end != "":
		return a.end
	case a.seen > 0:
		return "in"
	}
	return ""
}

// With a ticket key nobody enters over duplex without a ticket, and each lets in one; without a key a guest needs none, and may
// say so.
func TestDuplexAsksForPasses(t *testing.T) {
	good := ticketFor(t, "", "Ann")
	forged := slices.Clone(good)
	forged[len(forged)-1] ^= 1
	old := must(testKey.Issue(relaycore.Ticket{Name: "old", Expires: time.Now().Add(-time.Second)}))
	for _, tt := range []struct {
		name string
		key  relay.TicketKey
		pass []byte
		want string // a part of the outcome
	}{
		{"a ticket", testKey, good, "in"},
		{"no pass", testKey, nil, "refused"},
		{"an empty pass", testKey, []byte{}, "status 3"},
		{"a forged ticket", testKey, forged, "status 3"},
		{"an old ticket", testKey, old, "status 3"},
		{"a ticket of another room", testKey, ticketFor(t, "cellar", "Ann"), "status 8"},
		{"a part of a ticket", testKey, good[:40], "status 14"},
		{"a pass of another kind", testKey, []byte("X"), "status 14"},
		{"a guest of an open room", nil, nil, "in"},
		{"a guest of an open room that says so", nil, []byte{}, "in"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, d := openDuplex(t, Config{TicketKey: tt.key})
			a := try(t, h, d, tt.pass)
			until(t, h, "an outcome", func() bool { return a.outcome() != "" })
			if got := a.outcome(); !strings.Contains(got, tt.want) || (len(h.players) == 1) != (tt.want == "in") {
				t.Errorf("%q with %d players, want %q", got, len(h.players), tt.want)
			}
			if tt.name != "a ticket" {
				return
			}
			for _, p := range h.players {
				if p.Name != "Ann" {
					t.Errorf("the name of a ticket's bearer is %q", p.Name)
				}
			}
			again := try(t, h, d, tt.pass)
			until(t, h, "an outcome", func() bool { return again.outcome() != "" })
			if got := again.outcome(); !strings.Contains(got, "status 3") || len(h.players) != 1 {
				t.Errorf("the same ticket again: %q with %d players", got, len(h.players))
			}
		})
	}
}

// Of several that come with one ticket at once one gets in.
func TestATicketLetsInOneOverDuplex(t *testing.T) {
	h, d := openDuplex(t, Config{TicketKey: testKey})
	pass := ticketFor(t, "", "Ann")
	var all []*attempt
	for range 5 {
		all = append(all, try(t, h, d, pass))
	}
	count := func() (in, out int) {
		for _, a := range all {
			switch a.outcome() {
			case "":
			case "in":
				in++
			default:
				out++
			}
		}
		return in, out
	}
	until(t, h, "all have their outcome", func() bool {
		if len(h.players) > 1 {
			t.Fatalf("%d players with one ticket", len(h.players))
		}
		in, out := count()
		return in == 1 && out == 4
	})
}

// 15.12: of those who join at once as many are in as there is room for, and the others are told so, whichever dialect has
// taken the places.
func TestDuplexIsFull(t *testing.T) {
	h, d := openDuplex(t, Config{MaxPlayers: 3})
	desk := &desk{}
	h.Add(desk)
	other := &Seat{dialect: desk}
	other.own = other
	desk.inbox.put(request{seat: other, ask: askEnter})
	ticks(t, h, 1)
	if len(h.players) != 1 {
		t.Fatal("a player of another dialect is not in")
	}
	var all []*attempt
	for range 8 {
		all = append(all, try(t, h, d, nil))
	}
	until(t, h, "all have their outcome", func() bool {
		if len(h.players) > 3 {
			t.Fatalf("%d players", len(h.players))
		}
		in, refused := 0, 0
		for _, a := range all {
			switch got := a.outcome(); {
			case got == "in":
				in++
			case strings.Contains(got, "refused"):
				refused++
			case got != "":
				t.Fatalf("one ended with %q", got)
			}
		}
		return in == 2 && refused == 6
	})
}

// 15.2: who connects, is told its number and closes, again and again, uses up no numbers.
func TestConnectAndCloseUsesNoNumbersUp(t *testing.T) {
	h, d := openDuplex(t, Config{PerAddress: -1})
	first := h.sim.Reserve()
	for range 50 {
		for range 20 {
			c, err := net.Dial("tcp", d.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			c.SetDeadline(time.Now().Add(30 * time.Second))
			c.Write([]byte{duplexcore.CodeConnInit})
			rep := make([]byte, 7)
			if _, err := io.ReadFull(c, rep); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatal(err)
			}
			c.Close()
		}
		ticks(t, h, 1)
	}
	if last := h.sim.Reserve(); last > first+2*spareNumbers {
		t.Errorf("after a thousand connections the next number is %d, and was %d", last, first)
	}
}
