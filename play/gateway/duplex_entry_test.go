package gateway

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/play/schema"
	"parley/protocol/duplex"
	duplexcore "parley/protocol/duplex/core"
	"parley/protocol/relay"
)

// openDuplex returns a hub that serves duplex alone, on loopback.
func openDuplex(t *testing.T, c Config) (*Hub, *Duplex) {
	t.Helper()
	h := newArena(t, c)
	return h, must(NewDuplex(h, DuplexConfig{Addr: loopback}))
}

// A guest may say that it is one, by an empty pass, and is let in where a guest is.
func TestADuplexGuestMaySaySo(t *testing.T) {
	for _, key := range []relay.TicketKey{nil, testKey} {
		h, d := openDuplex(t, Config{TicketKey: key})
		told := make(chan error, 1)
		go func() {
			c, err := duplex.Dial(t.Context(), d.Addr().String(), duplex.Config{Schema: schema.Duplex(h.main.sim.Schema()), Pass: []byte{0, 0}})
			if err == nil {
				for ev := range c.Events() {
					if ev.Kind == duplex.EventSync { // it sees the game
						break
					}
				}
				if err = c.Err(); err == nil {
					err = c.Close(context.Background())
				}
			}
			told <- err
		}()
		until(t, h, "it is in or out", func() bool { return len(told) == 1 })
		if err := patient.Value(told); key == nil && err != nil || key != nil && (err == nil || !strings.Contains(err.Error(), "status 3")) {
			t.Errorf("with the key %q it is told %v", key, err)
		}
	}
}

// comeAll has so many come at once with one pass, of whom some are let in and the others are told why not. There are never more players
// than most.
func comeAll(t *testing.T, h *Hub, d *Duplex, pass []byte, n, let, most int, why string) {
	t.Helper()
	var all []*guest
	for range n {
		all = append(all, come(t, h, d, pass))
	}
	until(t, h, "all are in or out", func() bool {
		if len(h.main.players) > most {
			t.Fatalf("%d players", len(h.main.players))
		}
		in, out := 0, 0
		for _, g := range all {
			switch got := g.told(); {
			case g.in():
				in++
			case strings.Contains(got, why) && got != "":
				out++
			case got != "":
				t.Fatalf("one is told %q", got)
			}
		}
		return in == let && out == n-let
	})
}

// Of several that come with one ticket at once one gets in.
func TestATicketLetsInOneOverDuplex(t *testing.T) {
	h, d := openDuplex(t, Config{TicketKey: testKey})
	comeAll(t, h, d, ticketFor(t, "", "Ann"), 5, 1, 1, "")
}

// 15.12: of those who join at once as many are in as there is room for, and the others are told so, whichever dialect has
// taken the places.
func TestDuplexIsFull(t *testing.T) {
	h, d := openDuplex(t, Config{MaxPlayers: 3})
	desk := &desk{}
	h.Add(desk)
	desk.sit("")
	ticks(t, h, 1)
	if len(h.main.players) != 1 {
		t.Fatal("a player of another dialect is not in")
	}
	comeAll(t, h, d, nil, 8, 2, 3, "refused")
}

// 15.2: who connects, is told its number and closes, again and again, uses up no numbers.
func TestConnectAndCloseUsesNoNumbersUp(t *testing.T) {
	h, d := openDuplex(t, Config{PerAddress: -1})
	first := h.main.sim.Reserve()
	for range 50 {
		for range 20 {
			c := must(net.Dial("tcp", d.Addr().String()))
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
	if last := h.main.sim.Reserve(); last > first+2*spareNumbers {
		t.Errorf("after a thousand connections the next number is %d, and was %d", last, first)
	}
}
