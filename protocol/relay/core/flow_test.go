package core

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/simnet"
)

var calm = simnet.Profile{Delay: 10 * time.Millisecond}

// Reliable packages go out at once, and are resent after the measured round trip but "not before
// 120 ms"; after 220 ms "while no round trip is known"; always after a fixed delay if the rules
// say so.
func TestResendDelays(t *testing.T) {
	for _, tt := range []struct {
		name     string
		rules    Rules
		delay    time.Duration // of the link
		measured bool
		want     time.Duration
	}{
		{"unknown", Rules{}, 10 * time.Millisecond, false, 220 * time.Millisecond},
		{"a short round trip", Rules{}, 10 * time.Millisecond, true, 120 * time.Millisecond},
		{"a long round trip", Rules{}, 300 * time.Millisecond, true, 620 * time.Millisecond},
		{"a fixed delay, unknown", Rules{ResendAfter: 220 * time.Millisecond}, 10 * time.Millisecond, false, 220 * time.Millisecond},
		{"a fixed delay, measured", Rules{ResendAfter: 220 * time.Millisecond}, 10 * time.Millisecond, true, 220 * time.Millisecond},
		{"a fixed delay, below what is measured", Rules{ResendAfter: 220 * time.Millisecond}, 300 * time.Millisecond, true, 220 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDuo(t, 1, tt.rules, 0, simnet.Profile{Delay: tt.delay})
			for range 60 {
				if !tt.measured {
					break
				}
				_ = d.send(0, Unordered, "x")
				d.run(time.Second)
			}
			d.net.Partition(d.hosts[0], d.hosts[1], false)
			d.run(time.Second)
			var at []time.Duration
			begin := d.net.Now()
			d.net.Filter(func(p simnet.Packet) simnet.Verdict {
				if p.Bytes[0]&flagControl == 0 && len(p.Bytes) > HeaderBytes {
					at = append(at, d.net.Now().Sub(begin))
				}
				return simnet.Verdict{}
			})
			_ = d.send(0, SemiOrdered, "y")
			d.run(3 * time.Second)
			if len(at) < 3 || at[0] != 0 {
				t.Fatalf("sent at %v", at)
			}
			got, slack := at[1], 10*time.Millisecond
			if got < tt.want-slack || got > tt.want+slack+tt.want/10 {
				t.Errorf("resent after %v, want %v", got, tt.want)
			}
			if again := at[2] - at[1]; again < 2*got-time.Millisecond || again > 2*got+got/4+time.Millisecond {
				t.Errorf("and then after %v, want twice %v and some jitter", again, got)
			}
		})
	}
}

// A client joins, answers the challenge, says that it leaves when all is confirmed, and is told.
func TestAClientsLife(t *testing.T) {
	h := newHall(t, Config{})
	c, err := NewClient(start, duoServer, Config{}, newShared(3))
	if err != nil {
		t.Fatal(err)
	}
	from := addr(5)
	if err := c.Send(start, Unordered, ToOthers, []byte("x")); err != ErrNotJoined {
		t.Errorf("before it has joined: %v", err)
	}
	if told := converse(h, c, from, 100*time.Millisecond); c.State() != StateOpen || fmt.Sprint(told) != "[joined]" || !h.mux.First().Peer(from).Proven() {
		t.Fatalf("%v, told %v, proven %t", c.State(), told, h.mux.First().Peer(from).Proven())
	}
	h.wantTold("203.0.0.5 joined")
	for i := range 3 {
		if err := c.Send(h.now, SemiOrdered, ToServer, []byte{byte('a' + i)}); err != nil {
			t.Fatal(err)
		}
	}
	c.Close(h.now, "enough")
	if err := c.Send(h.now, SemiOrdered, ToServer, []byte("x")); err != ErrClosed || c.State() != StateLeaving {
		t.Errorf("after Close: %v, %v", err, c.State())
	}
	told := converse(h, c, from, time.Second)
	h.wantTold(`203.0.0.5 semi-ordered "a"`, `203.0.0.5 semi-ordered "b"`, `203.0.0.5 semi-ordered "c"`, "203.0.0.5 left: peer left")
	why, over := c.Over()
	if c.State() != StateClosed || !over || why.(Close) != (Close{ReasonClosed, "enough"}) || len(told) != 1 {
		t.Errorf("%v, %v, told %v", c.State(), why, told)
	}
	if st := c.Stats(); st.Check() != nil || st.Reliable.Abandoned > 0 {
		t.Errorf("stats %+v, %v", st, st.Check())
	}
}

