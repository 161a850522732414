package core

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/simnet"
)

// room is a Mux alone, with players whose mains and feeds the test plays itself.
type room struct {
	t     testing.TB
	now   time.Time
	mux   *Mux
	next  uint16
	buf   [1 << 16]byte
	ended []Close
}

func newRoom(t testing.TB, c Config) *room {
	if c.Schema == nil {
		c.Schema = gameSchema
	}
	if c.WaitingPerAddress == 0 {
		c.WaitingPerAddress = -1 // most of its guests have one address
	}
	r := &room{t: t, now: stageStart}
	r.mux = NewMux(r.now, c, newShared(9), keyOf(9))
	return r
}

// guest is one player of a room.
type guest struct {
	*Conn
	r    *room
	feed netip.AddrPort
	seq  int64
}

// open opens a main from an address.
func (r *room) open(ip string) *guest {
	r.next++
	addr := netip.AddrPortFrom(netip.MustParseAddr(ip), 10000+r.next)
	c := r.mux.Accept(r.now, addr)
	if c == nil && r.mux.cfg.WaitingPerAddress < 0 {
		r.t.Fatalf("%v is in use", addr)
	}
	return &guest{Conn: c, r: r, feed: netip.AddrPortFrom(addr.Addr(), 30000+r.next)}
}

// join brings a player into the game, with a feed.
func (r *room) join(ip string) *guest {
	g := r.open(ip)
	g.say(CodeConnInit)
	g.init(g.feed, g.e.token)
	g.say(CodeConnOK)
	r.drain()
	if g.e.State() != StateOpen || !g.FeedUp() {
		r.t.Fatalf("the guest is %v", g.e.State())
	}
	return g
}

// say sends bytes on main.
func (g *guest) say(b ...byte) { g.r.mux.HandleBytes(g.r.now, g.Conn, b) }

// init sends a FEED_INIT, and returns how many bytes.
func (g *guest) init(from netip.AddrPort, token int32) int {
	g.seq++
	return g.datagram(from, g.seq, Message{Kind: KindFeedInit, Player: g.e.player, Token: token})
}

// update sends the next update of the player.
func (g *guest) update() {
	g.seq++
	g.datagram(g.feed, g.seq, Message{Kind: KindUpdate, SID: 1, Data: noise[:8]})
}

func (g *guest) datagram(from netip.AddrPort, seq int64, m Message) int {
	d := Datagram{Sequence: seq, Message: m}
	b := d.AppendTo(nil)
	g.r.mux.HandleDatagram(g.r.now, from, b)
	return len(b)
}

// put changes an element.
func (r *room) put(sid int16, data []byte) {
	r.t.Helper()
	if err := r.mux.Set(sid, data); err != nil {
		r.t.Fatal(err)
	}
}

// drain takes all that the mux wants to say, and returns how many bytes go to each feed.
func (r *room) drain() map[netip.AddrPort]int {
	out := map[netip.AddrPort]int{}
	for range 2 { // who has written its last bytes is over then
		for _, ev, ok := r.mux.PollEvent(); ok; _, ev, ok = r.mux.PollEvent() {
			if ev.Kind == EventClosed {
				r.ended = append(r.ended, ev.Close)
			}
		}
		for _, c, ok := r.mux.PollBytes(r.buf[:]); ok; _, c, ok = r.mux.PollBytes(r.buf[:]) {
			r.mux.Written(r.now, c)
		}
	}
	for n, to, ok := r.mux.PollTransmit(r.buf[:]); ok; n, to, ok = r.mux.PollTransmit(r.buf[:]) {
		out[to] += n
	}
	return out
}

// at lets time pass.
func (r *room) at(d time.Duration) {
	r.now = r.now.Add(d)
	for at, ok := r.mux.NextTimeout(); ok && !at.After(r.now); at, ok = r.mux.NextTimeout() {
		r.mux.HandleTimeout(r.now)
		r.drain()
	}
	r.drain()
}

