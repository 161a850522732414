package core

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/internal/way"
	"parley/simnet"
)

func TestASyncAtIntervalsPutsRightWhatWasLost(t *testing.T) {
	w, x := joined(t, 1, Config{}, perfect)
	w.tell(1, 1, time.Second)
	w.net.Default(simnet.Profile{Loss: 1})
	w.tell(1, 2, 100*time.Millisecond)
	w.net.Default(perfect)
	if x.agrees(w.truth()) {
		t.Fatal("nothing was lost")
	}
	w.run(5 * time.Second)
	if !x.agrees(w.truth()) || x.synced != 2 {
		t.Errorf("after %d syncs the client knows %v", x.synced, x.state)
	}
}

func TestASyncOnRequestComesOnceASecond(t *testing.T) {
	w, x := joined(t, 1, Config{Resync: -1}, perfect)
	w.run(2 * time.Second)
	for range 100 {
		if err := x.RequestSync(x.host.Now()); err != nil {
			t.Fatal(err)
		}
	}
	x.run(900 * time.Millisecond)
	if x.synced != 2 {
		t.Errorf("%d syncs, want one on joining and one at once", x.synced)
	}
	// Those that came in the same bytes are one; one that comes early waits.
	if err := x.RequestSync(x.host.Now()); err != nil {
		t.Fatal(err)
	}
	x.run(50 * time.Millisecond)
	if x.synced != 2 {
		t.Errorf("%d syncs: the second request was not put off", x.synced)
	}
	w.run(200 * time.Millisecond)
	if x.synced != 3 {
		t.Errorf("%d syncs: the second request was forgotten", x.synced)
	}
	w.run(10 * time.Second)
	if x.synced != 3 {
		t.Errorf("%d syncs that nobody asked for", x.synced)
	}
}

// "After SYNC_END, every SID that was not named since SYNC_START is gone", and what an update
// on the feed says of it then is old.
func TestWhatIsNotNamedIsGone(t *testing.T) {
	w, x := joined(t, 1, Config{Resync: -1, Schema: &Schema{FromServer: Elements{Others: Fixed(9)}, FromClient: Elements{Others: Fixed(8)}}}, perfect)
	for sid := range int16(5) {
		w.set(sid, 1)
	}
	w.flush(50 * time.Millisecond)
	w.mux.Remove(1)
	w.mux.Remove(3)
	w.flush(0)
	w.run(2 * time.Second) // without kinds the next sync says it, a second after the last
	if got := only(x.events, "gone"); !slices.Equal(got, []string{"gone 1", "gone 3"}) || !x.agrees(w.truth()) {
		t.Errorf("%q; the client knows %v", got, x.state)
	}
	// A ghost: an update that was under way.
	x.conn().e.putFeed(&Message{Kind: KindUpdate, SID: 3, Data: valueOf(9)})
	w.mux.touch(x.conn())
	w.server.Poke()
	w.run(50 * time.Millisecond)
	if s := x.Stats(); !x.agrees(w.truth()) || s.Ghosts != 1 {
		t.Errorf("the client knows %v, and counts %+v", x.state, s)
	}
	// Declared again, it is back.
	w.tell(3, 10, 50*time.Millisecond)
	if !x.agrees(w.truth()) {
		t.Errorf("the client knows %v", x.state)
	}
}

