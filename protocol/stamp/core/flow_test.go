package core

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/internal/reliable"
	"parley/internal/roster"
	"parley/simnet"
)

// counted sends numbered packets of all modes to a client and holds what comes against the
// law of delivery.
type counted struct {
	w         *world
	x         *client
	sent, got [3]uint32
	seen      map[uint64]bool
	left      int
	stall     bool // send nothing for now
}

// count starts to send so many packets, as fast as they are taken.
func count(w *world, x *client, packets int) *counted {
	k := &counted{w: w, x: x, left: packets, seen: map[uint64]bool{}}
	x.onEvent = func(_ time.Time, ev Event) {
		if ev.Kind == EventEntity {
			k.take(ev)
		}
	}
	turn := w.onEvent
	w.server.AfterTurn(func(now time.Time) {
		w.mux.Advance(now)
		for c, ev, ok := w.mux.PollEvent(); ok; c, ev, ok = w.mux.PollEvent() {
			w.Log = append(w.Log, eventText(ev))
			if turn != nil {
				turn(now, c, ev)
			}
		}
		k.fill()
	})
	w.server.Poke()
	return k
}

// fill sends until the window is full. One in 64 is ordered, as they pass one a round trip.
func (k *counted) fill() {
	c := k.w.mux.Conn(k.x.host.Addr())
	var data [16]byte
	for burst := 0; k.left > 0 && !k.stall && c != nil && burst < 200; burst++ {
		mode := Reliable
		switch k.left % 64 {
		case 0:
			mode = Ordered
		case 10, 20, 30, 40, 50, 60:
			mode = Unreliable
		}
		data[0] = byte(mode)
		binary.LittleEndian.PutUint32(data[1:], k.sent[mode])
		if c.Send(mode, data[:]) != nil {
			return
		}
		k.sent[mode]++
		k.left--
	}
}

func (k *counted) take(ev Event) {
	mode, index := Mode(ev.Data[0]), binary.LittleEndian.Uint32(ev.Data[1:])
	key := uint64(mode)<<32 | uint64(index)
	if k.seen[key] {
		k.w.T.Fatalf("%v packet %d came twice", mode, index)
	}
	if mode == Ordered && index != k.got[Ordered] {
		k.w.T.Fatalf("ordered packet %d came where %d was due", index, k.got[Ordered])
	}
	k.seen[key] = true
	k.got[mode]++
}

func (k *counted) complete() bool {
	return k.left == 0 && k.got[Reliable] == k.sent[Reliable] && k.got[Ordered] == k.sent[Ordered]
}

// startAt makes both sides of a connection go on with another number.
func (x *client) startAt(number uint64) {
	c, now := x.conn(), x.w.Now()
	c.endpoint.sender.Close()
	c.endpoint.sender = reliable.NewSender(now, number, c.endpoint.cfg.send, c.endpoint.buffers, c.endpoint.rand)
	x.receiver = reliable.NewReceiver(now, number, x.cfg.recv, x.buffers)
	x.near = number - 1
}

var wide = Config{sending: reliable.SendConfig{NoCongestion: true}}

// T9: the 16-bit sequence wraps in the middle of a lossy run at full speed.
func TestSequencesWrapUnderLoss(t *testing.T) {
	t.Parallel()
	path := simnet.Profile{Delay: 5 * time.Millisecond, Jitter: 5 * time.Millisecond, Loss: .1}
	run := func(seed, first uint64, packets int) {
		w := newWorld(t, seed, wide, path)
		x := w.open(0, Config{})
		w.Pass(200 * time.Millisecond)
		x.startAt(first)
		k := count(w, x, packets)
		w.Until(fmt.Sprintf("seed=%d: all delivered from %d", seed, first), 10*time.Minute, k.complete)
		w.check()
	}
	rng := kit.Rand(t)
	run(1, 65_535-100, promise.Keeps(t, "T9", "stamp", kit.Rounds(100_000, 1_000_000)))
	for seed := range uint64(64) {
		run(seed, 65_536-rng.Uint64N(500), kit.Rounds(1000, 100_000))
	}
}

