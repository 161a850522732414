package core

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/internal/reliable"
	"parley/simnet"
)

// connected is a world with one client whose address is proven.
func connected(t testing.TB, seed uint64, c Config, path simnet.Profile) (*world, *client, *Conn) {
	t.Helper()
	w := newWorld(t, seed, c, path)
	x := w.dial(0, c)
	w.Until("connected", 20*time.Second, func() bool { return x.State() == StateOpen && w.mux.Len() == 1 })
	return w, x, w.mux.Conn(x.host.Addr())
}

// T12, T13: acks of all numbers there are, again and again, change nothing that was
// not sent, and are counted.
func TestAckBombs(t *testing.T) {
	total := promise.Keeps(t, "T12 T13", "replica", kit.Rounds(200_000, 1_000_000))
	ackBombs(t, Config{}, total/2)
	ackBombs(t, Config{NoBundles: true}, total-total/2)
}

func ackBombs(t *testing.T, cfg Config, total int) {
	w, x, c := connected(t, 12, cfg, kit.Lan())
	w.Pass(100 * time.Millisecond) // nothing is on its way
	now := w.Now()
	if err := c.Send(Reliable, "m", nil); err != nil {
		t.Fatal(err)
	}
	var buf [2048]byte
	for _, _, ok := w.mux.PollTransmit(buf[:]); ok; _, _, ok = w.mux.PollTransmit(buf[:]) {
	}
	next := c.endpoint.sender.Next()
	before := c.Stats().Reliable
	for i := range total {
		n := uint16(i)
		if uint64(n) == next-1 {
			continue // the one that is in flight
		}
		w.mux.HandleDatagram(now, x.host.Addr(), (&Packet{Kind: KindAck, Acked: n}).AppendTo(buf[:0]))
		if c.endpoint.sender.InFlight(0) != 1 || c.endpoint.sender.Next() != next {
			t.Fatalf("the ack of %d changed what is in flight", n)
		}
	}
	s := c.Stats().Reliable
	if s.AcksUnsent == before.AcksUnsent || s.AcksNew != before.AcksNew || c.endpoint.State() != StateOpen {
		t.Errorf("%+v, %v", s.SendStats, c.endpoint.State())
	}
	w.mux.HandleDatagram(now, x.host.Addr(), (&Packet{Kind: KindAck, Acked: uint16(next - 1)}).AppendTo(buf[:0]))
	if c.endpoint.sender.InFlight(0) != 0 {
		t.Error("the true ack does not count any more")
	}
}

// T13: an ack of a number that was never sent is no sign of life.
func TestALieDoesNotKeepAConnectionAlive(t *testing.T) {
	promise.Keeps(t, "T13", "replica", 1)
	w, x, c := connected(t, 13, Config{}, kit.Lan())
	w.Partition(x.host, w.server, false)
	w.Partition(w.server, x.host, false)
	for range 11 {
		lie := Packet{Kind: KindAck, Acked: uint16(c.endpoint.sender.Next() + 10)}
		w.Inject(x.host.Addr(), serverAddr, lie.AppendTo(nil))
		w.Pass(time.Second)
	}
	if c.endpoint.State() != StateClosed {
		t.Errorf("the server's side is %v", c.endpoint.State())
	}
}

// T14: in a blackout the resends of a packet come at least doubled in distance each
// time, and the end comes by the documented time.
func TestResendsBackOffAndEnd(t *testing.T) {
	promise.Keeps(t, "T14", "replica", 1)
	for seed := range uint64(2) {
		resendsBackOffAndEnd(t, byTurns(seed))
	}
}