// T24: whichever of the first ten datagrams of the feed are lost, and whichever one comes twice
// or 5 s late, the player joins, and has a feed soon after.
func TestHandshakeUnderEveryLoss(t *testing.T) {
	run := func(what string, judge func(n uint64) simnet.Verdict) {
		w := newWorld(t, 1, Config{}, perfect)
		n := uint64(0)
		w.net.Filter(func(simnet.Packet) simnet.Verdict {
			n++
			return judge(n - 1)
		})
		x := w.dial(0)
		w.runUntil(what+": joining", func() bool { return x.synced > 0 }, 6*time.Second)
		w.runUntil(what+": a feed", func() bool { return x.FeedUp() && x.conn().FeedUp() }, 12*time.Second)
		if w.mux.porch.Len() != 0 || w.mux.Len() != 1 {
			t.Fatalf("%s: %d of %d are half open", what, w.mux.porch.Len(), w.mux.Len())
		}
	}
	for mask := range promise.Keeps(t, "T24", "duplex", kit.Rounds(1024, 1024)) {
		run(fmt.Sprintf("loss %010b", mask), func(n uint64) simnet.Verdict {
			if n < 10 && mask>>n&1 != 0 {
				return simnet.Verdict{Drop: true}
			}
			return simnet.Verdict{}
		})
	}
	for i := range uint64(10) {
		run(fmt.Sprint("twice ", i), func(n uint64) simnet.Verdict { return simnet.Verdict{Copies: boolInt(n == i)} })
		run(fmt.Sprint("late ", i), func(n uint64) simnet.Verdict {
			if n == i {
				return simnet.Verdict{Delay: 5 * time.Second}
			}
			return simnet.Verdict{}
		})
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// T35: no guess of a token is taken, from however many sources; and the honest player at the
// same address gets its feed meanwhile.
func TestTokensCannotBeGuessed(t *testing.T) {
	rng := kit.Rand(t)
	r := newRoom(t, Config{})
	victim, honest := r.join("10.0.0.2"), r.open("10.0.0.2")
	honest.say(CodeConnInit)
	r.drain()
	guesses := promise.Keeps(t, "T35", "duplex", kit.Rounds(1_000_000, 10_000_000))
	for i := range guesses {
		token := int32(rng.Uint32())
		if token == victim.e.token || token == honest.e.token {
			continue
		}
		target := victim
		if i%2 == 0 {
			target = honest
		}
		port := uint16(40000 + i%20000)
		target.datagram(netip.AddrPortFrom(victim.feed.Addr(), port), 1000+int64(i), Message{Kind: KindFeedInit, Player: target.e.player, Token: token})
		if i%1000 == 0 {
			r.now = r.now.Add(time.Millisecond)
		}
	}
	if out := r.drain(); len(out) != 0 {
		t.Errorf("guesses were answered: %v", out)
	}
	s := r.mux.Stats()
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	// Each of 20,000 ports has three tries, in the second that this takes.
	if s.Bound != 1 || victim.e.FeedAddr() != victim.feed || s.WrongToken > 60_000 || s.Ignored+s.WrongToken < uint64(guesses)-10 {
		t.Errorf("after %d guesses: %+v", guesses, s)
	}
	honest.init(honest.feed, honest.e.token)
	honest.say(CodeConnOK)
	if out := r.drain(); out[honest.feed] == 0 || !honest.FeedUp() {
		t.Errorf("the honest player at the same address has no feed: %v", out)
	}
	victim.init(victim.feed, victim.e.token)
	if out := r.drain(); out[victim.feed] == 0 {
		t.Error("the player who was guessed at is not heard any more")
	}
}

// T35: three wrong tokens from a source, and it is not heard for 10 s, even with the right one;
// unless it is the feed already.
func TestThreeWrongTokensSilenceASource(t *testing.T) {
	promise.Keeps(t, "T35", "duplex", 1)
	r := newRoom(t, Config{})
	g := r.join("10.0.0.2")
	guesser := addrPort("10.0.0.2:50000")
	for i := range 3 {
		r.now = r.now.Add(2 * time.Second)
		g.init(g.feed, g.e.token) // keeps it alive meanwhile
		r.drain()
		g.init(guesser, g.e.token^1)
		if got := r.mux.stats.WrongToken; got != uint64(i+1) {
			t.Errorf("%d wrong tokens are counted, want %d", got, i+1)
		}
	}
	g.init(guesser, g.e.token)
	if out := r.drain(); len(out) != 0 || g.e.FeedAddr() != g.feed {
		t.Error("the fourth, a right one, was heard")
	}
	for range 10 {
		g.init(g.feed, g.e.token^1) // forged, in the name of the player's own feed
	}
	g.init(g.feed, g.e.token)
	if out := r.drain(); out[g.feed] == 0 {
		t.Error("forged tokens silence the feed that they were forged for")
	}
	r.now = r.now.Add(9 * time.Second)
	g.init(guesser, g.e.token)
	if out := r.drain(); len(out) != 0 {
		t.Error("it is heard before 10 s have passed")
	}
	r.now = r.now.Add(2 * time.Second)
	g.init(guesser, g.e.token)
	if out := r.drain(); out[guesser] == 0 || g.e.FeedAddr() != guesser {
		t.Error("it is not heard after 10 s")
	}
}

// T35: what was sent once cannot be used again: from another address, after close, after a
// restart.
func TestReplaysAreRefused(t *testing.T) {
	rng := kit.Rand(t)
	for range promise.Keeps(t, "T35", "duplex", kit.Rounds(10_000, 100_000)) / 100 {
		r := newRoom(t, Config{})
		g := r.join("10.0.0.2")
		var caught [][]byte
		catch := func(m Message) {
			g.seq++
			d := Datagram{Sequence: g.seq, Message: m}
			caught = append(caught, d.AppendTo(nil))
			r.mux.HandleDatagram(r.now, g.feed, caught[len(caught)-1])
		}
		for range 50 {
			catch(Message{Kind: KindFeedInit, Player: g.e.player, Token: g.e.token})
			catch(Message{Kind: KindUpdate, SID: 1, Data: noise[:8]})
		}
		r.drain()
		replay := func(what string, from netip.AddrPort) {
			for range 100 {
				b := caught[rng.IntN(len(caught))]
				r.mux.HandleDatagram(r.now, from, b)
			}
			taken := g.Stats().FeedTaken
			if out := r.drain(); len(out) != 0 || taken != g.Stats().FeedTaken || len(r.mux.feeds) > 1 || r.mux.feeds[g.feed] == nil && len(r.mux.feeds) > 0 {
				t.Fatalf("%s: %v is sent, feeds are %v", what, out, r.mux.feeds)
			}
		}
		replay("from its own address", g.feed)
		replay("from another port", addrPort("10.0.0.2:1"))
		replay("from another address", addrPort("10.0.0.3:30001"))
		r.mux.HandleEnd(r.now, g.Conn, "")
		r.drain()
		replay("after close", g.feed)
		other := r.join("10.0.0.2") // who may have the id, and has another token
		other.e.player = g.e.player
		r.mux.ids[g.e.player] = other.Conn
		wrong := r.mux.stats.Bound
		for _, b := range caught {
			r.mux.HandleDatagram(r.now, g.feed, b)
		}
		if out := r.drain(); len(out) != 0 || r.mux.stats.Bound != wrong {
			t.Fatalf("to the next with the same id: %v", out)
		}
		r.mux = NewMux(r.now, Config{Schema: gameSchema}, newShared(rng.Uint64()), keyOf(1))
		g2 := r.join("10.0.0.2")
		g2.e.player = g.e.player
		r.mux.ids[g.e.player] = g2.Conn
		for _, b := range caught {
			r.mux.HandleDatagram(r.now, g.feed, b)
		}
		if out := r.drain(); len(out) != 0 {
			t.Fatalf("after a restart: %v", out)
		}
	}
}

// T29: nobody gets more than three times what came from there, and strangers get nothing.
func TestAmplification(t *testing.T) {
	rng := kit.Rand(t)
	r := newRoom(t, Config{})
	g := r.join("10.0.0.2")
	for sid := range int16(50) {
		r.put(sid, valueOf(1))
	}
	r.mux.Flush()
	r.drain()
	var buf [64]byte
	for i := range promise.Keeps(t, "T29", "duplex", kit.Rounds(1_000_000, 1_000_000)) {
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{11, byte(i >> 16), byte(i >> 8), byte(i)}), uint16(rng.Uint32()))
		d := Datagram{Sequence: 1 + int64(rng.Uint32()), Message: Message{Kind: KindFeedInit, Player: g.e.player, Token: g.e.token}}
		switch i % 4 {
		case 0: // from an address that is not main's, with the right token
		case 1:
			d.Token = int32(rng.Uint32())
			d.Player = int16(rng.Uint32())
		case 2:
			d.Message = shapes[rng.IntN(len(shapes))].random(rng)
			d.Data = d.Data[:min(len(d.Data), 20)]
		}
		b := d.AppendTo(buf[:0])
		if i%4 == 3 {
			for k := range b {
				b[k] = byte(rng.Uint32())
			}
		}
		r.mux.HandleDatagram(r.now, from, b)
	}
	if out := r.drain(); len(out) != 0 {
		t.Errorf("strangers were answered: %v", out)
	}
	// Who has the right to it gets one answer for each.
	for range 1000 {
		in := g.init(g.feed, g.e.token)
		if out := r.drain(); out[g.feed] > 3*in || out[g.feed] == 0 || len(out) != 1 {
			t.Fatalf("%v for %d bytes", out, in)
		}
	}
}