// T16: each datagram comes one to five times and in any order. The application sees each
// packet once, and every datagram is accounted for.
func TestDuplicatesAndDisorder(t *testing.T) {
	t.Parallel()
	d := newDuo(t, 1, wide)
	rng := kit.Rand(t)
	shuffled := func(list [][]byte) (all [][]byte) {
		for _, b := range list {
			for range 1 + rng.IntN(5) {
				all = append(all, b)
			}
		}
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		return all
	}
	packets := promise.Keeps(t, "T16", "stamp", kit.Rounds(100_000, 1_000_000))
	sent, ordered := 0, 0
	seen := make([]bool, packets)
	for turns := 0; sent < packets || d.s.sender.InFlight(0) > 0; turns++ {
		if turns > packets {
			t.Fatal("it does not come to an end")
		}
		for range 50 {
			data := binary.LittleEndian.AppendUint32(nil, uint32(sent))
			if sent == packets || d.s.Send(d.now, Mode(1+sent%50/49), data) != nil {
				break
			}
			sent++
		}
		d.poll()
		d.toC, d.toS = shuffled(d.toC), shuffled(d.toS)
		d.turn(5 * time.Millisecond)
		for _, ev := range d.events {
			i := binary.LittleEndian.Uint32(ev.Data)
			if seen[i] || ev.Ordered && int(i) < ordered {
				t.Fatalf("packet %d came twice or out of order", i)
			}
			if seen[i] = true; ev.Ordered {
				ordered = int(i)
			}
		}
		d.events = d.events[:0]
	}
	for i, came := range seen {
		if !came {
			t.Fatalf("packet %d never came", i)
		}
	}
	d.check()
	s := d.c.Stats().Reliable.ReceiveStats
	if sum := s.Delivered + s.Repeat + s.Stale + s.TooFar + s.Refused; s.Repeat == 0 || sum != s.In {
		t.Errorf("%d datagrams came, but %d are accounted for: %+v", s.In, sum, s)
	}
}

// T11: an application that stops reading costs no more than the limits, the server is told by
// ErrWindowFull, and all goes on within two round trips once it reads again.
func TestAStalledReader(t *testing.T) {
	promise.Keeps(t, "T11", "stamp", 1)
	const delay = 25 * time.Millisecond
	w := newWorld(t, 1, Config{}, simnet.Profile{Delay: delay, Rate: 4_000_000})
	x := w.open(0, Config{})
	k := count(w, x, 1<<30)
	w.Pass(time.Second)
	reading := x.onEvent
	x.host.AfterTurn(func(time.Time) {}) // the application does not ask for events
	w.Pass(5 * time.Second)
	limit := x.cfg.recv.MaxReady + x.cfg.recv.MaxHeld
	if n := x.receiver.Waiting() * (HeaderBytes + 16); n < limit/4 || n > limit {
		t.Errorf("%d bytes wait for the reader, the limit is %d", n, limit)
	}
	c := x.conn()
	if err := c.Send(Reliable, make([]byte, 64)); err != ErrWindowFull {
		t.Errorf("the server may still send: %v", err)
	}
	if p := c.Pressure(); p.Bytes > 256<<10+maxOrderedBytes {
		t.Errorf("the server keeps %d bytes", p.Bytes)
	}
	got := k.got[Reliable]
	x.host.AfterTurn(func(now time.Time) {
		for ev, ok := x.PollEvent(); ok; ev, ok = x.PollEvent() {
			reading(now, ev)
		}
	})
	x.host.Poke()
	waiting := k.got[Reliable] - got
	w.Pass(4*delay + time.Millisecond)
	if now := k.got[Reliable] - got; now <= waiting {
		t.Errorf("two round trips after the reader came back nothing new has come")
	}
	k.left = 0
	w.Until("all delivered", time.Minute, k.complete)
	w.check()
}

// T11: one that stops for good is cut off with a reason, as is a peer that never acknowledges.
func TestWhoNeverAcknowledgesIsCutOff(t *testing.T) {
	promise.Keeps(t, "T11", "stamp", 1)
	for _, tt := range []struct {
		name string
		stop func(w *world, x *client)
	}{
		{"reads nothing", func(_ *world, x *client) { x.host.AfterTurn(func(time.Time) {}) }},
		{"is silent", func(w *world, x *client) { w.Partition(x.host, w.server, true) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 1, Config{}, simnet.Profile{Delay: 10 * time.Millisecond, Rate: 4_000_000})
			x := w.open(0, Config{})
			k := count(w, x, 1<<30)
			w.Pass(time.Second)
			tt.stop(w, x)
			before := w.server.Stats().SentBytes
			most := 0
			w.Until("cut off", 30*time.Second, func() bool {
				if c := w.mux.Conn(x.host.Addr()); c != nil {
					most = max(most, c.Pressure().Bytes)
				}
				return w.mux.Len() == 0
			})
			if got := w.Log[len(w.Log)-1]; got != "closed: timeout" && got != "closed: reliable packet never acknowledged" {
				t.Errorf("the server saw %s", got)
			}
			if most > 256<<10+maxOrderedBytes {
				t.Errorf("the server kept %d bytes", most)
			}
			// T14: "resent bytes <= tries x window".
			if sent := w.server.Stats().SentBytes - before; sent > 11*(256<<10)*2 {
				t.Errorf("%d bytes were sent to a peer that takes nothing", sent)
			}
			k.stall = true
		})
	}
}