func TestAClientSeesWhatItMay(t *testing.T) {
	w, x := joined(t, 1, Config{Resync: -1}, perfect)
	limit := int16(0)
	see := func(n int16) {
		for ; limit < n; limit++ {
			x.conn().Show(limit)
		}
		for ; limit > n; limit-- {
			x.conn().Hide(limit - 1)
		}
	}
	x.conn().HideAll()
	see(3)
	seen := func() map[int16]string {
		all := w.truth()
		maps.DeleteFunc(all, func(sid int16, _ string) bool { return sid >= limit })
		return all
	}
	check := func(what string) {
		t.Helper()
		w.flush(50 * time.Millisecond)
		if !x.agrees(seen()) {
			t.Errorf("%s: the client knows %v, want %v", what, x.state, seen())
		}
	}
	for sid := range int16(6) {
		w.set(sid, 1)
	}
	check("at first")
	for sid := range int16(6) {
		w.set(sid, 2)
	}
	check("after changes")
	see(5)
	check("when it sees more")
	see(1)
	check("when it sees less")
	w.mux.Remove(0)
	w.mux.Remove(5)
	check("when some are gone")
	see(6)
	w.run(2 * time.Second)
	x.conn().resync()
	check("after a sync of everything")
	if got := only(x.events, "gone"); !slices.Equal(got, []string{"gone 1", "gone 2", "gone 3", "gone 4", "gone 0"}) {
		t.Errorf("%q", got)
	}
	see(2)
	check("when it sees less again")
	w.run(time.Second)
	limit = 1000
	x.conn().ShowAll()
	check("when it may see everything")
	x.conn().Hide(2)
	w.flush(50 * time.Millisecond)
	if _, knows := x.state[2]; knows || len(x.state) != len(w.truth())-1 {
		t.Errorf("when it may see everything but one, the client knows %v", x.state)
	}
	x.conn().HideAll()
	limit = 0
	check("when it may see nothing")
	if n := x.conn().Stats().Updates; n != 3 {
		t.Errorf("%d updates on the feed, want one for each of the three that changed while it saw them", n)
	}
}

// T11: what comes into sight does not pile up for a client that does not read main.
func TestSightOfAClientThatDoesNotReadMain(t *testing.T) {
	promise.Keeps(t, "T11", "duplex", 1)
	w, x := joined(t, 1, Config{}, perfect)
	for sid := range int16(2000) {
		w.put(sid, append([]byte{2, 200}, noise[:200]...))
	}
	x.conn().HideAll()
	w.flush(time.Second)
	x.pipe.toClient.paused = true
	most := 0
	for range 20 {
		x.conn().ShowAll()
		w.flush(100 * time.Millisecond)
		x.conn().HideAll()
		w.flush(100 * time.Millisecond)
		most = max(most, x.conn().Queued())
	}
	if most < fillBytes/2 || most > fillBytes+writeBytes {
		t.Errorf("%d bytes were queued", most)
	}
	x.conn().ShowAll()
	w.flush(0)
	x.pipe.toClient.paused = false
	x.run(7 * time.Second)
	if !x.agrees(w.truth()) {
		t.Errorf("afterwards it knows %d elements of %d", len(x.state), len(w.truth()))
	}
}

// Where nothing on main says that an element is gone, a sync does, and at once.
func TestOutOfSightIsGoneWithoutKindsToo(t *testing.T) {
	w, x := joined(t, 1, Config{Resync: -1, Schema: &Schema{FromServer: Elements{Others: Fixed(9)}, FromClient: Elements{Others: Fixed(8)}}}, perfect)
	w.set(1, 1)
	w.set(2, 1)
	w.flush(0)
	w.run(2 * time.Second) // another sync may begin
	x.conn().Hide(1)
	w.flush(50 * time.Millisecond)
	if got := only(x.events, "gone"); !slices.Equal(got, []string{"gone 1"}) {
		t.Errorf("%q; the client knows %v", got, x.state)
	}
}

func TestWhatIsTooLargeForADatagramGoesOverMain(t *testing.T) {
	w, x := joined(t, 1, Config{Resync: -1, MaxUpdate: 100}, perfect)
	set := func(size int, fill byte) {
		data := slices.Repeat([]byte{fill}, size)
		w.put(7, append([]byte{2, byte(size)}, data...))
		w.flush(50 * time.Millisecond)
		if !x.agrees(w.truth()) {
			t.Errorf("the client knows %v", x.state)
		}
	}
	set(5, 1)
	set(200, 2)
	set(200, 3)
	set(5, 4)
	if s := x.conn().Stats(); s.Updates != 1 {
		t.Errorf("%d updates, want the last alone", s.Updates)
	}
}

