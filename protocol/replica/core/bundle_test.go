package core

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/simnet"
)

// bundleOf returns a bundle of packets.
func bundleOf(packets ...[]byte) []byte {
	p := Packet{Kind: KindBundle}
	for _, b := range packets {
		p.Bundle.Add(b)
	}
	return p.AppendTo(nil)
}

// agreed returns a client and its server that have agreed on bundles, with nothing on its way.
func agreed(t testing.TB, seed uint64) (*world, *client, *Conn) {
	w, x, c := connected(t, seed, Config{}, kit.Lan())
	w.Pass(100 * time.Millisecond)
	const all = bundlesTold | bundlesKnown | bundlesHeard
	if x.bundles != all || c.endpoint.bundles != all {
		t.Fatalf("the client has %03b, the server %03b", x.bundles, c.endpoint.bundles)
	}
	return w, x, c
}

// message is a reliable message of the client with a number that is so far ahead.
func (x *client) message(ahead int) []byte {
	p := Packet{Kind: KindMessage, Reliable: true, Sequence: uint16(x.sender.Next()) + uint16(ahead), Time: x.ServerTime(x.w.Now()), Name: []byte("m")}
	return p.AppendTo(nil)
}

// Two of our own agree, whatever is lost on the way, and their applications see nothing of it. One that is foreign, or wants
// no bundles, is told nothing, or has told nothing.
func TestPeersAgreeOnBundles(t *testing.T) {
	const all = bundlesTold | bundlesKnown | bundlesHeard
	for _, tt := range []struct {
		client, server         Config
		wantClient, wantServer bundling
	}{
		{Config{}, Config{}, all, all},
		{Config{Foreign: true}, Config{}, 0, 0},
		{Config{}, Config{Foreign: true}, 0, 0},
		{Config{NoBundles: true}, Config{}, 0, bundlesTold | bundlesKnown},
		{Config{}, Config{NoBundles: true}, bundlesTold | bundlesKnown, 0},
	} {
		kit.Seeds(t, 50, func(t *testing.T, seed uint64) {
			w := newWorld(t, seed, tt.server, simnet.Profile{Delay: 20 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: .1})
			x := w.dial(0, tt.client)
			w.Until("connected", 20*time.Second, func() bool { return x.State() == StateOpen && w.conn(x) != nil })
			w.Until("agreed", 30*time.Second, func() bool { return x.bundles == tt.wantClient && w.conn(x).endpoint.bundles == tt.wantServer })
			w.Pass(2 * time.Second)
			if x.bundles != tt.wantClient || w.conn(x).endpoint.bundles != tt.wantServer {
				t.Errorf("the client has %03b, the server %03b", x.bundles, w.conn(x).endpoint.bundles)
			}
			if !slices.Equal(x.events, []string{"connected"}) || !slices.Equal(w.Log, []string{"connected"}) {
				t.Errorf("the client saw %v, the server %v", x.events, w.Log)
			}
		})
	}
}

// An application cannot say it for us.
func TestTheNameOfBundlesIsOurs(t *testing.T) {
	w, x, _ := agreed(t, 1)
	if err := x.Send(w.Now(), Reliable, bundlesName, nil); err != ErrName {
		t.Errorf("Send: %v", err)
	}
	if err := x.SendReserved(w.Now(), Reliable, bundlesName, nil); err != ErrName {
		t.Errorf("SendReserved: %v", err)
	}
}

// An agreement is heard although the application does not read.
func TestAnAgreementIsNotTheApplicationsToRead(t *testing.T) {
	w := newWorld(t, 2, Config{}, kit.Lan())
	x := NewClient(w.Now(), serverAddr, Config{}, newShared(2))
	w.Add(clientAddr, x)
	w.Until("agreed", time.Second, func() bool { return x.bundles == bundlesTold|bundlesKnown|bundlesHeard })
}

// "From a peer that has not said it, from an unproven address and from a stranger, types 7 and 8 are what any undefined type
// is." For the last two, the tables of states have rows.
func TestBundlesOfWhoHasNotAgreedAreMalformed(t *testing.T) {
	for _, cfg := range []Config{{NoBundles: true}, {Foreign: true}} {
		w, x, c := connected(t, 3, cfg, kit.Lan())
		w.Pass(100 * time.Millisecond)
		for i, b := range [][]byte{bundleOf(x.message(0)), bundleOf(x.message(0), x.message(1)), appendAckRun(nil, 1, 1)} {
			before := c.Stats()
			w.mux.HandleDatagram(w.Now(), x.host.Addr(), b)
			before.In++
			before.Malformed++
			if got := c.Stats(); got != before || c.endpoint.State() != StateOpen {
				t.Errorf("%d: got %+v, want %+v", i, got, before)
			}
		}
	}
}

