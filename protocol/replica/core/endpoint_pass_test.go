package core

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/simnet"
)

// A client shows its pass with its first packet, and asks for the table when the pass is acknowledged, whatever is lost. The server has the
// pass before the question, once.
func TestAPassComesBeforeLinking(t *testing.T) {
	kit.Seeds(t, kit.Tier(30, 200, 1000), func(t *testing.T, seed uint64) {
		path := simnet.Profile{Delay: 20 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: .2, Duplicate: .1}
		w := newWorld(t, seed, Config{Foreign: seed%3 == 0, NoBundles: seed%3 == 1}, path)
		if _, err := w.mux.Store().AddVariable("v", DataInt); err != nil {
			t.Fatal(err)
		}
		x := w.dial(0, Config{Pass: []byte("Rmain")})
		x.onEvent = func(now time.Time, ev Event) {
			if ev.Kind == EventConnected {
				if err := x.Link(now); err != nil {
					t.Error(err)
				}
			}
		}
		w.onEvent = func(_ time.Time, c *Conn, ev Event) {
			if ev.Kind == EventMessage && c.endpoint.link != nil && c.endpoint.link.requested {
				t.Error("the question came before the pass")
			}
		}
		w.Until("linked", 30*time.Second, func() bool { return slices.Contains(w.Log, "linked") })
		if want := []string{"connected", `parley.pass="Rmain"`, "linked"}; !slices.Equal(w.Log, want) {
			t.Errorf("seed=%d: the server saw %q", seed, w.Log)
		}
	})
}

// Without loss a pass costs one round trip: it is what proves the address.
func TestAPassProvesTheAddress(t *testing.T) {
	w := newWorld(t, 1, Config{}, simnet.Profile{Delay: 50 * time.Millisecond})
	w.dial(0, Config{Pass: []byte("Rmain")})
	w.Until("shown", 160*time.Millisecond, func() bool { return slices.Contains(w.Log, `parley.pass="Rmain"`) })
}

// A client whose handshake the server has forgotten begins again and shows its pass again.
func TestAForgottenClientShowsItsPassAgain(t *testing.T) {
	w := newWorld(t, 2, Config{}, kit.Lan())
	x := w.dial(0, Config{Pass: []byte("Sx")})
	w.Until("accepted", time.Second, func() bool { return x.State() == StateAccepted })
	w.server.Crash()
	w.mux = NewMux(w.Now(), Config{}, newShared(9), kit.Key(9))
	w.server.Restart(w.mux)
	w.Until("shown", 3*time.Second, func() bool { return slices.Contains(w.Log, `parley.pass="Sx"`) })
	if x.closed != nil || x.State() >= StateClosing {
		t.Errorf("the client ended: %+v", x.closed)
	}
}

// A refusal reaches the client with its text. One that is neither refused nor asks for the table is closed after 10 s.
func TestARefusedPass(t *testing.T) {
	kit.Seeds(t, 20, func(t *testing.T, seed uint64) {
		w := newWorld(t, seed, Config{EnterWithin: 10 * time.Second}, simnet.Profile{Delay: 20 * time.Millisecond, Loss: .2})
		if _, err := w.mux.Store().AddVariable("v", DataInt); err != nil {
			t.Fatal(err)
		}
		w.onEvent = func(_ time.Time, c *Conn, ev Event) {
			if ev.Kind == EventMessage && string(ev.Data) == "Tbad" {
				c.Close("ticket is not valid")
			}
		}
		bad, idle := w.dial(0, Config{Pass: []byte("Tbad")}), w.dial(1, Config{Pass: []byte("Rmain")})
		bad.onEvent = func(now time.Time, ev Event) {
			if ev.Kind == EventConnected {
				bad.Link(now)
			}
		}
		w.Until("both are closed", 30*time.Second, func() bool { return bad.closed != nil && idle.closed != nil })
		// The five goodbyes may all be lost: then silence says it.
		for x, want := range map[*client]string{bad: "ticket is not valid", idle: enteredNot} {
			if x.closed.Reason == ReasonPeer && x.closed.Text != want {
				t.Errorf("seed=%d: told %+v, want %q", seed, *x.closed, want)
			}
		}
		if slices.Contains(w.Log, "linked") {
			t.Errorf("seed=%d: %q", seed, w.Log)
		}
	})
	w := newWorld(t, 1, Config{EnterWithin: 10 * time.Second}, kit.Lan())
	x := w.dial(0, Config{Pass: []byte("Rmain")})
	w.Pass(9 * time.Second)
	if x.closed != nil {
		t.Errorf("closed before its time: %+v", *x.closed)
	}
	w.Until("closed", 2*time.Second, func() bool { return x.closed != nil })
	if x.closed.Reason != ReasonPeer || x.closed.Text != enteredNot {
		t.Errorf("told %+v", *x.closed)
	}
}