// "over WebTransport a core keeps its packets within 1,100, both ways" (carriers): an element that has more goes over main to all, as any of
// the clients of a server with sessions may be over WebTransport.
func TestTheFeedOverWebTransportIsSmaller(t *testing.T) {
	e := &Endpoint{cfg: Config{}.fill()}
	for _, tt := range []struct {
		peer netip.AddrPort
		want int
	}{{netip.MustParseAddrPort("192.0.2.1:7004"), 1200}, {way.SessionAddr(way.WebTransport, 3), 1100}} {
		e.feed.peer = tt.peer
		if !e.fits(tt.want-HeaderBytes) || e.fits(tt.want-HeaderBytes+1) {
			t.Errorf("%v: a datagram of %d bytes fits, or one more", tt.peer, tt.want)
		}
	}
	if c := (Config{Sessions: nobody{}}).fill(); c.MaxUpdate != 1100 {
		t.Errorf("elements of up to %d bytes go over the feed", c.MaxUpdate)
	}
}

type nobody struct{}

func (nobody) Source(peer netip.AddrPort) netip.AddrPort { return peer }

// T11, T39: a client that does not read main: what changes does not pile up for it, and what
// the game sends it does, up to the limit.
func TestAClientThatDoesNotReadMain(t *testing.T) {
	promise.Keeps(t, "T11 T39", "duplex", 1)
	w, x := joined(t, 1, Config{}, perfect)
	y := w.dial(1)
	w.runUntil("the other joins", func() bool { return y.synced > 0 }, time.Second)
	x.pipe.toClient.paused = true
	most := 0
	for i := range uint64(600) { // a minute
		for sid := range int16(100) {
			w.set(sid, i)
		}
		if i%10 == 0 {
			w.mux.Remove(int16(i % 100))
		}
		w.flush(100 * time.Millisecond)
		most = max(most, x.conn().Queued())
	}
	if x.State() != StateOpen || x.conn().e.State() != StateOpen {
		t.Fatalf("it was cut off: %v", x.closed)
	}
	if most > fillBytes+writeBytes || len(x.pipe.toClient.rest)+x.pipe.toClient.flying > 2*fillBytes+1<<16 {
		t.Errorf("%d bytes were queued", most)
	}
	x.pipe.toClient.paused = false
	x.run(7 * time.Second)
	if !x.agrees(w.truth()) || !y.agrees(w.truth()) {
		t.Errorf("afterwards they do not know what is true")
	}
	// What is said to it alone has to be kept.
	x.pipe.toClient.paused = true
	text := append([]byte{0x0f, 0xff}, noise[:0xfff]...)
	n := 0
	for x.conn().e.State() == StateOpen {
		_ = x.conn().Sync(-1, text)
		if n++; x.conn().Queued() > 1<<20 || n > 300 {
			t.Fatalf("%d bytes are queued", x.conn().Queued())
		}
	}
	w.server.Poke()
	w.run(50 * time.Millisecond)
	if got := w.log[len(w.log)-1]; got != "closed: too slow to read" || n < 200 {
		t.Errorf("after %d of 4 KiB: %s", n, got)
	}
	if y.State() != StateOpen {
		t.Error("the other was cut off too")
	}
}

// A client keeps a bounded state, whatever a server sends.
func TestAClientsStateIsBounded(t *testing.T) {
	w, x := joined(t, 1, Config{Resync: -1, MaxState: 10_000}, perfect)
	for sid := range int16(200) {
		w.put(sid, append([]byte{2, 200}, noise[:200]...))
	}
	w.flush(time.Second)
	if x.closed == nil || x.closed.Reason != ReasonOverflow {
		t.Errorf("it ended with %v", x.closed)
	}
}