// A bundle is what its packets are one by one.
func TestABundleIsItsPackets(t *testing.T) {
	w, x, c := agreed(t, 4)
	var got []string
	w.onEvent = func(_ time.Time, _ *Conn, ev Event) {
		got = append(got, fmt.Sprint(ev.Kind, ev.Number-c.endpoint.near))
	}
	if err := c.Send(Reliable, "from the server", nil); err != nil {
		t.Fatal(err)
	}
	for _, _, ok := w.mux.PollTransmit(make([]byte, 2048)); ok; _, _, ok = w.mux.PollTransmit(make([]byte, 2048)) {
	}
	sent := uint16(c.endpoint.sender.Next() - 1)
	before := c.Stats()
	packets := [][]byte{x.message(1), appendAckRun(nil, sent, 1), x.message(0), x.message(1), appendAck(nil, sent)}
	w.mux.HandleDatagram(w.Now(), x.host.Addr(), bundleOf(packets...))
	w.server.Poke()
	w.Pass(time.Millisecond)
	s := c.Stats()
	if len(got) != 2 || s.In-before.In != uint64(len(packets)) || s.Malformed != 0 ||
		s.Reliable.AcksNew-before.Reliable.AcksNew != 1 || s.Reliable.AcksRepeat-before.Reliable.AcksRepeat != 1 ||
		s.Reliable.Repeat-before.Reliable.Repeat != 1 || s.Reliable.AcksOut-before.Reliable.AcksOut != 3 {
		t.Errorf("%v, %+v", got, s)
	}
}

// "It is parsed whole, inner packets too, before any of it is handled; a malformed one is dropped whole and counted once."
func TestAMalformedBundleIsDroppedWhole(t *testing.T) {
	w, x, c := agreed(t, 5)
	good := func() [][]byte { return [][]byte{x.message(0), x.message(1)} }
	for name, b := range map[string][]byte{
		"a bundle within":       bundleOf(append(good(), bundleOf(x.message(2)))...),
		"a connect packet":      bundleOf(append(good(), (&Packet{Kind: KindInit}).AppendTo(nil))...),
		"a disconnect":          bundleOf(append(good(), (&Packet{Kind: KindDisconnect, Sequence: 9}).AppendTo(nil))...),
		"a server's packet":     bundleOf(append(good(), (&Packet{Kind: KindSyncInit}).AppendTo(nil))...),
		"an unknown type":       bundleOf(append(good(), []byte{9, 0, 0})...),
		"65 packets":            bundleOf(slices.Repeat([][]byte{x.message(0)}, 65)...),
		"a size past the end":   bundleOf(good()...)[:30],
		"half a size":           append(bundleOf(good()...), 3),
		"a size of 0":           append(bundleOf(good()...), 0, 0),
		"a size of 2":           append(bundleOf(good()...), 2, 0, 3, 0),
		"1,025 acks":            bundleOf(append(good(), appendAckRun(nil, 0, 1024), appendAck(nil, 0))...),
		"a run of 1,025":        bundleOf(append(good(), appendAckRun(nil, 0, 1025))...),
		"a run of none":         bundleOf(append(good(), appendAckRun(nil, 0, 0))...),
		"nothing":               {byte(TypeBundle)},
		"a lone run of 1,025":   appendAckRun(nil, 0, 1025),
		"a message and a byte":  bundleOf(append(good(), append(x.message(2), 0))...),
		"a message cut short":   bundleOf(append(good(), x.message(2)[:14])...),
		"an ordered replicate":  bundleOf(append(good(), []byte{5, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})...),
		"a name that is not so": bundleOf(append(good(), []byte{6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0})...),
	} {
		before, waiting := c.Stats(), c.endpoint.receiver.Waiting()
		w.mux.HandleDatagram(w.Now(), x.host.Addr(), b)
		before.In++
		before.Malformed++
		if got := c.Stats(); got != before || c.endpoint.receiver.Waiting() != waiting || c.endpoint.State() != StateOpen {
			t.Errorf("%s: got %+v, want %+v", name, got, before)
		}
	}
}

// T12, T13: runs of acks of numbers that were never sent, or never reliable, change nothing.
func TestRunsOfLies(t *testing.T) {
	w, x, c := agreed(t, 6)
	if err := c.Send(Reliable, "m", nil); err != nil {
		t.Fatal(err)
	}
	for _, _, ok := w.mux.PollTransmit(make([]byte, 2048)); ok; _, _, ok = w.mux.PollTransmit(make([]byte, 2048)) {
	}
	next, heard, rtt := c.endpoint.sender.Next(), c.endpoint.heard, c.RTT()
	now := w.Now().Add(time.Second)
	for first := next; first < next+60_000; first += 1000 {
		w.mux.HandleDatagram(now, x.host.Addr(), appendAckRun(nil, uint16(first), 1000))
		if c.endpoint.sender.InFlight(0) != 1 || c.endpoint.heard != heard {
			t.Fatalf("a run from %d changed what is in flight, or is a sign of life", uint16(first))
		}
	}
	w.mux.HandleDatagram(now, x.host.Addr(), appendAckRun(nil, uint16(next-10), 9))
	if c.endpoint.sender.InFlight(0) != 1 || c.RTT() != rtt {
		t.Errorf("acks that came before: %d in flight, round trip %v, was %v", c.endpoint.sender.InFlight(0), c.RTT(), rtt)
	}
	w.mux.HandleDatagram(now, x.host.Addr(), appendAckRun(nil, uint16(next-3), MaxAcked))
	if c.endpoint.sender.InFlight(0) != 0 {
		t.Error("the true ack among lies does not count")
	}
	if err := c.endpoint.sender.Check(); err != nil {
		t.Error(err)
	}
}

