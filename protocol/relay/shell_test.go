package relay

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/datagram"
	"parley/internal/patient"
	"parley/internal/promise"
	"parley/internal/shell/shelltest"
	"parley/internal/udp"
	"parley/protocol/relay/core"
)

// place is where the sockets of a test are.
type place struct{ shelltest.Place }

func kernel(c udp.Config) *place { return &place{shelltest.Kernel(c)} }
func memory() *place             { return &place{shelltest.Memory()} }

// eachPlace runs a test at every kind of socket.
func eachPlace(t *testing.T, test func(t *testing.T, at *place)) {
	shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) { test(t, &place{at}) })
}

// unhurried is how long a peer may be silent at real sockets: a machine that runs something else for 10 s is no peer that
// has gone.
const unhurried = time.Minute

func (p *place) serve(t testing.TB, c Config, handle func(*Peer, Event)) *Server {
	t.Helper()
	if p.Network == nil && c.Lobby == nil {
		c.Lobby = NewOpenLobby(OpenConfig{Rules: core.Rules{Timeout: unhurried, HoleTimeout: unhurried}})
	}
	listen := func() (datagram.Carrier, error) { return udp.Listen("127.0.0.1:0", p.Config) }
	if p.Network != nil {
		listen = func() (datagram.Carrier, error) { return p.Network.Listen("127.0.0.1:0", p.Config) }
	}
	s := serve(p.Listen(t), listen, c, handle)
	t.Cleanup(func() { s.Close() })
	return s
}

func (p *place) tryDial(ctx context.Context, t testing.TB, to netip.AddrPort, c Config) (*Client, error) {
	t.Helper()
	if p.Network == nil && c.Rules.Timeout == 0 {
		c.Rules.Timeout = unhurried
	}
	return dial(ctx, p.Dial(t, to), c, 0)
}

func (p *place) join(t testing.TB, to netip.AddrPort, c Config) *Client {
	t.Helper()
	x, err := p.tryDial(t.Context(), t, to, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close(shelltest.Ended()) })
	return x
}

// next waits for one event.
func next(x *Client) (ev Event) {
	for ev = range x.Events() {
		break
	}
	return ev
}

// wantPackage waits for one package.
func wantPackage(t testing.TB, x *Client, mode Mode, server bool, payload string) {
	t.Helper()
	ev := next(x)
	if p := ev.Package; ev.Kind != EventPackage || p.Mode != mode || p.Server != server || string(p.Payload) != payload {
		t.Fatalf("got %v %v %t %q (%v), want %v %t %q", ev.Kind, p.Mode, p.Server, p.Payload, ev.Close, mode, server, payload)
	}
}