func resendsBackOffAndEnd(t *testing.T, cfg Config) {
	w, x, c := connected(t, 14, cfg, kit.Lan())
	w.Pass(2500 * time.Millisecond)
	heard := w.Now()
	w.Partition(x.host, w.server, false)
	if err := c.Send(Reliable, "m", nil); err != nil {
		t.Fatal(err)
	}
	w.server.Poke()
	number := uint16(c.endpoint.sender.Next() - 1)
	var at []time.Time
	w.Filter(func(p simnet.Packet) simnet.Verdict {
		if got, ok := holds(FromServer, p.Bytes, KindMessage); p.From == w.server && ok && got.Sequence == number {
			at = append(at, w.Now())
		}
		return simnet.Verdict{}
	})
	w.Until("given up", 30*time.Second, func() bool { return w.mux.Len() == 0 })
	if took := w.Now().Sub(heard); took < 9*time.Second || took > 10100*time.Millisecond {
		t.Errorf("given up after %v", took)
	}
	if len(at) < 6 || len(at) > 12 {
		t.Errorf("sent %d times", len(at))
	}
	for i := 2; i < len(at); i++ {
		if was, is := at[i-1].Sub(at[i-2]), at[i].Sub(at[i-1]); is < min(was*15/10, 1900*time.Millisecond) {
			t.Errorf("resend %d came %v after the last, which had waited %v", i, is, was)
		}
	}
}

// T15: whatever times and acks come with right numbers, the round trip stays within
// [1 ms, 10 s], and a client's clock is not moved by more than its slew limit of a
// twentieth.
func TestPoisonedTimes(t *testing.T) {
	rng := kit.Rand(t)
	total := promise.Keeps(t, "T15", "replica", kit.Rounds(100_000, 1_000_000))
	poisonedTimes(t, rng, Config{}, total/2)
	poisonedTimes(t, rng, Config{NoBundles: true}, total-total/2)
}

func poisonedTimes(t *testing.T, rng *rand.Rand, cfg Config, total int) {
	w, x, c := connected(t, 15, cfg, kit.Lan())
	w.Pass(5 * time.Second)
	w.Partition(x.host, w.server, false)
	w.Partition(w.server, x.host, false)
	now := w.Now()
	last, at := x.ServerTime(now), now
	var buf [2048]byte
	for i := range total {
		now = now.Add(time.Duration(rng.IntN(2000)) * time.Microsecond)
		wrong := uint64(rng.Int64N(int64(20*time.Second/time.Microsecond))) - uint64(10*time.Second/time.Microsecond)
		if rng.IntN(4) == 0 {
			wrong = rng.Uint64()
		}
		time := x.ServerTime(now) + wrong
		sent, received := time, time+uint64(rng.Int64N(2_000_000)-1_000_000)
		if i%20 == 0 { // a sync packet is asked for, so that its answer counts
			ask := Packet{Kind: KindSyncInit, Sequence: uint16(x.near + 1)}
			x.HandleDatagram(now, serverAddr, ask.AppendTo(buf[:0]))
			c.endpoint.sendSyncInit(now)
		}
		p := Packet{Kind: KindSyncAck, Sequence: uint16(x.near + 1), Acked: uint16(x.sender.Next() - 1), Sent: sent, Received: received}
		x.HandleDatagram(now, serverAddr, p.AppendTo(buf[:0]))
		p.Sequence, p.Acked = uint16(c.endpoint.near+1), uint16(c.endpoint.sender.Next()-1)
		c.endpoint.HandleDatagram(now, x.host.Addr(), p.AppendTo(buf[:0]))
		read := x.ServerTime(now)
		passed := now.Sub(at).Microseconds()
		if moved := int64(read - last); moved < passed*19/20-2 || moved > passed*21/20+2 {
			t.Fatalf("in %d µs the clock moved by %d", passed, moved)
		}
		last, at = read, now
		for _, e := range []*Endpoint{x.Endpoint, &c.endpoint} {
			if rtt := e.RTT(); rtt != 0 && (rtt < 1_000_000 || rtt > 10_000_000_000) {
				t.Fatalf("a round trip of %v", rtt)
			}
			for _, _, ok := e.PollTransmit(buf[:]); ok; _, _, ok = e.PollTransmit(buf[:]) {
			}
		}
	}
}

// pieceOf returns a piece of a message as one of our own peers would send it.
func pieceOf(c *Conn, number, time uint64, more, first bool, data []byte) []byte {
	p := Packet{Kind: KindMessage, Reliable: true, Ordered: true, More: more, Sequence: uint16(number), OrderLink: 1, Time: time, Data: data}
	if first {
		p.Name, p.OrderLink = []byte("big"), 0
	}
	return p.AppendTo(nil)
}