// Who leaves and hears nothing says so three times, and is gone then.
func TestLeavingIsSaidThreeTimes(t *testing.T) {
	d := newDuo(t, 1, Rules{}, 0, calm)
	d.ends[0].anyLoose = false
	n := 0
	d.net.Filter(func(p simnet.Packet) simnet.Verdict {
		if p.From == d.hosts[0] {
			n++
		}
		return simnet.Verdict{Drop: true}
	})
	d.ends[0].Close(d.hosts[0].Now(), "")
	d.hosts[0].Poke()
	d.run(5 * time.Second)
	if n != leaveSends || d.left[0] == nil || d.left[0].Reason != ReasonClosed {
		t.Errorf("said %d times, %v", n, d.left[0])
	}
}

// A server that has restarted takes an old client for a newcomer: the client notices by the
// challenge, and does not go on counting from where the new server does not.
func TestAClientNoticesThatItIsTakenForANewcomer(t *testing.T) {
	c := newEndpoint(start, duoServer, true, Rules{}.fill(), newShared(1), 0)
	challenge := func(nonce byte) []byte { return pack(Unordered, true, 0, "\xff1234567"+string(nonce)) }
	c.handle(start, challenge('a'))
	for range 3 {
		c.handle(start, challenge('a')) // repeats
	}
	c.handle(start, pack(SemiOrdered, true, 1, "x"))
	if c.state != StateOpen {
		t.Fatalf("%v after repeats", c.state)
	}
	c.handle(start, challenge('b'))
	if c.state != StateClosed || c.closing.close.Reason != ReasonRemoved {
		t.Errorf("%v after another challenge", c.state)
	}
	// Far beyond the first ids it is the same.
	c = newEndpoint(start, duoServer, true, Rules{}.fill(), newShared(1), 5_000_000)
	if c.handle(start, challenge('b')); c.state != StateClosed {
		t.Errorf("%v with ids far off", c.state)
	}
}

// Messages that share a package come in order, in as few packages as fit, and no later than the delay.
func TestQueuedMessagesShareAPackage(t *testing.T) {
	d := newDuo(t, 1, Rules{}, 0, calm)
	d.ends[0].seldom().queue.delay = 10 * time.Millisecond
	for i := range 130 {
		if err := d.ends[0].Queue(d.hosts[0].Now(), SemiOrdered, ToServer, []byte(number(i))); err != nil {
			t.Fatal(err)
		}
	}
	d.hosts[0].Poke()
	d.run(9*time.Millisecond + 10*time.Millisecond)
	if len(d.got[1]) != 1 || len(d.got[1][0].Payload) != MaxPayload {
		t.Fatalf("%d packages before the delay, want the full one", len(d.got[1]))
	}
	d.run(time.Millisecond)
	if len(d.got[1]) != 2 || len(d.got[1][1].Payload) != 130*4-MaxPayload {
		t.Fatalf("%d packages after it", len(d.got[1]))
	}
	all := string(d.got[1][0].Payload) + string(d.got[1][1].Payload)
	for i := range 130 {
		if numberOf([]byte(all[4*i:])) != i {
			t.Fatalf("message %d is out of order", i)
		}
	}
	for _, err := range []error{
		d.ends[0].Queue(d.hosts[0].Now(), 3, ToServer, []byte("x")),
		d.ends[0].Queue(d.hosts[0].Now(), Unordered, ToServer, nil),
		d.ends[0].Queue(d.hosts[0].Now(), Unordered, ToServer, make([]byte, MaxPayload+1)),
	} {
		if err == nil {
			t.Error("a mistake was taken")
		}
	}
	_ = d.ends[0].Queue(d.hosts[0].Now(), Unreliable, ToOthers, []byte("last"))
	d.ends[0].Close(d.hosts[0].Now(), "")
	d.hosts[0].Poke()
	d.run(50 * time.Millisecond)
	if n := len(d.got[1]); n != 3 || string(d.got[1][2].Payload) != "last" {
		t.Errorf("what was queued before Close did not arrive: %d packages", n)
	}
}