// Three join, speak to each other and to the game, hear the game, leave; the game is told of all.
func TestServerAndClients(t *testing.T) {
	eachPlace(t, func(t *testing.T, at *place) {
		told := make(chan string, 100)
		s := at.serve(t, Config{}, func(p *Peer, ev Event) {
			switch ev.Kind {
			case EventPackage:
				told <- fmt.Sprintf("%v %q", ev.Package.Mode, ev.Package.Payload)
				if err := p.Room().Say(SemiOrdered, append([]byte("all: "), ev.Package.Payload...)); err != nil {
					t.Error(err)
				}
				if err := p.Send(Unordered, []byte("you")); err != nil {
					t.Error(err)
				}
			default:
				told <- fmt.Sprint(ev.Kind, " ", ev.Close.Reason)
			}
		})
		a, b, c := at.join(t, s.Addr(), Config{}), at.join(t, s.Addr(), Config{}), at.join(t, s.Addr(), Config{})
		for range 3 {
			if got := patient.Value(told); got != "joined unset" {
				t.Fatalf("told %s", got)
			}
		}
		for mode := Unreliable; mode <= SemiOrdered; mode++ {
			if err := a.Send(mode, ToOthers, []byte("hi "+mode.String())); err != nil {
				t.Fatal(err)
			}
			wantPackage(t, b, mode, false, "hi "+mode.String())
			wantPackage(t, c, mode, false, "hi "+mode.String())
		}
		if err := b.Send(Unordered, ToServer, []byte("game")); err != nil {
			t.Fatal(err)
		}
		if got := patient.Value(told); got != `unordered "game"` {
			t.Errorf("told %s", got)
		}
		wantPackage(t, a, SemiOrdered, true, "all: game")
		wantPackage(t, c, SemiOrdered, true, "all: game")
		wantPackage(t, b, SemiOrdered, true, "all: game")
		wantPackage(t, b, Unordered, true, "you")
		all := ""
		for i := range 100 {
			message := fmt.Sprintf("%02d;", i)
			if err := c.Queue(SemiOrdered, ToOthers, []byte(message)); err != nil {
				t.Fatal(err)
			}
			all += message
		}
		packages := 0
		for text := ""; len(text) < len(all); packages++ {
			ev := next(a)
			if text += string(ev.Package.Payload); ev.Kind != EventPackage || !strings.HasPrefix(all, text) {
				t.Fatalf("got %v %q", ev.Kind, text)
			}
		}
		// How many share a package depends on the clock, which only in memory stands still meanwhile.
		if at.Network != nil && packages != 1 {
			t.Errorf("100 messages came in %d packages", packages)
		}
		for _, x := range []*Client{a, b} {
			if err := x.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if got := patient.Value(told); got != "left peer left" {
				t.Errorf("told %s", got)
			}
			if err := x.Send(Unordered, ToOthers, []byte("late")); err != ErrClosed {
				t.Errorf("after Close: %v", err)
			}
			if st := x.Stats(); st.Check() != nil || st.Reliable.Abandoned > 0 {
				t.Errorf("stats %+v, %v", st, st.Check())
			}
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		var last Event
		for last = range c.Events() {
		}
		if last.Kind != EventLeft || last.Close.Reason != core.ReasonRemoved {
			t.Errorf("the last one's end: %v %v", last.Kind, last.Close)
		}
		if got := patient.Value(told); got != "left closed" {
			t.Errorf("told %s", got)
		}
		if err := s.Do(func() {}); err != ErrServerClosed {
			t.Errorf("Do after Shutdown: %v", err)
		}
		if st := s.Stats(); st.Conns != 0 || st.Mux.Check() != nil {
			t.Errorf("stats %+v, %v", st, st.Mux.Check())
		}
	})
}

// A server ignores the port of somebody who left for 10 s. A client that is given such a port joins from another one, in time;
// where no server is it ends with a reason.
func TestDialFromAnIgnoredPort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := memory()
		s := at.serve(t, Config{Lobby: NewOpenLobby(OpenConfig{Rules: core.Rules{Quiet: true}})}, nil)
		for ignored := range 3 {
			tries := 0
			begin := time.Now()
			x, err := dialFrom(t.Context(), Config{}, func() (datagram.Carrier, error) {
				socket := at.Dial(t, s.Addr())
				if tries++; tries <= ignored {
					if err := s.Do(func() { s.mux.First().Invite(socket.LocalAddr(), nil).Remove(Close{}) }); err != nil {
						t.Error(err)
					}
				}
				return socket, nil
			})
			if err != nil || tries != ignored+1 || time.Since(begin) > 5*time.Second {
				t.Fatalf("%d ports are ignored: %v after %d tries and %v", ignored, err, tries, time.Since(begin))
			}
			x.Close(t.Context())
		}
		nowhere := netip.MustParseAddrPort("127.0.0.1:9")
		begin := time.Now()
		_, err := dialFrom(t.Context(), Config{}, func() (datagram.Carrier, error) { return at.Dial(t, nowhere), nil })
		if why := (Close{}); !errors.As(err, &why) || why.Reason == core.ReasonUnheard || time.Since(begin) > 20*time.Second {
			t.Errorf("where nobody is: %v after %v", err, time.Since(begin))
		}
	})
}

var testKey = TicketKey("sixteen bytes and more")