// The log of changes against a model: readers at any pace are told the newest value of each
// element that is theirs once they have caught up, never an older one, and nothing that is not theirs.
func TestTheLogOfChanges(t *testing.T) {
	r := kit.Rand(t)
	for round := range max(kit.Rounds(300, 3000), 50) {
		table := newElements()
		e := &table
		many := []int{10, 150}[r.IntN(2)]
		readers := make([]reader, 2+r.IntN(4))
		for i := range readers {
			readers[i] = reader{view: view{elements: e, all: r.IntN(2) == 0}, at: e.head(), knows: map[int16]string{}}
			for range r.IntN(many) {
				readers[i].except.add(e.slotOf(int16(r.IntN(many))))
			}
		}
		truth := map[int16]string{}
		longest := 0
		for step := range 400 {
			sid := int16(r.IntN(many))
			switch r.IntN(6) {
			case 0:
				e.remove(sid)
				delete(truth, sid)
				for i := range readers {
					delete(readers[i].knows, sid)
				}
			case 1, 2, 3:
				value := fmt.Sprintf("%06d", step)
				e.set(sid, []byte(value), false)
				truth[sid] = value
			case 4:
				e.flush()
				least := e.head()
				for _, x := range readers {
					least = min(least, x.at)
				}
				e.trim(least)
				if e.crowded() {
					moved := e.compact()
					for i := range readers {
						readers[i].at = moved(readers[i].at)
					}
				}
				longest = max(longest, len(e.log))
			case 5:
				x := &readers[r.IntN(len(readers))]
				if x == &readers[0] && step < 300 {
					continue // who is far behind
				}
				for n := r.IntN(20); n > 0 && x.at < e.head(); n-- {
					x.read(e, t)
				}
			}
		}
		e.flush()
		for i := range readers {
			x := &readers[i]
			for x.at < e.head() {
				x.read(e, t)
			}
			theirs := maps.Clone(truth)
			maps.DeleteFunc(theirs, func(sid int16, _ string) bool { return !x.sees(e.slotOf(sid)) })
			if !maps.Equal(x.knows, theirs) {
				t.Fatalf("round %d: a reader knows %v, and the truth is %v", round, x.knows, theirs)
			}
		}
		if longest > 3*many+64 {
			t.Errorf("the log was %d long", longest)
		}
	}
}

// read tells a reader of the next change.
func (x *reader) read(e *elements, t *testing.T) {
	slot, at := x.next(mainsAlone, x.at)
	if at == e.head() {
		x.at = at
		return
	}
	x.at = at + 1
	el := &e.list[slot]
	if string(el.data) < x.knows[el.sid] {
		t.Fatalf("%q after %q", el.data, x.knows[el.sid])
	}
	x.knows[el.sid] = string(el.data)
}

type reader struct {
	view
	at    uint64
	knows map[int16]string
}

// The outbox is a queue of bytes, however they are put in and taken out.
func TestTheOutboxAgreesWithAModel(t *testing.T) {
	r := kit.Rand(t)
	var o outbox
	shared := newShared(1)
	var model []byte
	for range max(kit.Rounds(20_000, 200_000), 5000) {
		if len(model) < 1<<17 && r.IntN(2) == 0 {
			n := rand.New(rand.NewPCG(r.Uint64(), 1)).IntN(1 << r.IntN(14))
			o.put(noise[:n], &shared.buffers)
			model = append(model, noise[:n]...)
		} else {
			buf := make([]byte, 1+r.IntN(1<<r.IntN(15)))
			n := o.moveTo(buf, &shared.buffers)
			if want := min(len(buf), len(model)); n != want || string(buf[:n]) != string(model[:n]) {
				t.Fatalf("%d bytes came, want %d", n, want)
			}
			model = model[n:]
		}
		if o.size != len(model) {
			t.Fatalf("it has %d bytes, want %d", o.size, len(model))
		}
	}
}