// T11: an application that does not read for 6 s costs a bounded memory, and the sender is told
// that its backlog is full; when it reads again all arrives. (Longer than that a peer that confirms
// nothing has left: TestAStalledReaderIsLost.)
func TestAStalledReader(t *testing.T) {
	promise.Keeps(t, "T11", "relay", 1)
	d := newDuo(t, 1, Rules{Timeout: 2 * time.Minute, HoleTimeout: 2 * time.Minute}, 0, calm)
	d.paused[1] = true
	sent, full := []Mode(nil), 0
	for range 600 {
		for range 20 {
			switch err := d.send(0, SemiOrdered, number(len(sent))+strings.Repeat("x", 100)); err {
			case nil:
				sent = append(sent, SemiOrdered)
			case ErrBacklogFull:
				full++
			default:
				t.Fatalf("after %v: %v", d.net.Elapsed(), err)
			}
		}
		if held := d.ends[1].receiver.Waiting() * 128; held > maxReadyBytes+maxHeldBytes {
			t.Fatalf("%d bytes wait", held)
		}
		if int(d.ends[0].backlog.held) > d.ends[0].rules.MaxBacklog || d.ends[0].sender.InFlight(0) > maxOutstanding {
			t.Fatalf("%d bytes and %d ids", d.ends[0].backlog.held, d.ends[0].sender.InFlight(0))
		}
		d.run(10 * time.Millisecond)
	}
	if full == 0 {
		t.Error("the backlog was never full")
	}
	d.paused[1] = false
	d.hosts[1].Poke()
	d.settle()
	if err := law(d.got[1], sent, true); err != nil {
		t.Error(err)
	}
}

// T11: a reader that is stalled for a minute is taken for lost, in bounded time and memory.
func TestAStalledReaderIsLost(t *testing.T) {
	promise.Keeps(t, "T11", "relay", 1)
	d := newDuo(t, 1, Rules{}, 0, calm)
	d.paused[1] = true
	for range 6000 {
		if d.send(0, Unordered, strings.Repeat("x", 300)) == ErrClosed {
			break
		}
		d.run(10 * time.Millisecond)
	}
	if d.left[0] == nil || d.left[0].Reason != ReasonUnconfirmed || d.net.Elapsed() > 20*time.Second {
		t.Errorf("after %v: %v", d.net.Elapsed(), d.left[0])
	}
	if n := d.ends[1].receiver.Waiting(); n > maxReadyBytes/300 {
		t.Errorf("%d packages wait", n)
	}
}

// T11: a peer that elicits confirmations and never lets us send them, and one that sends tiny
// held packages without end, cost a bounded memory.
func TestWhatAPeerCanMakeUsHold(t *testing.T) {
	promise.Keeps(t, "T11", "relay", 1)
	e := newEndpoint(start, duoClient, false, Rules{}.fill(), newShared(1), 0)
	for id := range uint32(200_000) {
		e.handle(start, pack(SemiOrdered, true, (id+1)&MaxID, "")) // 0 is missing
		e.handle(start, pack(SemiOrdered, false, (id+1)&MaxID, "x"))
	}
	if n := e.receiver.Waiting(); n > maxHeldBytes/waitingBytes {
		t.Errorf("%d packages wait", n)
	}
	e = newEndpoint(start, duoClient, false, Rules{}.fill(), newShared(1), 0)
	for id := range uint32(200_000) {
		e.handle(start, pack(Unordered, true, id&MaxID, "x"))
		e.handle(start, pack(Unreliable, true, id&MaxID, "x"))
	}
	if n := e.receiver.Waiting(); n > maxReadyBytes/waitingBytes || e.looseIn.Held() > maxLooseBytes+MaxDatagram*2 {
		t.Errorf("%d packages and %d bytes wait", n, e.looseIn.Held())
	}
	if st := e.Stats(); st.Check() != nil || st.LooseUnread == 0 || st.Reliable.Refused == 0 {
		t.Errorf("stats %+v: %v", st, st.Check())
	}
}