// T14: in a blackout the resends of a packet come at least doubled in distance each time, and the
// end comes by the documented time.
func TestResendsBackOffAndEnd(t *testing.T) {
	promise.Keeps(t, "T14", "stamp", 1)
	w := newWorld(t, 1, Config{}, kit.Lan())
	x := w.open(0, Config{})
	w.Pass(200 * time.Millisecond)
	heard := w.Now()
	w.Partition(x.host, w.server, false)
	x.send(Reliable, "x")
	number := uint16(x.conn().endpoint.sender.Next() - 1)
	var at []time.Time
	w.Filter(func(p simnet.Packet) simnet.Verdict {
		var got Packet
		if got.Parse(FromServer, p.Bytes) && got.Sequence == number {
			at = append(at, w.Now())
		}
		return simnet.Verdict{}
	})
	w.Until("given up", 30*time.Second, func() bool { return w.mux.Len() == 0 })
	if took := w.Now().Sub(heard); took < 9*time.Second || took > 10*time.Second {
		t.Errorf("given up after %v", took)
	}
	if len(at) < 6 || len(at) > 10 {
		t.Errorf("resent %d times", len(at))
	}
	for i := 2; i < len(at); i++ {
		if was, is := at[i-1].Sub(at[i-2]), at[i].Sub(at[i-1]); is < min(was*15/10, 2*time.Second) {
			t.Errorf("resend %d came %v after the last, which had waited %v", i, is, was)
		}
	}
}

// T19: a packet that a limit refuses is not acknowledged, so it comes again: with tiny limits
// and a slow reader everything is delivered all the same, once and in order.
func TestWhatALimitRefusesComesAgain(t *testing.T) {
	t.Parallel()
	refused := uint64(0)
	shared := &Shared{Rand: rand.New(rand.NewPCG(1, 2))}
	for seed := range uint64(promise.Keeps(t, "T19", "stamp", kit.Rounds(10_000, 100_000))) {
		rng := rand.New(rand.NewPCG(seed, 9))
		cfg := Config{receiving: reliable.ReceiveConfig{MaxReady: 40 + rng.IntN(100), MaxHeld: 40 + rng.IntN(100)}}
		d := newDuoOf(t, shared, cfg)
		const packets = 12
		for i := range packets {
			mode := Reliable
			if i%3 == 0 {
				mode = Ordered
			}
			if err := d.s.Send(d.now, mode, []byte{byte(mode), byte(i), 2: 0, 20: 0}); err != nil {
				t.Fatal(err)
			}
		}
		var got []byte
		for turns := 0; len(got) < packets; turns++ {
			if turns > 2000 {
				t.Fatalf("seed=%d: only %x came", seed, got)
			}
			d.now = d.now.Add(5 * time.Millisecond)
			for _, b := range d.toC {
				if rng.IntN(10) > 0 {
					d.c.HandleDatagram(d.now, serverAddr, b)
				}
			}
			for _, b := range d.toS {
				d.s.HandleDatagram(d.now, clientAddr, b)
			}
			d.toC, d.toS = d.toC[:0], d.toS[:0]
			d.wake()
			if rng.IntN(4) == 0 {
				if ev, ok := d.c.PollEvent(); ok && ev.Kind == EventEntity {
					got = append(got, ev.Data[1])
				}
			}
			d.toS, d.toC = d.drain(d.c, d.toS), d.drain(d.s, d.toC)
		}
		once, order := [packets]bool{}, -1
		for _, i := range got {
			if once[i] || i%3 == 0 && int(i) != order+3 && order != -1 {
				t.Fatalf("seed=%d: %x came", seed, got)
			}
			if once[i] = true; i%3 == 0 {
				order = int(i)
			}
		}
		refused += d.c.Stats().Reliable.Refused
		d.check()
		d.s.end(Close{Reason: ReasonClosed})
		d.c.end(Close{Reason: ReasonClosed})
		d.poll()
	}
	if refused == 0 {
		t.Error("no limit was ever reached")
	}
}