// A room with tickets: who has one is in, by its name; who has none is told so.
func TestDialWithTickets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := memory()
		names := make(chan string, 10)
		s := at.serve(t, Config{Lobby: NewOpenLobby(OpenConfig{Key: testKey, Room: "arena"})}, func(p *Peer, ev Event) {
			if ev.Kind == EventJoined {
				names <- p.Name
			}
		})
		good, err := NewTicket(testKey, "arena", "ada", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		x := at.join(t, s.Addr(), Config{Ticket: good})
		if got := <-names; got != "ada" {
			t.Errorf("joined as %q", got)
		}
		other, _ := NewTicket(testKey, "cellar", "ada", time.Minute)
		for _, tt := range []struct {
			name   string
			ticket []byte
			want   string
		}{
			{"none", nil, "room needs a ticket"}, {"used", good, "ticket was used"},
			{"of another room", other, "ticket is not valid"}, {"no ticket at all", []byte("let me in"), "room needs a ticket"},
		} {
			begin := time.Now()
			_, err := at.tryDial(t.Context(), t, s.Addr(), Config{Ticket: tt.ticket})
			var why Close
			if !errors.As(err, &why) || why != (Close{Reason: core.ReasonRefused, Text: tt.want}) || time.Since(begin) > time.Second {
				t.Errorf("%s: %v after %v", tt.name, err, time.Since(begin))
			}
		}
		if _, err := at.tryDial(t.Context(), t, s.Addr(), Config{Ticket: make([]byte, 505)}); err == nil {
			t.Error("a ticket that fits into no package was taken")
		}
		if err := x.Send(Unordered, ToServer, []byte("still here")); err != nil {
			t.Error(err)
		}
		if len(names) != 0 {
			t.Error("someone else joined")
		}
	})
}

// A client that is silent because its program is idle stays; one whose server is gone learns that.
func TestIdleClientsStayAndLostOnesLearnIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := memory()
		s := at.serve(t, Config{}, nil)
		x := at.join(t, s.Addr(), Config{})
		time.Sleep(time.Hour) // in a bubble
		if err := x.Err(); err != nil {
			t.Fatalf("after an hour: %v", err)
		}
		s.first.Close() // nobody is told
		begin := time.Now()
		ev := next(x)
		if took := time.Since(begin); ev.Kind != EventLeft || took < 5*time.Second || took > 15*time.Second {
			t.Errorf("%v (%v) after %v", ev.Kind, ev.Close, took)
		}
	})
}

// A lobby with ports of their own, at real sockets and in memory: the hotel.
func TestServerWithSeveralPorts(t *testing.T) {
	eachPlace(t, func(t *testing.T, at *place) {
		left := make(chan Close, 10)
		s := at.serve(t, Config{Lobby: hotel{timeout: unhurried}}, func(_ *Peer, ev Event) {
			if ev.Kind == EventLeft {
				left <- ev.Close
			}
		})
		front := at.join(t, s.Addr(), Config{})
		var rooms []netip.AddrPort
		for range 3 {
			if err := front.Send(Unordered, ToServer, []byte("open")); err != nil {
				t.Fatal(err)
			}
			var port uint16
			if _, err := fmt.Sscanf(string(next(front).Package.Payload), "port %d", &port); err != nil {
				t.Fatal(err)
			}
			rooms = append(rooms, netip.AddrPortFrom(s.Addr().Addr(), port))
		}
		for _, room := range rooms {
			a, b := at.join(t, room, Config{}), at.join(t, room, Config{})
			for i := range 20 {
				if err := a.Send(SemiOrdered, ToOthers, []byte(number(i))); err != nil {
					t.Fatal(err)
				}
			}
			for i := range 20 {
				wantPackage(t, b, SemiOrdered, false, "1"+number(i))
			}
			if room != rooms[2] {
				if err := b.Send(Unordered, ToOthers, []byte("bye")); err != nil {
					t.Fatal(err)
				}
				for range 2 {
					if why := patient.Value(left); why.Reason != core.ReasonPort {
						t.Errorf("left: %v", why)
					}
				}
			}
		}
		if err := s.Close(); err != nil { // with a port open, and peers at it
			t.Error(err)
		}
		for range 2 {
			if why := patient.Value(left); why.Reason != core.ReasonClosed {
				t.Errorf("left: %v", why)
			}
		}
		if err := s.Close(); err != nil {
			t.Errorf("a second time: %v", err)
		}
	})
}

// What happens at one port is sent at another at once, and not when that one has something to do anyway.
func TestPortsWakeEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := memory()
		s := at.serve(t, Config{Lobby: hotel{}}, nil)
		front := at.join(t, s.Addr(), Config{})
		if err := front.Send(Unordered, ToServer, []byte("open")); err != nil {
			t.Fatal(err)
		}
		var port uint16
		if _, err := fmt.Sscanf(string(next(front).Package.Payload), "port %d", &port); err != nil {
			t.Fatal(err)
		}
		guest := at.join(t, netip.AddrPortFrom(s.Addr().Addr(), port), Config{})
		time.Sleep(time.Second) // in a bubble: all is confirmed
		for _, tt := range []struct {
			from, to   *Client
			say, heard string
		}{{front, guest, "shout", "shouted"}, {guest, front, "ring", "rung"}} {
			begin := time.Now()
			if err := tt.from.Send(Unordered, ToServer, []byte(tt.say)); err != nil {
				t.Fatal(err)
			}
			wantPackage(t, tt.to, Unordered, true, tt.heard)
			if took := time.Since(begin); took > 5*time.Millisecond {
				t.Errorf("%s took %v", tt.say, took)
			}
			time.Sleep(time.Second)
		}
	})
}