// T12, T13: confirmations of all sorts of numbers take bounded time, and change nothing for what was
// never sent: it is counted and is no sign of life.
func TestConfirmationBombs(t *testing.T) {
	rng := kit.Rand(t)
	e := newEndpoint(start, duoClient, false, Rules{}.fill(), newShared(1), 0)
	var buf [MaxDatagram]byte
	for range 500 {
		_ = e.sendCopy(start, Unordered, true, []byte("x"))
	}
	sent := 0
	for _, _, ok := e.PollTransmit(buf[:]); ok; _, _, ok = e.PollTransmit(buf[:]) {
		sent++
	}
	now := start
	for i := range promise.Keeps(t, "T12 T13", "relay", kit.Rounds(100_000, 1_000_000)) {
		now = now.Add(10 * time.Microsecond)
		ids := make([]uint32, 168)
		for k := range ids {
			ids[k] = uint32(sent) + uint32(rng.IntN(1<<23-2*sent)) // half of the space is ahead
		}
		if i%2 == 0 {
			for k := range ids {
				ids[k] = ids[0] + uint32(k)
			}
		}
		e.handle(now, confirmOf(ids...))
	}
	st := e.Stats()
	if st.Reliable.AcksNew != 0 || e.Unconfirmed() != 500 || st.Reliable.AcksUnsent != st.Reliable.AcksIn || e.heard != start {
		t.Errorf("lies had an effect: %+v", st)
	}
	for range 1000 {
		e.handle(now, confirmOf(0, 0, 0, 1, 2, 1, 3))
	}
	if st := e.Stats(); st.Reliable.AcksNew != 4 || e.Unconfirmed() != 496 {
		t.Errorf("the truth had another effect: %+v", st)
	}
}

// T14: in 30 s of blackout with a full window, each package is resent six times at most, and the end
// comes when it should; the bytes are bounded by that.
func TestABlackoutIsNoStorm(t *testing.T) {
	promise.Keeps(t, "T14", "relay", 1)
	d := newDuo(t, 1, Rules{}, 0, calm)
	_ = d.send(0, Unordered, "hello")
	d.run(time.Second)
	d.net.Partition(d.hosts[0], d.hosts[1], false)
	bytes, begin := 0, d.net.Now()
	d.net.Filter(func(p simnet.Packet) simnet.Verdict {
		if p.From == d.hosts[0] {
			bytes += len(p.Bytes)
		}
		return simnet.Verdict{}
	})
	for d.send(0, Unordered, strings.Repeat("x", 200)) == nil {
	}
	window := d.ends[0].sender.InFlight(0) * 204
	d.until("it ends", 30*time.Second, func() bool { return d.left[0] != nil })
	took := d.net.Now().Sub(begin)
	if d.left[0].Reason != ReasonUnconfirmed || took < 5*time.Second || took > 10*time.Second {
		t.Errorf("%v after %v", d.left[0], took)
	}
	if bytes > 7*window {
		t.Errorf("%d bytes were sent of a window of %d", bytes, window)
	}
}

// T15: absurd confirmations do not poison the round trip.
func TestRoundTripPoison(t *testing.T) {
	rng := kit.Rand(t)
	e := newEndpoint(start, duoClient, false, Rules{}.fill(), newShared(1), 0)
	var buf [MaxDatagram]byte
	now := start
	for range promise.Keeps(t, "T15", "relay", kit.Rounds(100_000, 1_000_000)) {
		_ = e.sendCopy(now, Unordered, true, []byte("x"))
		for _, _, ok := e.PollTransmit(buf[:]); ok; _, _, ok = e.PollTransmit(buf[:]) {
		}
		switch rng.IntN(4) {
		case 0: // at once
		case 1:
			now = now.Add(-time.Duration(rng.IntN(1000)) * time.Millisecond)
		case 2:
			now = now.Add(time.Duration(rng.IntN(2000)) * time.Millisecond)
		}
		e.handle(now, confirmOf(uint32(e.sender.Next()-1-uint64(rng.IntN(3)))&MaxID))
		if rtt := e.RTT(); rtt != 0 && (rtt < time.Millisecond || rtt > 10*time.Second) {
			t.Fatalf("the round trip is %v", rtt)
		}
		if e.state == StateClosed {
			e = newEndpoint(now, duoClient, false, Rules{}.fill(), newShared(1), 0)
		}
	}
}

// T16: each datagram comes one to five times and in any order: the application sees each reliable
// package once, and the counters add up.
func TestRepeatsAndDisorder(t *testing.T) {
	rng := kit.Rand(t)
	d := newDuo(t, rng.Uint64(), Rules{}, 0, simnet.Profile{Delay: 5 * time.Millisecond, Jitter: 30 * time.Millisecond})
	d.net.Filter(func(p simnet.Packet) simnet.Verdict { return simnet.Verdict{Copies: rng.IntN(5)} })
	sent := d.talk(0, promise.Keeps(t, "T16", "relay", kit.Rounds(100_000, 1_000_000)), rng)
	d.settle()
	d.run(time.Second)
	if err := law(d.got[1], sent, true); err != nil {
		t.Fatal(err)
	}
	for i, e := range d.ends {
		st := e.Stats()
		if err := st.Check(); err != nil {
			t.Errorf("end %d: %v", i, err)
		}
		if i == 1 && st.Reliable.Repeat < st.Reliable.Delivered {
			t.Errorf("only %d repeats of %d", st.Reliable.Repeat, st.Reliable.Delivered)
		}
	}
}