// Each tag is told once, when the peer has the message, whatever is lost or doubled, and never for one that it has not.
func TestTagsAreToldOnce(t *testing.T) {
	kit.Seeds(t, kit.Tier(30, 200, 1000), func(t *testing.T, seed uint64) {
		path := simnet.Profile{Delay: 20 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: .2, Duplicate: .2}
		w := newWorld(t, seed, Config{Foreign: seed%3 == 0, NoBundles: seed%3 == 1}, path)
		got, told := map[string]int{}, map[uint32]int{}
		x := w.dial(0, Config{})
		x.onEvent = func(_ time.Time, ev Event) {
			if ev.Kind == EventMessage && ev.Data != nil {
				got[string(ev.Data)]++
			}
		}
		w.onEvent = func(_ time.Time, _ *Conn, ev Event) {
			if ev.Kind != EventAcked {
				return
			}
			if told[ev.Tag]++; got[fmt.Sprint(ev.Tag)] != 1 {
				t.Errorf("seed=%d: tag %d is told, and the message came %d times", seed, ev.Tag, got[fmt.Sprint(ev.Tag)])
			}
		}
		w.Until("connected", 20*time.Second, func() bool { return x.State() == StateOpen && w.mux.Len() == 1 })
		c := w.conn(x)
		const sends = 50
		for i := range uint32(sends) {
			if err := c.SendTagged("parley.session", fmt.Append(nil, i+1), i+1); err != nil {
				t.Fatal(err)
			}
			_ = c.Send(Reliable, "other", nil)
			if i%5 == 0 {
				w.server.Poke()
				w.Pass(5 * time.Millisecond)
			}
		}
		w.server.Poke()
		w.Until("told", time.Minute, func() bool { return len(told) == sends })
		w.Pass(3 * time.Second)
		for tag, n := range told {
			if n != 1 || tag == 0 || tag > sends {
				t.Errorf("seed=%d: tag %d is told %d times", seed, tag, n)
			}
		}
	})
}

func TestWhichTagsMayBeSent(t *testing.T) {
	w := newWorld(t, 1, Config{}, kit.Lan())
	x := w.dial(0, Config{})
	w.Until("connected", time.Second, func() bool { return w.mux.Len() == 1 && x.State() == StateOpen })
	c := w.conn(x)
	for _, tt := range []struct {
		name string
		size int
		tag  uint32
		want error
	}{
		{"parley.session", 18, 1, nil}, {"parley.session", 18, MaxTag, nil}, {"parley.session", 18, 0, ErrTag}, {"parley.session", 18, MaxTag + 1, ErrTag},
		{"chat", 18, 1, ErrName}, {goneName, 18, 1, ErrName}, {"parley.session", 2000, 1, ErrMessageSize},
	} {
		if err := c.SendTagged(tt.name, make([]byte, tt.size), tt.tag); !errors.Is(err, tt.want) {
			t.Errorf("%s of %d bytes with tag %d: %v, want %v", tt.name, tt.size, tt.tag, err, tt.want)
		}
	}
	c.Close("")
	if err := c.SendTagged("parley.session", nil, 1); err != ErrClosed {
		t.Error(err)
	}
}

// The end of a connection says whether the client itself closed it.
func TestGoodbyes(t *testing.T) {
	for _, tt := range []struct {
		name    string
		end     func(w *world, x *client)
		goodbye bool
	}{
		{"the client closes", func(w *world, x *client) { x.Close(x.host.Now(), ""); x.host.Poke() }, true},
		{"the client is gone", func(w *world, x *client) { x.host.Crash() }, false},
		{"we close", func(w *world, x *client) { w.conn(x).Close("kicked"); w.server.Poke() }, false},
		{"we shut down", func(w *world, x *client) { w.mux.Shutdown(w.Now(), "closing"); w.server.Poke() }, false},
		{"it comes again", func(w *world, x *client) { x.host.Restart(NewClient(x.host.Now(), serverAddr, Config{}, newShared(5))) }, false},
	} {
		w := newWorld(t, 3, Config{}, kit.Lan())
		x := w.dial(0, Config{})
		w.Until("connected", time.Second, func() bool { return w.mux.Len() == 1 && x.State() == StateOpen })
		var last Event
		w.onEvent = func(_ time.Time, _ *Conn, ev Event) {
			if ev.Kind == EventClosed {
				last = ev
			}
		}
		tt.end(w, x)
		w.Until("closed", 15*time.Second, func() bool { return last.Kind == EventClosed })
		if last.Goodbye != tt.goodbye {
			t.Errorf("%s: goodbye %t, %+v", tt.name, last.Goodbye, last.Close)
		}
	}
}

// An unreliable message that is sent before Replicate leaves in a datagram with values of that tick, however many there are.
func TestATickIsToldInTheDatagramOfItsValues(t *testing.T) {
	for _, narrow := range []bool{false, true} {
		for size := 1; size <= 250; size += 3 {
			r := newRoom(t, uint64(size), kit.Lan(), 1, 1)
			var all []*Entity
			for range size {
				e := r.spawn()
				r.show(e, 0)
				all = append(all, e)
			}
			for range 100 {
				r.tick(1 << 20)
				r.w.Pass(20 * time.Millisecond)
			}
			c := r.w.conn(r.clients[0])
			if !c.endpoint.mayBundle() || c.endpoint.sender.Pressure().Packets != 0 {
				t.Fatal("the client is not ready")
			}
			r.w.mux.Advance(r.w.Now())
			for _, e := range all {
				r.set(e, 0, uint32(size))
			}
			if err := c.SendReserved(Unreliable, "parley.tick", make([]byte, 9)); err != nil {
				t.Fatal(err)
			}
			c.endpoint.put(&Packet{Kind: KindAck, Acked: 1}) // takes room, too
			if narrow {
				c.replicate(1<<20, 5000, nil)
			} else {
				c.Replicate(1 << 20)
			}
			shared := 0
			for _, b := range r.w.datagrams() {
				var p Packet
				tick, values := false, false
				eachPacket(&p, FromServer, b, func([]byte) {
					tick = tick || p.Kind == KindMessage && bytes.Equal(p.Name, []byte("parley.tick"))
					values = values || p.Kind == KindReplicate
				})
				if tick && values {
					shared++
				}
				if tick && !values || len(b) > maxPacketBytes {
					t.Errorf("%d entities, narrow %t: a datagram of %d bytes has the tick and no values", size, narrow, len(b))
				}
			}
			if shared != 1 {
				t.Errorf("%d entities, narrow %t: the tick is told %d times", size, narrow, shared)
			}
		}
	}
}
