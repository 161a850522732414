package core

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/reliable"
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

// eachPacket parses a datagram into p and calls take, or calls it for each packet if the datagram is a bundle.
func eachPacket(p *Packet, from Side, b []byte, take func(b []byte)) {
	if !p.Parse(from, b) {
		return
	}
	if p.Kind != KindBundle {
		take(b)
		return
	}
	for packet, rest := cutBundled(p.Bundle.body); ; packet, rest = cutBundled(rest) {
		if p.Parse(from, packet) {
			take(packet)
		}
		if len(rest) == 0 {
			return
		}
	}
}

// holds reports whether a datagram has a packet of a kind, and returns the first.
func holds(from Side, b []byte, k Kind) (first Packet, ok bool) {
	var p Packet
	eachPacket(&p, from, b, func([]byte) {
		if p.Kind == k && !ok {
			first, ok = p, true
		}
	})
	return first, ok
}

// agreed returns a client and its server that have agreed on bundles, with nothing on its way.
func agreed(t testing.TB, seed uint64) (*world, *client, *Conn) {
	w, x, c := connected(t, seed, Config{sending: reliable.SendConfig{NoEarly: true}}, kit.Lan())
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

// datagrams returns what the server has to send now.
func (w *world) datagrams() (all [][]byte) {
	buf := make([]byte, 2048)
	for n, _, ok := w.mux.PollTransmit(buf); ok; n, _, ok = w.mux.PollTransmit(buf) {
		all = append(all, slices.Clone(buf[:n]))
	}
	return all
}

// "What is to leave at the same moment to the same peer leaves together".
func TestWhatLeavesTogetherIsOneDatagram(t *testing.T) {
	w, x, c := agreed(t, 10)
	for _, mode := range []Mode{Ordered, Reliable, Unreliable} {
		if err := c.Send(mode, "m", make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
	w.mux.HandleDatagram(w.Now(), x.host.Addr(), bundleOf(x.message(0), x.message(1), x.message(2), x.message(4)))
	c.endpoint.sendSyncInit(w.Now())
	got := w.datagrams()
	if len(got) != 1 {
		t.Fatalf("%d datagrams", len(got))
	}
	var p Packet
	var kinds []string
	eachPacket(&p, FromServer, got[0], func([]byte) { kinds = append(kinds, p.Kind.String()) })
	if want := []string{"sync.init", "ack.run", "ack", "message", "message", "message"}; !slices.Equal(kinds, want) {
		t.Errorf("got %v, want %v", kinds, want)
	}
}

// "Nothing waits for company: an idle sender's packet leaves at once and alone."
func TestALonePacketIsNoBundle(t *testing.T) {
	w, x, c := agreed(t, 11)
	if err := c.Send(Ordered, "m", nil); err != nil {
		t.Fatal(err)
	}
	if got := w.datagrams(); len(got) != 1 || typeOf(got[0]) != TypeMessage {
		t.Errorf("a message leaves as %x", got)
	}
	w.mux.HandleDatagram(w.Now(), x.host.Addr(), x.message(0))
	if got := w.datagrams(); len(got) != 1 || typeOf(got[0]) != TypeAck {
		t.Errorf("an ack leaves as %x", got)
	}
	w.mux.HandleDatagram(w.Now(), x.host.Addr(), bundleOf(x.message(1), x.message(2)))
	if got := w.datagrams(); len(got) != 1 || typeOf(got[0]) != TypeAckRun {
		t.Errorf("a run leaves as %x", got)
	}
}

// Under load as many messages leave together as fit: no datagram over 1,200 bytes, none with more than 64 packets, and none that could have
// taken the first packet of the next.
func TestDatagramsAreFilled(t *testing.T) {
	for _, size := range []int{0, 1, 20, 64, 300, 590, 600, 1100, 1184} {
		w, _, c := agreed(t, 12)
		n := 0
		for n < 100 && c.Send(Ordered, "", make([]byte, size)) == nil {
			n++
		}
		all := w.datagrams()
		least := min(MaxBundled, (maxPacketBytes-1)/(size+messageOverhead+bundledHead))
		if len(all) > (n+max(least, 1)-1)/max(least, 1) {
			t.Errorf("%d messages of %d bytes are in %d datagrams, where %d fit into one", n, size, len(all), least)
		}
		seen := 0
		for _, b := range all {
			var p Packet
			eachPacket(&p, FromServer, b, func([]byte) { seen++ })
			if len(b) > maxPacketBytes {
				t.Errorf("messages of %d bytes make a datagram of %d", size, len(b))
			}
		}
		if n < 12 || seen == 0 {
			t.Errorf("%d messages of %d bytes were sent, %d went out", n, size, seen)
		}
	}
}

// What waits while a connection is closed is not lost in a bundle, and a goodbye is alone.
func TestAGoodbyeIsInNoBundle(t *testing.T) {
	w, x, c := agreed(t, 13)
	w.mux.HandleDatagram(w.Now(), x.host.Addr(), bundleOf(x.message(0), x.message(1)))
	c.endpoint.Abort(w.Now(), "bye")
	kinds := map[Kind]int{}
	for _, b := range w.datagrams() {
		var p Packet
		if !p.Parse(FromServer, b) || p.Kind == KindBundle {
			t.Fatalf("%x", b)
		}
		kinds[p.Kind]++
	}
	if kinds[KindDisconnect] != 1 {
		t.Errorf("%v", kinds)
	}
}

// A copy's ack may wait for a datagram that leaves anyway, but not for long.
func TestTheAckOfACopyRidesAlong(t *testing.T) {
	w, x, c := agreed(t, 14)
	first := x.message(0)
	give := func(b []byte) { w.mux.HandleDatagram(w.Now(), x.host.Addr(), b) }
	give(first)
	if got := w.datagrams(); len(got) != 1 || typeOf(got[0]) != TypeAck {
		t.Fatalf("the ack of a message: %x", got)
	}
	give(first)
	if got := w.datagrams(); len(got) != 0 {
		t.Fatalf("the ack of its copy does not wait: %x", got)
	}
	if err := c.Send(Reliable, "m", nil); err != nil {
		t.Fatal(err)
	}
	if got := w.datagrams(); len(got) != 1 || typeOf(got[0]) != TypeBundle {
		t.Fatalf("the ack does not ride: %x", got)
	}
	give(first)
	w.datagrams()
	at, ok := c.endpoint.NextTimeout()
	if late := at.Sub(w.Now()); !ok || late <= 0 || late > 16*time.Millisecond {
		t.Fatalf("the ack of the next copy goes out after %v", late)
	}
	w.mux.HandleTimeout(at)
	if got := w.datagrams(); len(got) != 1 || typeOf(got[0]) != TypeAck {
		t.Errorf("the ack of the next copy: %x", got)
	}
}

// What is packed, taken and acknowledged costs no memory.
func TestBundlesAllocateNothing(t *testing.T) {
	r := newRush(t)
	data := make([]byte, 64)
	turn := func() {
		for range 30 {
			if r.client.Send(r.now, Ordered, "m", data) != nil || r.client.Send(r.now, Unreliable, "m", data) != nil {
				t.Fatal("refused")
			}
		}
		r.exchange()
	}
	for range 100 {
		turn()
	}
	if !r.client.mayBundle() {
		t.Fatal("they have not agreed")
	}
	if n := testing.AllocsPerRun(200, turn); n != 0 && !kit.Race {
		t.Errorf("%v allocations for 60 messages", n)
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
				c.endpoint.malformed = 0
			}
		})
	}
}