// T19: with tiny limits, what is refused is not confirmed, and so comes again: nothing is lost.
func TestWhatIsRefusedIsNotConfirmed(t *testing.T) {
	seed := kit.Seed(t)
	for i := range uint64(promise.Keeps(t, "T19", "relay", kit.Rounds(10_000, 100_000))) {
		rng := rand.New(rand.NewPCG(seed+i, 7))
		rules := Rules{ConfirmAfter: -1}.fill()
		tiny := *rules
		recv := *rules.recv
		recv.MaxHeld, recv.MaxReady, recv.MaxHoles = waitingBytes*(1+rng.IntN(4)), waitingBytes*(1+rng.IntN(4)), 1+rng.IntN(4)
		tiny.recv = &recv
		d := newDuo(t, seed+i, tiny, 0, simnet.Profile{Delay: time.Millisecond, Jitter: 20 * time.Millisecond, Loss: 0.1})
		var sent []Mode
		for k := range 12 {
			sent = append(sent, Mode(1+rng.IntN(2)))
			_ = d.send(0, sent[k], number(k))
		}
		d.until("all is confirmed", 2*time.Minute, func() bool { return d.ends[0].Unconfirmed() == 0 || d.left[0] != nil })
		if err := law(d.got[1], sent, d.left[0] == nil); err != nil {
			t.Fatalf("seed=%d: %v", seed+i, err)
		}
	}
}

// T27: after its end an endpoint does nothing, whatever is asked of it, but confirm what it owes
// send the unreliable packages that were on their way, and say farewell.
func TestAfterTheEnd(t *testing.T) {
	seed := kit.Seed(t)
	for i := range uint64(promise.Keeps(t, "T27", "relay", kit.Rounds(10_000, 100_000))) {
		rng := rand.New(rand.NewPCG(seed+i, 27))
		e := newEndpoint(start, duoClient, rng.IntN(2) == 0, Rules{}.fill(), newShared(i), 0)
		var buf [MaxDatagram]byte
		for k := range rng.IntN(30) {
			_ = e.Send(start, Mode(rng.IntN(3)), ToOthers, []byte("out"))
			e.handle(start, pack(Mode(rng.IntN(3)), true, uint32(k), "in"))
			if rng.IntN(3) == 0 {
				e.PollTransmit(buf[:])
			}
		}
		e.Cut(start, Close{Reason: ReasonClosed})
		left, now := 0, start
		for range 100 {
			now = now.Add(time.Duration(rng.IntN(200)) * time.Millisecond)
			switch rng.IntN(6) {
			case 0:
				e.handle(now, pack(Mode(rng.IntN(3)), true, uint32(rng.IntN(50)), "late"))
			case 1:
				e.handle(now, confirmOf(uint32(rng.IntN(50))))
			case 2:
				e.HandleTimeout(now)
			case 3:
				if err := e.Send(now, Unordered, ToServer, []byte("x")); err != ErrClosed {
					t.Fatalf("seed=%d: Send: %v", seed+i, err)
				}
			case 4:
				e.Close(now, "again")
				e.Cut(now, Close{Reason: ReasonSlow})
			case 5:
				for n, _, ok := e.PollTransmit(buf[:]); ok; n, _, ok = e.PollTransmit(buf[:]) {
					if d := (Datagram{}); !d.Parse(buf[:n]) || d.Mode.Reliable() {
						t.Fatalf("seed=%d: sent %s", seed+i, spell(buf[:n]))
					}
				}
			}
			for ev, ok := e.PollEvent(); ok; ev, ok = e.PollEvent() {
				if left > 0 {
					t.Fatalf("seed=%d: %v after its end", seed+i, ev.Kind)
				}
				if ev.Kind == EventLeft {
					left++
				}
			}
			if at, ok := e.NextTimeout(); ok {
				t.Fatalf("seed=%d: a timeout at %v", seed+i, at)
			}
		}
		if left != 1 {
			t.Fatalf("seed=%d: it left %d times", seed+i, left)
		}
	}
}
