package core

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"
	"unsafe"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/internal/shell/shelltest"
)

// lane is a server's connection and its client, with nothing between them.
type lane struct {
	t      testing.TB
	now    time.Time
	mux    *Mux
	conn   *Conn
	client *Endpoint
	buf    [1 << 16]byte
	got    int
}

func newLane(t testing.TB) *lane {
	l := &lane{t: t, now: stageStart, mux: NewMux(stageStart, Config{Schema: gameSchema, Resync: -1}, newShared(1), keyOf(1))}
	l.client = NewClient(l.now, serverAddr, serverAddr, Config{Schema: gameSchema}, newShared(2))
	l.conn = l.mux.Accept(l.now, clientAddr)
	for range 5 {
		l.exchange()
	}
	if l.client.State() != StateOpen || l.conn.e.State() != StateOpen || !l.conn.FeedUp() {
		t.Fatalf("%v and %v", l.client.State(), l.conn.e.State())
	}
	return l
}

// exchange moves all that there is, once each way.
func (l *lane) exchange() {
	for n := l.client.PollBytes(l.buf[:]); n > 0; n = l.client.PollBytes(l.buf[:]) {
		for at := 0; at < n; {
			at += l.mux.HandleBytes(l.now, l.conn, l.buf[at:n])
			for _, _, ok := l.mux.PollEvent(); ok; _, _, ok = l.mux.PollEvent() {
				l.got++
			}
		}
		l.client.Written(l.now)
	}
	for n, _, ok := l.client.PollTransmit(l.buf[:]); ok; n, _, ok = l.client.PollTransmit(l.buf[:]) {
		l.mux.HandleDatagram(l.now, clientAddr, l.buf[:n])
	}
	for _, _, ok := l.mux.PollEvent(); ok; _, _, ok = l.mux.PollEvent() {
		l.got++
	}
	for n, c, ok := l.mux.PollBytes(l.buf[:]); ok; n, c, ok = l.mux.PollBytes(l.buf[:]) {
		for at := 0; at < n; {
			at += l.client.HandleBytes(l.now, l.buf[at:n])
			for _, ok := l.client.PollEvent(); ok; _, ok = l.client.PollEvent() {
				l.got++
			}
		}
		l.mux.Written(l.now, c)
	}
	for n, _, ok := l.mux.PollTransmit(l.buf[:]); ok; n, _, ok = l.mux.PollTransmit(l.buf[:]) {
		l.client.HandleDatagram(l.now, serverAddr, l.buf[:n])
		for _, ok := l.client.PollEvent(); ok; _, ok = l.client.PollEvent() {
			l.got++
		}
	}
}

// Nothing on the way of a message allocates: updates both ways, syncs, queries, replies.
func TestNothingAllocates(t *testing.T) {
	if kit.Race {
		t.Skip("the race detector allocates")
	}
	l := newLane(t)
	value := uint64(0)
	var data [9]byte
	data[0] = 1
	for _, tt := range []struct {
		name string
		do   func() error
	}{
		{"a server's updates", func() error {
			for sid := range int16(20) {
				value++
				data[8], data[7], data[6] = byte(value), byte(value>>8), byte(value>>16)
				if err := l.mux.Set(sid, data[:]); err != nil {
					return err
				}
			}
			l.mux.Flush()
			return nil
		}},
		{"a client's updates", func() error { return l.client.Update(l.now, 1, data[1:]) }},
		{"a client's syncs", func() error { return l.client.Sync(l.now, 1, data[1:]) }},
		{"a server's syncs", func() error { return l.conn.Sync(3, data[:]) }},
		{"signals", func() error {
			if err := l.client.Signal(l.now, Feed, 14); err != nil {
				return err
			}
			return l.conn.Signal(Main, 14)
		}},
		{"queries on main", func() error {
			if _, err := l.client.Query(l.now, Main, 65, data[:4]); err != nil {
				return err
			}
			l.exchange()
			return l.conn.Reply(l.conn.e.owed.lastID, 0, data[:4])
		}},
		{"queries on the feed", func() error {
			if _, err := l.client.Query(l.now, Feed, 65, data[:4]); err != nil {
				return err
			}
			l.exchange()
			return l.conn.Reply(l.conn.e.owed.lastID, 0, data[:4])
		}},
		{"keep-alives", func() error { l.client.feedInit(l.now); return nil }},
	} {
		got := l.got
		run := func() {
			if err := tt.do(); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			l.exchange()
			l.exchange()
		}
		for range 100 {
			run() // so that buffers are there
		}
		if n := testing.AllocsPerRun(200, run); n != 0 {
			t.Errorf("%s: %v allocations", tt.name, n)
		}
		if l.got == got && tt.name != "keep-alives" {
			t.Errorf("%s: nothing arrived", tt.name)
		}
	}
}