// T32: garbage in the name of a player's feed, and of its address, changes nothing.
func TestForgedGarbageHarmsNobody(t *testing.T) {
	rng := kit.Rand(t)
	r := newRoom(t, Config{})
	g := r.join("10.0.0.2")
	var buf [80]byte
	for range promise.Keeps(t, "T32", "duplex", kit.Rounds(100_000, 1_000_000)) {
		b := buf[:rng.IntN(len(buf))]
		for k := range b {
			b[k] = byte(rng.Uint32())
		}
		if rng.IntN(2) == 0 && len(b) >= 8 {
			binary.BigEndian.PutUint64(b, Magic)
		}
		r.mux.HandleDatagram(r.now, g.feed, b)
		r.mux.HandleDatagram(r.now, netip.AddrPortFrom(g.feed.Addr(), uint16(rng.Uint32())), b)
	}
	if r.drain(); g.e.State() != StateOpen || !g.FeedUp() {
		t.Fatalf("the player is %v", g.e.State())
	}
	taken := g.Stats().FeedTaken
	g.update()
	if g.Stats().FeedTaken != taken+1 {
		t.Error("the player's own update is not taken")
	}
	r.join("10.0.0.2")
	stats := g.Stats()
	if err := stats.Check(); err != nil {
		t.Error(err)
	}
}