// A goodbye is acknowledged by a run as by an ack.
func TestARunAcknowledgesAGoodbye(t *testing.T) {
	w, x, c := agreed(t, 7)
	c.Close("bye")
	if c.endpoint.State() != StateClosing {
		t.Fatal(c.endpoint.State())
	}
	sequence := c.endpoint.ending.sequence
	w.mux.HandleDatagram(w.Now(), x.host.Addr(), appendAckRun(nil, sequence+1, 1024))
	if c.endpoint.State() != StateClosing {
		t.Fatal("a run that does not have it ends the connection")
	}
	w.mux.HandleDatagram(w.Now(), x.host.Addr(), appendAckRun(nil, sequence-3, 4))
	if c.endpoint.State() != StateClosed {
		t.Error(c.endpoint.State())
	}
}

// T41: what one datagram can make us send, and keep, is bounded by its size: acks of its packets, which are smaller.
func TestABundleIsNotAmplified(t *testing.T) {
	w, x, c := agreed(t, 8)
	w.onEvent = func(_ time.Time, _ *Conn, _ Event) {}
	for _, step := range []int{1, 2, 3} { // numbers in a row, and not
		var packets [][]byte
		for i := range MaxBundled {
			packets = append(packets, x.message(step*1000+i*step))
		}
		b := bundleOf(packets...)
		if len(b) > maxPacketBytes {
			t.Fatalf("the bundle has %d bytes", len(b))
		}
		before := c.Stats()
		w.mux.HandleDatagram(w.Now(), x.host.Addr(), b)
		out, datagrams, buf := 0, 0, make([]byte, 2048)
		for n, _, ok := w.mux.PollTransmit(buf); ok; n, _, ok = w.mux.PollTransmit(buf) {
			out += n
			datagrams++
		}
		if s := c.Stats().Reliable; s.AcksOut-before.Reliable.AcksOut != MaxBundled || out > len(b) {
			t.Errorf("%d bytes bring %d acks in %d datagrams of %d bytes", len(b), s.AcksOut-before.Reliable.AcksOut, datagrams, out)
		}
		w.Pass(10 * time.Millisecond)
	}
}

// BenchmarkWorstBundles is what one datagram of 1,200 bytes costs us.
func BenchmarkWorstBundles(b *testing.B) {
	fill := func(packet []byte, from int) []byte {
		return bundleOf(slices.Repeat([][]byte{packet}, min(MaxBundled, from/(bundledHead+len(packet))))...)
	}
	table := Packet{Kind: KindLinkTable, Reliable: true, Ordered: true}
	var w TableWriter
	w.Start(nil, &table, maxPacketBytes-3)
	for i := uint16(0); w.Variable(i, DataInt, ""); i++ {
	}
	for name, datagram := range map[string][]byte{
		"1,024 acks of the past":      appendAckRun(nil, 60_000, 1024),
		"1,024 acks of the future":    appendAckRun(nil, 10_000, 1024),
		"1,024 acks, the window full": appendAckRun(nil, 0, 1024),
		"64 acks":                     fill(appendAck(nil, 60_000), maxPacketBytes),
		"64 messages":                 nil,
		"64 messages of old":          fill((&Packet{Kind: KindMessage, Reliable: true, Sequence: 60_000}).AppendTo(nil), maxPacketBytes),
		"a table":                     bundleOf(w.Bytes()),
		"64 packets, the last bad":    append(fill(appendAck(nil, 1), maxPacketBytes-2)[:63*5+1], 3, 0, 9, 0, 0),
	} {
		b.Run(name, func(b *testing.B) {
			world, x, c := agreed(b, 9)
			now, buf := world.Now(), make([]byte, 2048)
			from := x.host.Addr()
			b.ReportAllocs()
			n := 0
			for name == "1,024 acks, the window full" && c.Send(Reliable, "m", nil) == nil {
				world.mux.PollTransmit(buf)
				datagram = appendAckRun(nil, uint16(c.endpoint.sender.Next()-1024), 1024)
			}
			for b.Loop() {
				d := datagram
				if d == nil {
					b.StopTimer()
					var packets [][]byte
					for i := range MaxBundled {
						packets = append(packets, x.message(n+i))
					}
					n += MaxBundled
					d = bundleOf(packets...)
					b.StartTimer()
				}
				world.mux.HandleDatagram(now, from, d)
				for _, _, ok := world.mux.PollEvent(); ok; _, _, ok = world.mux.PollEvent() {
				}
				for _, _, ok := world.mux.PollTransmit(buf); ok; _, _, ok = world.mux.PollTransmit(buf) {
				}
				c.endpoint.malformed.count = 0
			}
		})
	}
}