// "at least one of any 2,048 consecutive numbers is a reliable packet", also when the
// application sends unreliable ones only, and faster than the keep-alive comes.
func TestUnreliablePacketsAloneNeverUseUpTheNumbers(t *testing.T) {
	w := newWorld(t, 1, Config{}, simnet.Profile{Delay: 5 * time.Millisecond, Loss: .05})
	x := w.open(0, Config{})
	newest, most, refused := uint64(0), uint64(0), 0
	turns := max(kit.Rounds(2000, 20_000), 200)
	for range turns {
		w.mux.Advance(w.Now())
		for range 50 {
			if x.conn().Send(Unreliable, []byte("x")) != nil {
				refused++
			}
			most = max(most, x.conn().endpoint.sender.SinceReliable())
		}
		w.server.Poke()
		w.Pass(5 * time.Millisecond)
		newest = x.near
	}
	if most >= 2048 || most < 1000 || refused > 0 || newest < uint64(turns)*50 {
		t.Errorf("%d unreliable packets in a row, %d refused, the newest is %d", most, refused, newest)
	}
	if x.State() != StateOpen {
		t.Errorf("the client is %v", x.State())
	}
}

// The newest unreliable packets are kept when the socket is behind.
func TestUnreliablePacketsThatWaitAreBounded(t *testing.T) {
	d := newDuo(t, 1, Config{})
	for i := range 1000 {
		if err := d.s.Send(d.now, Unreliable, []byte{byte(i >> 8), byte(i), 999: 0}); err != nil {
			t.Fatal(err)
		}
	}
	if d.s.loose.Held() > maxLooseBytes {
		t.Errorf("%d bytes wait", d.s.loose.Held())
	}
	d.poll()
	d.turn(0)
	n := len(d.events)
	if n == 0 || d.s.Stats().LooseLost != uint64(1000-n) {
		t.Fatalf("%d came and %d were dropped", n, d.s.Stats().LooseLost)
	}
	if last := d.events[n-1].Data; last[0] != 999>>8 || last[1] != 999&255 {
		t.Errorf("the last that came is %x", last[:2])
	}
}

// What a limit refuses is a sign of life all the same.
func TestAServerThatIsRefusedIsNotLost(t *testing.T) {
	d := newDuo(t, 1, Config{receiving: reliable.ReceiveConfig{MaxReady: 20}})
	for range 15 {
		d.toClient(Packet{Kind: KindEntity, Reliable: true, Sequence: uint16(d.c.near + 1), Time: d.time(), Data: []byte("x")})
		d.now = d.now.Add(time.Second)
		d.c.HandleTimeout(d.now)
	}
	if d.c.State() != StateOpen || d.c.Stats().Reliable.Refused < 10 {
		t.Errorf("%v after %d were refused", d.c.State(), d.c.Stats().Reliable.Refused)
	}
}

// Nothing that waits grows without end: ordered packets for their turn, answers for the
// socket, skips for somebody who asks for events.
func TestWhatWaitsIsBounded(t *testing.T) {
	d := newDuo(t, 1, Config{})
	sent := 0
	for ; d.s.Send(d.now, Ordered, make([]byte, 1000)) == nil; sent++ {
	}
	if sent*1000 < maxOrderedBytes*3/4 || d.s.ordered.Held() > maxOrderedBytes {
		t.Errorf("%d ordered packets were taken, %d bytes wait", sent, d.s.ordered.Held())
	}

	d = newDuo(t, 1, Config{})
	for range 1000 {
		d.toServer(Packet{Kind: KindDisconnect, Sequence: 1, Time: d.time()})
	}
	if n := d.s.control.Len(); n != maxControl || d.s.Stats().ControlOut != 1000-maxControl {
		t.Errorf("%d answers wait, %d were dropped", n, d.s.Stats().ControlOut)
	}

	d = newDuo(t, 1, Config{})
	newest := uint16(d.c.near + 8000)
	skip := Packet{Kind: KindEntity, Reliable: true, Ordered: true, Time: d.time(), Sequence: newest, Data: []byte("x")}
	d.toClient(skip)
	d.now = d.now.Add(time.Second)
	d.c.HandleTimeout(d.now) // it waited long enough; what comes before it now is skipped
	for i := range uint16(6000) {
		skip.Sequence = newest - 1 - i
		d.toClient(skip)
	}
	if n := d.c.told.Len(); n != maxTold || d.c.Stats().Untold != 6000-maxTold {
		t.Errorf("%d skips wait to be told, %d are not", n, d.c.Stats().Untold)
	}

	m := NewMux(duoStart, Config{}, newShared(1), kit.Key(1))
	in := (&Packet{Kind: KindInit}).AppendTo(FromClient, nil)
	for range 5000 {
		m.HandleDatagram(duoStart, clientAddr, in)
	}
	if n, s := m.replies.Len(), m.Stats(); n != roster.MaxReplies || s.Unsent != 5000-roster.MaxReplies || s.Check() != nil {
		t.Errorf("%d replies wait, %d were dropped", n, s.Unsent)
	}
}