// T25: whoever forges well-formed datagrams in both directions can put words into the other's
// mouth and make the feed deaf, and no more: nothing ends, and main carries what is true.
func TestForgedFeedIsBounded(t *testing.T) {
	for seed := range uint64(promise.Keeps(t, "T25", "duplex", kit.Rounds(1000, 10_000))) {
		w, x := joined(t, seed, Config{}, perfect)
		y := w.dial(1)
		w.runUntil("the other joins", func() bool { return y.synced > 0 }, time.Second)
		rng := rand.New(rand.NewPCG(seed, 25))
		var seen [][]byte
		w.net.Filter(func(p simnet.Packet) simnet.Verdict {
			if len(seen) < 100 {
				seen = append(seen, append([]byte(nil), p.Bytes...))
			}
			return simnet.Verdict{}
		})
		for range 10 {
			w.tell(int16(rng.IntN(5)), rng.Uint64(), 20*time.Millisecond)
			for range 10 {
				b := forge(rng, seen)
				if rng.IntN(2) == 0 {
					w.net.Inject(x.host.Addr(), serverAddr, b)
				} else {
					w.net.Inject(serverAddr, x.host.Addr(), b)
				}
			}
			w.run(time.Millisecond)
		}
		w.run(17 * time.Second) // 10 s to notice that a feed is deaf, and a sync
		if x.State() != StateOpen || y.State() != StateOpen || !x.agrees(w.truth()) || !y.agrees(w.truth()) || !y.FeedUp() {
			t.Fatalf("seed=%d: %v knows %v; %v; the truth is %v", seed, x.State(), x.state, y.State(), w.truth())
		}
	}
}