// T18: a message that never ends is refused at the largest size, and its sender is
// cut off; many clients who begin one and leave it take no more than their budget, and
// an honest message still completes throughout.
func TestMessagesThatNeverEnd(t *testing.T) {
	promise.Keeps(t, "T18", "replica", 1)
	w, x, c := connected(t, 18, Config{}, kit.Lan())
	w.Pass(time.Second)
	data := make([]byte, 1100)
	number := c.endpoint.near + 1
	for i := 0; c.endpoint.State() == StateOpen; i++ {
		if i*len(data) > 1<<20+8192 {
			t.Fatalf("%d bytes of one message were taken", i*len(data))
		}
		w.mux.HandleDatagram(w.Now(), x.host.Addr(), pieceOf(c, number, c.endpoint.ServerTime(w.Now()), true, i == 0, data))
		for _, _, ok := w.mux.PollEvent(); ok; _, _, ok = w.mux.PollEvent() {
		}
		number++
	}
	if c.endpoint.ending.close.Reason != ReasonOverflow {
		t.Errorf("it ended with %v", c.endpoint.ending.close.Reason)
	}
}

func TestHalfSentMessagesShareABudget(t *testing.T) {
	shared := newShared(18)
	shared.partial = reliable.NewBudget(4 << 20)
	w := newWorld(t, 18, Config{}, kit.Lan())
	w.mux.shared = shared
	w.SetLimits(simnet.Limits{Steps: 20_000_000, StepsAtOnce: 20_000})
	honest := w.dial(0, Config{})
	clients := 40
	for i := range clients {
		w.dial(i+1, Config{})
	}
	w.Until("connected", 5*time.Second, func() bool { return w.mux.Len() == clients+1 })
	w.Pass(time.Second)
	whole := 0
	w.onEvent = func(_ time.Time, _ *Conn, ev Event) {
		if ev.Kind == EventMessage && len(ev.Data) == 100_000 {
			whole++
		}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	data := make([]byte, 1100)
	for round := range 5 {
		for i := range clients {
			c := w.mux.Conn(w.clients[i+1].host.Addr())
			if c == nil {
				continue // it was cut off
			}
			number := c.endpoint.near + 1
			for j := range 50 {
				w.Inject(c.Peer(), serverAddr, pieceOf(c, number+uint64(j), c.endpoint.ServerTime(w.Now()), true, round+j == 0, data))
			}
		}
		honest.send(Ordered, "big", string(make([]byte, 100_000)))
		w.Pass(2 * time.Second)
	}
	w.Until("the honest messages", 10*time.Second, func() bool { return whole == 5 })
	runtime.GC()
	runtime.ReadMemStats(&after)
	if used := shared.partial.Used(); used > 4<<20 {
		t.Errorf("%d bytes of half-sent messages", used)
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 24<<20 {
		t.Errorf("the heap grew by %d KiB", grown>>10)
	}
}

// T19: a packet that a limit refuses is not acknowledged, so it comes again: with
// tiny limits and a slow reader everything is delivered all the same, once and in order.
func TestWhatALimitRefusesComesAgain(t *testing.T) {
	refused := uint64(0)
	kit.Seeds(t, promise.Keeps(t, "T19", "replica", kit.Tier(400, 10_000, 10_000)), func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 19))
		cfg := byTurns(seed)
		tiny := Config{NoBundles: cfg.NoBundles, receiving: reliable.ReceiveConfig{MaxReady: 60 + rng.IntN(200), MaxHeld: 60 + rng.IntN(200)}}
		w := newWorld(t, seed, tiny, simnet.Profile{Delay: 5 * time.Millisecond, Loss: .1})
		// The server reads one event now and then.
		var got []byte
		var conn *Conn
		reading := false
		w.server.AfterTurn(func(time.Time) {
			for reading || w.mux.Len() == 0 {
				c, ev, ok := w.mux.PollEvent()
				if !ok {
					return
				}
				conn, reading = c, false
				if ev.Kind == EventMessage {
					got = append(got, ev.Data[0])
				}
			}
		})
		x := w.dial(0, cfg)
		connected := func() bool { return x.State() == StateOpen && w.mux.Len() == 1 || x.State() == StateClosed }
		w.Until("connected", 20*time.Second, connected)
		if x.State() == StateClosed { // one in 10^5 loses all five of its sync.acks
			x = w.dial(1, cfg)
			w.Until("connected", 20*time.Second, connected)
		}
		const messages = 12
		for i := range messages {
			x.send(Reliable+Mode(i%3/2), "m", string([]byte{byte(i), 2: 0, 20: 0}))
		}
		for turns := 0; len(got) < messages; turns++ {
			if turns > 10_000 { // a resend may wait for two seconds, and be lost
				t.Fatalf("seed=%d: only %x came", seed, got)
			}
			reading = rng.IntN(4) == 0
			w.server.Poke()
			w.Pass(2 * time.Millisecond)
		}
		once, order := [messages]bool{}, -1
		for _, i := range got {
			if once[i] || i%3 == 2 && int(i) < order {
				t.Fatalf("seed=%d: %x", seed, got)
			}
			once[i] = true
			if i%3 == 2 {
				order = int(i)
			}
		}
		refused += conn.Stats().Reliable.Refused
	})
	if refused == 0 {
		t.Error("no limit was ever reached")
	}
	t.Logf("%d packets were refused", refused)
}