// T61: ECONNREFUSED, ENOBUFS, EMSGSIZE, EAGAIN and EPERM, each for one system call in a hundred, at the
// server and at its clients: all join, what is reliable comes once and in its order, and the
// server lives on.
func TestSocketFaultsCostNothingReliable(t *testing.T) {
	t.Log("seed=0x3e1a")
	r := rand.New(rand.NewPCG(0x3e1a, 0))
	for name, c := range map[string]udp.Config{"batched": {}, "small batches, without joining": {Batch: 4, NoGSO: true, NoGRO: true}, "plain": {Plain: true}} {
		faulty := kernel(shelltest.Faulty(c, r.Uint64()))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			surviveFaults(t, faulty, 4, 60)
		})
	}
	for range promise.Keeps(t, "T61", "relay", shelltest.Rounds(1000, 10_000)) / 50 {
		seed := r.Uint64()
		t.Run(fmt.Sprintf("memory, seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				at := memory()
				at.Config = shelltest.Faulty(at.Config, seed)
				surviveFaults(t, at, 6, 100)
			})
		})
	}
}

func surviveFaults(t *testing.T, at *place, clients, packages int) {
	s := at.serve(t, Config{}, nil)
	all := make([]*Client, clients)
	for i := range all {
		all[i] = at.join(t, s.Addr(), Config{})
	}
	struck := func() uint64 {
		st := s.Stats()
		return st.Socket.OutFaults.Total() + st.Socket.InFaults.Total()
	}
	for round := 0; round < 50 && (round == 0 || struck() == 0); round++ { // on a busy machine few system calls carry all of it
		var wg sync.WaitGroup
		for i, x := range all {
			wg.Go(func() {
				for k := range packages {
					if err := x.Send(SemiOrdered, ToOthers, []byte{byte(i), byte(k)}); err != nil {
						t.Errorf("send: %v", err)
					}
				}
			})
			wg.Go(func() {
				due := make([]int, clients)
				for range packages * (clients - 1) {
					ev := next(x)
					if ev.Kind != EventPackage {
						t.Errorf("after %v: %v (%v)", due, ev.Kind, ev.Close)
						return
					}
					from, k := ev.Package.Payload[0], ev.Package.Payload[1]
					if int(k) != due[from] {
						t.Errorf("package %d of %d came where %d was due", k, from, due[from])
					}
					due[from]++
				}
			})
		}
		patient.Done(wg.Wait)
	}
	st := s.Stats()
	if struck() == 0 {
		t.Errorf("no fault struck: %+v", st.Socket)
	}
	if err := st.Mux.Check(); err != nil {
		t.Error(err)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

// T58: after thousands have come and gone, everything is as it was: goroutines, descriptors, memory and
// the server's tables.
func TestChurnLeavesNothingBehind(t *testing.T) {
	n := promise.Keeps(t, "T58", "relay", shelltest.Tier(300, 1000, 10_000))
	if testing.Short() {
		n = 200
	}
	t.Run("memory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			if grown := churn(t, memory(), n, 3); grown > 256<<10 {
				t.Errorf("the heap has grown by %d bytes", grown)
			}
		})
	})
	// Few, as the system may give a client the port of one who left less than 10 s ago, and is
	// ignored for that long.
	t.Run("real sockets", func(t *testing.T) { churn(t, kernel(udp.Config{}), 40, 1) })
}