// forge makes a datagram: one that was seen, whole or changed or cut, or one of its own.
func forge(rng *rand.Rand, seen [][]byte) []byte {
	if len(seen) == 0 || rng.IntN(3) == 0 {
		s := shapes[rng.IntN(len(shapes))]
		d := Datagram{Sequence: 1 + rng.Int64N(1<<21), Message: s.random(rng)}
		d.Data = d.Data[:min(len(d.Data), 40)]
		return d.AppendTo(nil)
	}
	b := append([]byte(nil), seen[rng.IntN(len(seen))]...)
	switch rng.IntN(3) {
	case 0:
		b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
	case 1:
		b = b[:rng.IntN(len(b))]
	}
	return b
}

// T34: one peer has one key, however its address is written; two have two.
func TestAddressesAsKeys(t *testing.T) {
	promise.Keeps(t, "T34", "duplex", 1)
	r := newRoom(t, Config{})
	g := r.open("::ffff:10.0.0.2")
	g.say(CodeConnInit)
	g.init(addrPort("10.0.0.2:30001"), g.e.token)
	if out := r.drain(); out[addrPort("10.0.0.2:30001")] == 0 {
		t.Errorf("a feed over IPv4 of a main over IPv4 in IPv6 is refused: %v", out)
	}
	g.seq++
	g.datagram(addrPort("[::ffff:10.0.0.2]:30001"), g.seq, Message{Kind: KindFeedInit, Player: g.e.player, Token: g.e.token})
	if r.drain(); r.mux.stats.Kept != 1 || len(r.mux.feeds) != 1 {
		t.Errorf("the same feed written otherwise is another: %+v", r.mux.stats)
	}
	g.init(addrPort("[2001:db8::2]:30001"), g.e.token)
	if out := r.drain(); len(out) != 0 {
		t.Errorf("another address was taken: %v", out)
	}
	free := newRoom(t, Config{AnyFeedAddr: true})
	f := free.open("10.0.0.2")
	f.say(CodeConnInit)
	f.init(addrPort("10.9.9.9:1"), f.e.token)
	if out := free.drain(); out[addrPort("10.9.9.9:1")] == 0 {
		t.Error("with AnyFeedAddr another address is refused")
	}
}

// A feed's address that is another player's stays so while that one lives.
func TestAFeedIsNotTakenFromAnother(t *testing.T) {
	r := newRoom(t, Config{})
	a, b := r.join("10.0.0.2"), r.open("10.0.0.2")
	b.say(CodeConnInit)
	b.init(a.feed, b.e.token)
	if out := r.drain(); len(out) != 0 || r.mux.feeds[a.feed] != a.Conn {
		t.Errorf("it was taken: %v", out)
	}
	b.say(CodeConnFailed)
	// One whose player is silent may be taken.
	r.at(11 * time.Second)
	if a.FeedUp() {
		t.Error("a silent feed is up")
	}
	b.init(a.feed, b.e.token)
	if out := r.drain(); out[a.feed] == 0 || a.e.FeedAddr().IsValid() {
		t.Errorf("the feed of a silent player is not free: %v", out)
	}
}