// A state that is larger than the queue of main is sent as room comes, while it changes; and a
// client that joins without a feed, or loses it on the way, gets it too.
func TestALargeStateIsSentAsRoomComes(t *testing.T) {
	for _, loss := range []float64{0, 1} {
		w := newWorld(t, 1, Config{Resync: -1}, simnet.Profile{Delay: 5 * time.Millisecond, Loss: loss})
		const count = 10_000
		set := func(sid int16, fill byte) {
			w.put(sid, append([]byte{2, 200}, slices.Repeat([]byte{fill}, 200)...))
		}
		for sid := range int16(count) {
			set(sid, 0)
		}
		w.flush(0)
		x := w.dial(0)
		x.pipe.delay, x.pipe.room = 20*time.Millisecond, 16<<10 // some 800 KB a second
		most := 0
		for i := 0; x.synced == 0; i++ {
			for range 20 {
				sid := int16(w.rng.IntN(count))
				if w.rng.IntN(10) == 0 {
					w.mux.Remove(sid)
				} else {
					set(sid, byte(i))
				}
			}
			w.flush(20 * time.Millisecond)
			if c := x.conn(); c != nil {
				most = max(most, c.Queued())
			}
			if i > 3000 || x.closed != nil {
				t.Fatalf("loss %v: after %d ticks it is %v with %d of %d elements", loss, i, x.State(), len(x.state), count)
			}
		}
		w.run(2 * time.Second)
		if !x.agrees(w.truth()) {
			t.Errorf("loss %v: it knows %d elements, and there are %d", loss, len(x.state), len(w.truth()))
		}
		if most > fillBytes+writeBytes+1<<10 {
			t.Errorf("loss %v: %d bytes were queued", loss, most)
		}
	}
}

// Only main names: an update that comes on the feed between SYNC_START and SYNC_END does not
// keep an element that the server has not named.
func TestAnUpdateDoesNotName(t *testing.T) {
	s := newStage(t, FromClient, "open")
	main := func(b ...byte) { s.e.HandleBytes(s.now, b) }
	main(append([]byte{CodeSync, 0, 6}, valueOf(1)...)...)
	main(append([]byte{CodeSync, 0, 7}, valueOf(1)...)...)
	main(CodeSyncStart)
	main(append([]byte{CodeSync, 0, 7}, valueOf(2)...)...)
	d := Datagram{Sequence: s.e.feed.last + 1, Message: Message{Kind: KindUpdate, SID: 6, Data: valueOf(3)}}
	s.e.HandleDatagram(s.now, serverAddr, d.AppendTo(nil))
	main(CodeSyncEnd)
	words, _ := s.poll()
	if want := []string{"sync", "sync", "sync", "update", "gone", "synced", "SYNC_OK"}; !slices.Equal(words, want) {
		t.Errorf("%q, want %q", words, want)
	}
	if _, ok := s.e.Element(6); ok {
		t.Error("6 is still there")
	}
}

// What a sync that has begun will name is not told before, and what it will not name is not
// said to be gone: nobody is told anything twice.
func TestASyncThatHasBegunTellsNothingTwice(t *testing.T) {
	w := newWorld(t, 1, Config{Resync: -1}, perfect)
	const count = 2000
	for sid := range int16(count) {
		w.put(sid, append([]byte{2, 200}, noise[:200]...))
	}
	w.onEvent = func(c *Conn, ev Event) {
		if ev.Kind == EventJoined {
			c.HideAll()
			for sid := range int16(count) {
				c.Show(sid)
			}
		}
	}
	x := w.dial(0)
	x.pipe.room = 16 << 10
	for x.synced == 0 {
		w.flush(5 * time.Millisecond)
	}
	if s := x.Stats(); s.MainIn != 1+count+2 {
		t.Errorf("%d messages on main for %d elements", s.MainIn, count)
	}
	// The second half is gone while a second sync runs.
	w.run(time.Second)
	before := x.Stats().MainIn
	x.conn().resync()
	w.flush(20 * time.Millisecond)
	for sid := range int16(count / 2) {
		x.conn().Hide(count/2 + sid)
	}
	for x.synced == 1 {
		w.flush(5 * time.Millisecond)
	}
	if n := x.Stats().MainIn - before; n != count/2+2 || !slices.Equal(slices.Sorted(maps.Keys(x.state)), first(count/2)) {
		t.Errorf("%d messages on main for %d elements; %d are known", n, count/2, len(x.state))
	}
}

func first(n int16) (all []int16) {
	for sid := range n {
		all = append(all, sid)
	}
	return all
}