// T3: reading and refusing allocate nothing.
func TestReadingDoesNotAllocate(t *testing.T) {
	promise.Keeps(t, "T3", "duplex", 1)
	if kit.Race {
		t.Skip("the race detector allocates")
	}
	r := kit.Rand(t)
	var inputs [][]byte
	for range 1000 {
		s := shapes[r.IntN(len(shapes))]
		d := Datagram{Sequence: 1, Message: s.random(r)}
		b := d.AppendTo(nil)
		if r.IntN(2) == 0 {
			b[r.IntN(len(b))] ^= byte(1 + r.IntN(255))
		}
		inputs = append(inputs, b)
	}
	n := testing.AllocsPerRun(10, func() {
		for _, b := range inputs {
			var d Datagram
			_ = d.Parse(FromClient, b)
			_ = d.Message.Parse(FromServer, Main, b[HeaderBytes:])
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A connection that is idle is small. Go's allocator gives out memory in steps: of 1,152 bytes it needs 8 itself.
func TestAnIdleConnectionIsSmall(t *testing.T) {
	const place = 1152 - 8
	if n := unsafe.Sizeof(Conn{}); n > place {
		t.Errorf("a Conn has %d bytes; past %d each costs 128 more", n, place)
	}
	l := newLane(t)
	for range 10 {
		if err := l.conn.Sync(3, valueOf(1)); err != nil {
			t.Fatal(err)
		}
		l.exchange()
	}
	for _, e := range []*Endpoint{l.client, &l.conn.e} {
		if e.inbox.bytes != nil || e.out.tail != nil || e.stream.held != nil || e.feed.loose.Len() != 0 {
			t.Errorf("an idle one holds buffers: %d, %d, %d", cap(e.inbox.bytes), cap(e.out.tail), cap(e.stream.held))
		}
	}
}

func BenchmarkUpdate(b *testing.B) {
	l := newLane(b)
	var data [9]byte
	data[0] = 1
	for sid := range int16(100) {
		if err := l.mux.Set(sid, data[:]); err != nil {
			b.Fatal(err)
		}
	}
	l.mux.Flush()
	l.exchange()
	value := 0
	b.ReportAllocs()
	for b.Loop() {
		value++
		data[8], data[7], data[6], data[5] = byte(value), byte(value>>8), byte(value>>16), byte(value>>24)
		for sid := range int16(100) {
			_ = l.mux.Set(sid, data[:])
		}
		l.mux.Flush()
		for _, _, ok := l.mux.PollBytes(l.buf[:]); ok; _, _, ok = l.mux.PollBytes(l.buf[:]) {
		}
		for _, _, ok := l.mux.PollTransmit(l.buf[:]); ok; _, _, ok = l.mux.PollTransmit(l.buf[:]) {
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/update")
}

// A thousand players of whom each sees its own element alone, and all change in each tick.
func BenchmarkAThousandWhoSeeThemselves(b *testing.B) {
	const players = 1000
	r := newRoom(b, Config{Resync: -1, MaxPlayers: players})
	var guests []*guest
	for i := range players {
		g := r.join(fmt.Sprintf("10.0.%d.%d", i>>8, i&255))
		g.HideAll()
		g.Show(g.Player())
		guests = append(guests, g)
	}
	value := uint64(0)
	var data [9]byte
	tick := func() {
		value++
		data[0] = 1
		binary.BigEndian.PutUint64(data[1:], value)
		for _, g := range guests {
			if err := r.mux.Set(g.Player(), data[:]); err != nil {
				b.Fatal(err)
			}
		}
		r.mux.Flush()
		for _, c, ok := r.mux.PollBytes(r.buf[:]); ok; _, c, ok = r.mux.PollBytes(r.buf[:]) {
			r.mux.Written(r.now, c)
		}
		for _, _, ok := r.mux.PollTransmit(r.buf[:]); ok; _, _, ok = r.mux.PollTransmit(r.buf[:]) {
		}
	}
	tick() // on main, as it is new
	b.ReportAllocs()
	for b.Loop() {
		tick()
	}
	for _, g := range guests {
		if n := g.Stats().Updates; n != value-1 {
			b.Fatalf("%d updates in %d ticks", n, value)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/players, "ns/player")
}

func BenchmarkParse(b *testing.B) {
	d := Datagram{Sequence: 1, Message: Message{Kind: KindUpdate, SID: 7, Data: valueOf(1)}}
	buf := d.AppendTo(nil)
	b.ReportAllocs()
	for b.Loop() {
		if !d.Parse(FromServer, buf) {
			b.Fatal("refused")
		}
	}
}

// T58: connections that come and go leave nothing in the tables, and no memory.
func TestChurn(t *testing.T) {
	r := newRoom(t, Config{})
	turn := func() {
		g := r.join("10.0.0.2")
		g.update()
		if err := g.Sync(7, valueOf(1)); err != nil {
			t.Fatal(err)
		}
		r.drain()
		r.mux.HandleEnd(r.now, g.Conn, "")
		r.drain()
		r.now = r.now.Add(time.Millisecond)
		r.ended = r.ended[:0]
		r.next %= 20000
	}
	for range 1000 {
		turn()
	}
	before := shelltest.LiveHeap()
	n := promise.Keeps(t, "T58", "duplex", kit.Rounds(100_000, 1_000_000))
	for range n {
		turn()
	}
	if grown := shelltest.LiveHeap() - before; grown > 64<<10 && !kit.Race {
		t.Errorf("%d connections left %d bytes", n, grown)
	}
	if r.mux.Len()+len(r.mux.ids)+len(r.mux.feeds)+r.mux.porch.Len()+r.mux.joined != 0 || !r.mux.conns.Idle() || r.mux.streams.Len() != 0 {
		t.Error("something is left in the tables")
	}
}