// What a player who left had sent comes after somebody else has its address: it does not make
// the feed of that one deaf.
func TestTheFeedOfAPlayerWhoLeft(t *testing.T) {
	r := newRoom(t, Config{})
	a, b := r.join("10.0.0.2"), r.open("10.0.0.2")
	for range 1000 {
		a.update()
		r.drain()
	}
	r.mux.HandleEnd(r.now, a.Conn, "")
	b.say(CodeConnInit)
	r.drain()
	b.init(a.feed, b.e.token)
	b.say(CodeConnOK)
	if r.drain(); !b.FeedUp() {
		t.Fatal("the address of a player who left is not free")
	}
	for range 100 {
		a.update()
	}
	s := b.Stats()
	if s.TooFar != 100 || s.FeedTaken != 0 {
		t.Errorf("what the other had sent: %+v", s)
	}
	update := func(ahead int64) uint64 {
		before := b.Stats().FeedTaken
		b.seq += ahead
		b.datagram(a.feed, b.seq, Message{Kind: KindUpdate, SID: 1, Data: noise[:8]})
		r.drain()
		return b.Stats().FeedTaken - before
	}
	if update(1) != 1 || update(64) != 1 || update(65) != 0 {
		t.Error("its own datagrams are not taken as they should be")
	}
	b.init(a.feed, b.e.token) // which has the token
	if update(1) != 1 {
		t.Error("after a FEED_INIT its datagrams are not taken")
	}
	r.now = r.now.Add(11 * time.Second)
	if update(1000) != 1 {
		t.Error("it is distrusted for ever")
	}
}

// T36: between two honest datagrams there may be 100,000 empty ones: they touch nobody, and
// none of them costs memory.
func TestEmptyDatagramsCostNothing(t *testing.T) {
	r := newRoom(t, Config{})
	g := r.join("10.0.0.2")
	r.drain()
	one, between := []byte{1}, promise.Keeps(t, "T36", "duplex", 50_000)
	flood := func() {
		for range between {
			r.mux.HandleDatagram(r.now, otherSource, nil)
			r.mux.HandleDatagram(r.now, g.feed, one)
		}
	}
	flood()
	r.drain()
	if n := testing.AllocsPerRun(1, flood); n > 0 && !kit.Race {
		t.Errorf("%v allocations", n)
	}
	g.update()
	_, ev, ok := r.mux.PollEvent()
	if !ok || ev.Kind != EventUpdate {
		t.Errorf("the honest one is not the next to be told: %v", ev.Kind)
	}
}

// T38, T31: 5,000 mains that say one byte and then nothing, or nothing at all, fifty times as many as there are places in the
// game: an honest player joins whenever it comes, 100 of 100, and all others are cut off in time. Some come from as many
// addresses as can be, some from few.
func TestSlowMainsAreCutOff(t *testing.T) {
	promise.Keeps(t, "T38 T31", "duplex", 100)
	r := newRoom(t, Config{MaxPlayers: 100, WaitingPerAddress: 64})
	for i := range 5000 {
		addr := fmt.Sprintf("10.1.%d.%d", i/256%40, i%4)
		if i >= 4900 {
			addr = fmt.Sprintf("10.%d.0.1", i%256)
		}
		if g := r.open(addr); g.Conn != nil && i%2 == 0 {
			g.say(CodeConnInit)
		}
		if i%50 == 0 {
			if g := r.join(fmt.Sprintf("10.0.%d.2", i/50)); g.e.State() != StateOpen {
				t.Fatalf("honest player %d is %v", i/50, g.e.State())
			}
			r.now = r.now.Add(40 * time.Millisecond)
		}
		r.drain()
	}
	if n := r.mux.Len(); n > 2048+100 || r.mux.stats.Crowded == 0 || r.mux.joined != 100 {
		t.Errorf("%d mains are open, %d have joined, %d made room or found none", n, r.mux.joined, r.mux.stats.Crowded)
	}
	if g := r.open("10.0.200.2"); g.Conn == nil {
		t.Error("the hundred and first found no place to wait")
	} else if g.say(CodeConnInit); g.e.State() != StateClosing {
		t.Errorf("the hundred and first is %v", g.e.State())
	}
	r.at(10 * time.Second)
	if n := r.mux.Len(); n != 100 || r.mux.porch.Len() != 0 {
		t.Errorf("%d mains are open after 10 s, %d have not joined", n, r.mux.porch.Len())
	}
	for _, c := range r.ended {
		if c.Reason != ReasonTimeout && c.Reason != ReasonCrowded && c.Reason != ReasonRefused {
			t.Errorf("one ended with %v", c)
		}
	}
}