func churn(t *testing.T, at *place, n, times int) (grown int64) {
	gone := make(chan struct{}, 1)
	lobby := NewOpenLobby(OpenConfig{JoinBurst: -1}) // all come from one address
	s := at.serve(t, Config{Lobby: lobby}, func(p *Peer, ev Event) {
		if ev.Kind == EventLeft {
			select {
			case gone <- struct{}{}:
			default:
			}
		}
	})
	comeAndGo(t, at, s, n, gone) // so that pools and tables have their size
	before := shelltest.Census(1 << 20)
	for range times {
		comeAndGo(t, at, s, n, gone)
	}
	after := shelltest.Census(before.Goroutines)
	if err := after.Grown(before); err != nil {
		t.Error(err)
	}
	err := s.Do(func() {
		m := s.mux
		_, timed := m.NextTimeout()
		_, _, sends := m.PollTransmit(make([]byte, core.MaxDatagram))
		if m.Len() != 0 || timed || sends || m.First().Value.(*Room).Len() != 0 {
			t.Errorf("%d peers are left, timed %t, sends %t", m.Len(), timed, sends)
		}
	})
	if err != nil {
		t.Error(err)
	}
	return after.Heap - before.Heap
}

// comeAndGo has n clients come, say something, and go, some of them without waiting.
func comeAndGo(t *testing.T, at *place, s *Server, n int, gone <-chan struct{}) {
	t.Helper()
	const hands = 40
	var wg sync.WaitGroup
	for h := range hands {
		wg.Go(func() {
			for i := h; i < n; i += hands {
				c := Config{Rules: core.Rules{Timeout: 10 * time.Second}}
				x, err := at.tryDial(t.Context(), t, s.Addr(), c)
				for why := (Close{}); errors.As(err, &why); {
					x, err = at.tryDial(t.Context(), t, s.Addr(), c) // from another port
				}
				if err != nil {
					t.Error(err)
					return
				}
				if err := x.Send(Mode(i%3), core.Target(i%2), []byte("hello")); err != nil {
					t.Error(err)
				}
				ctx := t.Context()
				if i%4 == 0 {
					ctx = shelltest.Ended()
				}
				if err := x.Close(ctx); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
		})
	}
	patient.Done(wg.Wait)
	for s.Stats().Conns > 0 { // also of clients that gave up, and came from another port
		patient.Value(gone)
	}
}

// A turn sends all that it has in as few system calls as there are batches: one package in, 31 out
// in one call.
func TestAPackageIsPassedOnInOneSystemCall(t *testing.T) {
	at := kernel(socketConfig)
	idle := core.Rules{KeepAlive: time.Hour, Timeout: 2 * time.Hour} // keep-alives would be as many calls as the machine is slow
	s := at.serve(t, Config{Lobby: NewOpenLobby(OpenConfig{Rules: idle})}, nil)
	all := make([]*Client, 32)
	for i := range all {
		all[i] = at.join(t, s.Addr(), Config{Rules: idle})
	}
	first := s.Stats()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has batches")
	}
	const packages = 50
	for i := range packages {
		if err := all[0].Send(Unreliable, ToOthers, []byte(number(i))); err != nil {
			t.Fatal(err)
		}
		for _, x := range all[1:] {
			wantPackage(t, x, Unreliable, false, number(i))
		}
	}
	st := s.Stats()
	// Confirmations of the challenges' answers may add a few.
	if calls, out := st.Socket.OutBatches-first.Socket.OutBatches, st.Socket.OutDatagrams-first.Socket.OutDatagrams; out < (packages-1)*31 || calls > packages+40 {
		t.Errorf("%d datagrams went out in %d system calls", out, calls)
	}
}

// The log has a line for each who comes and goes.
func TestLogLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		at := memory()
		s := at.serve(t, Config{Log: shelltest.Log(&text)}, nil)
		x := at.join(t, s.Addr(), Config{})
		if err := x.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"msg=listening", "msg=joined", `msg=left`, `reason="peer left"`, "proto=relay"} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("no %s in\n%s", want, text.String())
			}
		}
	})
}

// The addresses that one can get wrong are errors in one sentence.
func TestListenAndDialMistakes(t *testing.T) {
	for _, addr := range []string{"nonsense", "127.0.0.1:99999", "256.0.0.1:1"} {
		if s, err := Listen(addr, Config{}, nil); err == nil || !strings.HasPrefix(err.Error(), "relay: ") {
			t.Errorf("Listen(%q): %v, %v", addr, s, err)
		}
		if x, err := Dial(t.Context(), addr, Config{}); err == nil || !strings.HasPrefix(err.Error(), "relay: ") {
			t.Errorf("Dial(%q): %v, %v", addr, x, err)
		}
	}
}