// T34: a peer is an address and port, whichever way it is written, and no two are one.
func TestAPeerIsItsCanonicalAddress(t *testing.T) {
	promise.Keeps(t, "T34", "replica", 1)
	w, x, c := connected(t, 34, Config{}, kit.Lan())
	home := x.host.Addr()
	mapped := netip.AddrPortFrom(netip.AddrFrom16(home.Addr().As16()), home.Port())
	if !mapped.Addr().Is4In6() || w.mux.Conn(mapped) != c {
		t.Errorf("%v has %v, want the connection of %v", mapped, w.mux.Conn(mapped), home)
	}
	in := c.Stats().In
	w.mux.HandleDatagram(w.Now(), mapped, (&Packet{Kind: KindAck, Acked: 1}).AppendTo(nil))
	if got := c.Stats().In; got != in+1 {
		t.Errorf("a datagram from %v was not its own: %d came, want %d", mapped, got, in+1)
	}
	for _, other := range []netip.AddrPort{
		netip.AddrPortFrom(home.Addr(), home.Port()+1),
		netip.AddrPortFrom(home.Addr().Next(), home.Port()),
		netip.AddrPortFrom(netip.MustParseAddr("fe80::1%2"), home.Port()),
	} {
		if w.mux.Conn(other) != nil {
			t.Errorf("%v has a connection", other)
		}
	}
	y := NewClient(w.Now(), netip.AddrPortFrom(netip.AddrFrom16(serverAddr.Addr().As16()), serverAddr.Port()), Config{}, newShared(1))
	accept := Packet{Kind: KindAccept, Reliable: true, Sequence: 1, Received: 5, Sent: 5, SyncInterval: 1_000_000}
	y.HandleDatagram(w.Now(), serverAddr, accept.AppendTo(nil))
	if y.State() != StateAccepted {
		t.Errorf("a client of an IPv4 address inside IPv6 is %v", y.State())
	}
}

// T28: no run goes round in circles. The network itself fails a run with more than its
// limit of steps at one instant; a core that asks for the past for ever would be one.
func TestNoTimerIsDueForEver(t *testing.T) {
	promise.Keeps(t, "T28", "replica", 1)
	kit.Seeds(t, 50, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 28))
		w := newWorld(t, seed, Config{}, simnet.Profile{Delay: 20 * time.Millisecond, Loss: .3, Duplicate: .2})
		w.SetLimits(simnet.Limits{Steps: 1_000_000, StepsAtOnce: 1000})
		x := w.dial(0, Config{})
		for i := range 50 {
			if x.State() == StateOpen {
				x.Send(x.host.Now(), Mode(rng.IntN(3)), "m", fmt.Append(nil, i))
				x.host.Poke()
			}
			w.Pass(time.Duration(rng.IntN(200)) * time.Millisecond)
		}
	})
}