// Of one address 64 mains wait, and further ones find no place; others are not touched by that.
func TestAnAddressHasItsPlacesToWait(t *testing.T) {
	r := newRoom(t, Config{WaitingPerAddress: 64})
	other := r.open("10.0.0.3")
	first := r.open("10.0.0.4")
	for range 63 {
		if r.open("10.0.0.4").Conn == nil {
			t.Fatal("one of 64 found no place")
		}
	}
	if r.open("10.0.0.4").Conn != nil || r.mux.stats.Crowded != 1 {
		t.Error("the sixty-fifth has a place")
	}
	r.drain()
	if first.e.State() != StateConnecting || other.e.State() != StateConnecting {
		t.Errorf("the first is %v, and another's %v", first.e.State(), other.e.State())
	}
	first.say(CodeConnInit)
	first.say(CodeConnFailed)
	r.drain()
	if r.open("10.0.0.4").Conn == nil {
		t.Error("the first has joined, and its place is not free")
	}
}

// 15.2: connecting and closing 32,700 times from one address, as fast as it can, neither takes an id nor keeps others from
// one; and no more than its rate of them get an answer at all.
func TestConnectAndClose(t *testing.T) {
	given, free := 0, []int16{}
	for id := int16(1); id <= 300; id++ {
		free = append(free, id)
	}
	r := newRoom(t, Config{WaitingPerAddress: 64, TakeID: func() int16 {
		if len(free) == 0 {
			return 0
		}
		given++
		id := free[0]
		free = free[1:]
		return id
	}, FreeID: func(id int16, _ bool) { free = append(free, id) }})
	const times, took = 32_700, 12 * time.Second
	for i := range times {
		g := r.open("10.0.0.9")
		g.say(CodeConnInit)
		r.mux.HandleEnd(r.now, g.Conn, "")
		r.drain()
		if i%1000 == 0 {
			if honest := r.join("10.0.0.2"); honest.e.State() != StateOpen {
				t.Fatalf("after %d: an honest player is %v", i, honest.e.State())
			}
		}
		r.now = r.now.Add(took / times)
		r.ended = r.ended[:0]
		r.next %= 20000
	}
	most := connectRate.Burst + connectRate.Rate*int(took/time.Second) + 33
	if len(free) != 300-33 || given > most || r.mux.stats.Hasty == 0 {
		t.Errorf("%d of 300 ids are free, %d were given, want at most %d; %d were too hasty", len(free), given, most, r.mux.stats.Hasty)
	}
}

func TestAServerThatIsFullRefuses(t *testing.T) {
	var free []int16
	next := int16(0)
	r := newRoom(t, Config{MaxPlayers: 2, TakeID: func() int16 { next++; return next }, FreeID: func(id int16, _ bool) { free = append(free, id) }})
	a, b, c := r.open("10.0.0.2"), r.open("10.0.0.2"), r.open("10.0.0.2")
	for _, g := range []*guest{a, b} {
		g.say(CodeConnInit)
		g.say(CodeConnFailed)
	}
	c.say(CodeConnInit)
	r.drain()
	if c.e.State() != StateClosed || c.e.closing.close.Text != "server full" || c.e.player != 0 || r.mux.stats.Refused != 1 {
		t.Errorf("the third is %v: %v", c.e.State(), c.e.closing.close)
	}
	r.mux.HandleEnd(r.now, a.Conn, "")
	r.drain()
	if len(free) != 1 || free[0] != 1 {
		t.Errorf("ids %v are free", free)
	}
	r.mux.Shutdown(r.now, "bye")
	e := r.open("10.0.0.2")
	e.say(CodeConnInit)
	r.drain()
	if r.mux.Len() != 0 || e.e.closing.close.Text != "server closing" {
		t.Errorf("%d are left, and the last is told %q", r.mux.Len(), e.e.closing.close.Text)
	}
	banned := newRoom(t, Config{Admit: func(netip.AddrPort) string { return "banned" }})
	f := banned.open("10.0.0.2")
	f.say(CodeConnInit)
	if f.e.closing.close.Text != "banned" {
		t.Errorf("%v", f.e.closing.close)
	}
}