// What was left to the feed and had not gone when the feed was lost goes over main.
func TestWhatTheFeedDidNotCarryIsMains(t *testing.T) {
	r := newRoom(t, Config{Resync: -1})
	g := r.join("10.0.0.2")
	set := func(value uint64) {
		r.put(7, valueOf(value))
		r.mux.Flush()
	}
	written := func() (all []byte) {
		for n, c, ok := r.mux.PollBytes(r.buf[:]); ok; n, c, ok = r.mux.PollBytes(r.buf[:]) {
			all = append(all, r.buf[:n]...)
			r.mux.Written(r.now, c)
		}
		return all
	}
	set(1)
	r.drain()
	set(2)
	if got := written(); len(got) != 0 {
		t.Fatalf("with a feed, main has %x", got)
	}
	g.say(CodeConnFailed)
	sync := Message{Kind: KindSync, SID: 7, Data: valueOf(2)}
	if got := written(); string(got) != string(sync.AppendTo(nil)) {
		t.Errorf("main has %x when the feed is lost", got)
	}
	if out := r.drain(); len(out) != 0 {
		t.Errorf("%v goes to a feed that is lost", out)
	}
	g.say(CodeConnOK)
	if out := r.drain(); len(out) != 0 {
		t.Errorf("what main has told is told again: %v", out)
	}
	set(3)
	if got := written(); len(got) != 0 {
		t.Errorf("with a feed again, main has %x", got)
	}
	if out := r.drain(); out[g.feed] != HeaderBytes+3+9 {
		t.Errorf("with a feed again, it has %v", out)
	}
}

// Who is behind is told the newest value, once.
func TestWhoIsBehindIsToldOnce(t *testing.T) {
	r := newRoom(t, Config{Resync: -1})
	g := r.join("10.0.0.2")
	for i := range uint64(10) {
		for sid := range int16(3) {
			r.put(sid, valueOf(i))
		}
		r.mux.Flush()
		if i == 0 {
			r.drain()
		}
	}
	if out := r.drain(); out[g.feed] != 3*(HeaderBytes+3+9) {
		t.Errorf("%d bytes for three elements that changed nine times", out[g.feed])
	}
}

// That an element is gone is remembered until the next sync begins, and not longer: a server
// may use a SID again and say so on the feed first.
func TestWhatIsGoneIsForgottenWithTheNextSync(t *testing.T) {
	s := newStage(t, FromClient, "open")
	update := func() []string {
		d := Datagram{Sequence: s.e.feed.last + 1, Message: Message{Kind: KindUpdate, SID: 6, Data: valueOf(3)}}
		s.e.HandleDatagram(s.now, serverAddr, d.AppendTo(nil))
		words, _ := s.poll()
		return words
	}
	s.e.HandleBytes(s.now, append([]byte{CodeSync, 0, 6}, valueOf(1)...))
	s.e.HandleBytes(s.now, []byte{CodeSync, 0, 6, 0})
	s.poll()
	if got := update(); len(got) != 0 {
		t.Errorf("an update of what is gone: %q", got)
	}
	s.e.HandleBytes(s.now, []byte{CodeSyncStart, CodeSyncEnd})
	s.poll()
	if len(s.e.mirror.items) != 0 || s.e.mirror.bytes != 0 {
		t.Errorf("%d are remembered in %d bytes", len(s.e.mirror.items), s.e.mirror.bytes)
	}
	if got := update(); !slices.Equal(got, []string{"update"}) {
		t.Errorf("after a sync: %q", got)
	}
}

// While events are not polled, main is not read on.
func TestMainIsNotReadOnWhileNobodyPolls(t *testing.T) {
	s := newStage(t, FromClient, "open")
	signals := slices.Repeat([]byte{14}, 1000)
	if n := s.e.HandleBytes(s.now, signals); n != maxInboxEvents {
		t.Errorf("%d signals were taken, want %d", n, maxInboxEvents)
	}
	if n := s.e.HandleBytes(s.now, signals); n != 0 {
		t.Errorf("%d more were taken", n)
	}
	s.poll()
	var long []byte
	for range 10 {
		m := Message{Kind: KindSync, SID: -1, Data: append([]byte{0xea, 0x60}, noise[:60000]...)}
		long = m.AppendTo(long)
	}
	if n := s.e.HandleBytes(s.now, long); n != 2*60005 {
		t.Errorf("%d bytes of long messages were taken, want two messages", n)
	}
}
