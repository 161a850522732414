package core

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"parley/internal/admission"
	"parley/internal/kit"
	"parley/internal/pagetest"
	"parley/internal/promise"
)

// driven is one side of a connection, in a known state, to which a test is the
// peer. A step gives it one packet and says in the words of the table what came
// of it.
type driven interface {
	// packet makes the packet of a row as this state's peer would send it.
	packet(row string) []byte
	step(b []byte) []string
	state() string
}

// drive is what both roles share.
type drive struct {
	now    time.Time
	next   uint16 // the peer's next sequence
	synced uint16 // sequence of our newest sync packet, which an answer names
	newest uint16 // of all that we sent
	buf    [2048]byte
}

// note remembers what a transmitted packet tells the peer, and returns its kind.
func (d *drive) note(side Side, b []byte) string {
	var p Packet
	if !p.Parse(side, b) {
		return "garbage"
	}
	if p.Kind == KindSyncInit || p.Kind == KindSyncAck {
		d.synced = p.Sequence
	}
	if p.Kind != KindAck {
		d.newest = p.Sequence
	}
	return p.Kind.String()
}

// rightRow splits a row's name into its packet and whether it is a right one.
func rightRow(row string) (packet, variant string) {
	packet, variant, _ = strings.Cut(row, ", ")
	return packet, variant
}

// build makes the packet of a row; clock is the connection's.
func (d *drive) build(row string, clock uint64) []byte {
	name, variant := rightRow(row)
	if name == "garbage" {
		return []byte{0xff, 0xff}
	}
	p := Packet{Sequence: d.next, Acked: d.synced, Sent: clock, Received: clock, Time: clock, Name: []byte("m")}
	for _, p.Kind = range allKinds {
		if p.Kind.String() == name {
			break
		}
	}
	if variant == "of another time" {
		p.Sent, p.Received, p.Time = clock+1<<40, clock+1<<40, clock+1<<40
	}
	p.Reliable = rules[p.Kind].may&flagReliable != 0
	p.Ordered = rules[p.Kind].must&flagOrdered != 0
	switch {
	case p.Kind == KindInit:
		p.Sequence = 0
	case p.Kind == KindAccept:
		p.Sequence, p.SyncInterval = 1, 1_000_000
	case variant == "a notice":
		p.Reliable, p.Sequence = false, d.newest
	case variant == "out of reach":
		p.Sequence += 30_000
	case p.Kind == KindAck:
		p.Acked = d.newest
	default:
		d.next++
	}
	if p.Kind == KindBundle {
		p.Bundle.Add(appendAck(nil, d.newest))
	}
	p.Count = 1
	if p.Kind == KindReplicate {
		var w ReplicateWriter
		w.Start(nil, &p, maxPacketBytes)
		w.Variable(0, []byte{1, 2, 3, 4})
		return w.Bytes()
	}
	if p.Kind == KindLinkTable {
		var w TableWriter
		w.Start(nil, &p, maxPacketBytes)
		w.Variable(0, DataInt, "v")
		return w.Bytes()
	}
	return p.AppendTo(nil)
}

// counted puts into words what the counters show.
func counted(words []string, before, after Stats) []string {
	for _, c := range []struct {
		grew bool
		text string
	}{
		{after.Malformed > before.Malformed, "malformed"},
		{after.OutOfTime > before.OutOfTime, "out of time"},
		{after.OutOfState > before.OutOfState, "out of state"},
	} {
		if c.grew {
			words = append(words, "counted as "+c.text)
		}
	}
	return words
}

func outcome(words []string, was, is string) []string {
	if was != is {
		words = append(words, "becomes "+is)
	}
	if len(words) == 0 {
		return []string{"nothing"}
	}
	return words
}

// drivenClient is a client whose server is the test.
type drivenClient struct {
	drive
	e     *Endpoint
	epoch time.Time
}

const drivenClock = uint64(1) << 50

func (d *drivenClient) clock() uint64 {
	return drivenClock + uint64(d.now.Sub(d.epoch).Microseconds())
}

func (d *drivenClient) state() string            { return d.e.State().String() }
func (d *drivenClient) packet(row string) []byte { return d.build(row, d.clock()) }

func (d *drivenClient) drain() (words []string) {
	var told []string
	for ev, ok := d.e.PollEvent(); ok; ev, ok = d.e.PollEvent() {
		told = append(told, "tells "+ev.Kind.String())
	}
	for n, _, ok := d.e.PollTransmit(d.buf[:]); ok; n, _, ok = d.e.PollTransmit(d.buf[:]) {
		words = append(words, "sends "+d.note(FromClient, d.buf[:n]))
	}
	return append(words, told...)
}

func (d *drivenClient) step(b []byte) []string {
	was, before := d.state(), d.e.Stats()
	d.e.HandleDatagram(d.now, serverAddr, b)
	words := d.drain()
	return outcome(counted(words, before, d.e.Stats()), was, d.state())
}

func newDrivenClient(state string) *drivenClient {
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	d := &drivenClient{drive: drive{now: start, next: 2}, epoch: start}
	d.e = NewClient(d.now, serverAddr, Config{}, newShared(1))
	d.drain()
	if state == "connecting" {
		return d
	}
	d.now = d.now.Add(10 * time.Millisecond)
	d.step(d.packet("connect.accept"))
	if state == "accepted" {
		return d
	}
	d.step(d.packet("sync.init"))
	if state == "open" {
		return d
	}
	d.e.Close(d.now, "")
	d.drain()
	for state == "closed" && d.e.State() != StateClosed {
		d.now, _ = d.e.NextTimeout()
		d.e.HandleTimeout(d.now)
		d.drain()
	}
	return d
}

// drivenServer is a server one of whose clients is the test.
type drivenServer struct {
	drive
	mux    *Mux
	addr   netip.AddrPort
	closed bool // that a connection was there, so no connection is called closed
}

func (d *drivenServer) state() string {
	switch c := d.mux.Conn(d.addr); {
	case c != nil:
		return c.endpoint.State().String()
	case d.mux.half.Get(d.now, d.addr) != nil:
		return "half-open"
	case d.closed:
		return "closed"
	}
	return "stranger"
}

func (d *drivenServer) packet(row string) []byte {
	if c := d.mux.Conn(d.addr); c != nil {
		return d.build(row, c.endpoint.ServerTime(d.now))
	}
	number := d.mux.ended.Next(d.now, d.addr)
	if v := d.mux.half.Get(d.now, d.addr); v != nil {
		number = v.number
	}
	return d.build(row, d.mux.clock(d.now, d.addr, number))
}

func (d *drivenServer) drain() (words []string) {
	var told []string
	for _, ev, ok := d.mux.PollEvent(); ok; _, ev, ok = d.mux.PollEvent() {
		told = append(told, "tells "+ev.Kind.String())
		d.closed = d.closed || ev.Kind == EventClosed
	}
	for n, to, ok := d.mux.PollTransmit(d.buf[:]); ok; n, to, ok = d.mux.PollTransmit(d.buf[:]) {
		if to == d.addr {
			words = append(words, "sends "+d.note(FromServer, d.buf[:n]))
		}
	}
	return append(words, told...)
}

// stats are those of the connection, and what the Mux counts for a stranger.
func (d *drivenServer) stats(c *Conn) (s Stats) {
	if c != nil {
		s = c.Stats()
	}
	s.Malformed += d.mux.stats.Malformed
	return s
}

func (d *drivenServer) step(b []byte) []string {
	c, was := d.mux.Conn(d.addr), d.state()
	before := d.stats(c)
	d.mux.HandleDatagram(d.now, d.addr, b)
	words := d.drain()
	return outcome(counted(words, before, d.stats(c)), was, d.state())
}

// inState begins again from another address and goes to a state.
func (d *drivenServer) inState(state string) *drivenServer {
	d.next, d.synced, d.newest, d.closed = 1, 0, 0, false
	if state == "stranger" {
		return d
	}
	d.step(d.packet("connect.init"))
	d.step(d.packet("ack"))
	if state == "half-open" {
		return d
	}
	d.step(d.packet("message"))
	d.timeout(d.now.Add(1100 * time.Millisecond))
	if state == "open" {
		return d
	}
	d.mux.Conn(d.addr).Close("bye")
	d.drain()
	for state == "closed" && d.state() != "closed" {
		d.timeout(d.now.Add(100 * time.Millisecond))
	}
	return d
}

func (d *drivenServer) timeout(now time.Time) {
	d.now = now
	d.mux.HandleTimeout(now)
	d.drain()
}

func newDrivenServer(t testing.TB) *drivenServer {
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	m := NewMux(start, Config{}, newShared(1), admission.Key{1})
	if _, err := m.Store().AddVariable("v", DataInt); err != nil {
		t.Fatal(err)
	}
	return &drivenServer{drive: drive{now: start}, mux: m, addr: clientAddr}
}

var (
	clientStates = []string{"connecting", "accepted", "open", "closing", "closed"}
	serverStates = []string{"stranger", "half-open", "open", "closing", "closed"}
)

const statesPage = "../../../docs/protocols/replica.md"

// stateRows are the rows that the tables must have: each of the fifteen packets,
// some of them right and wrong.
func stateRows(to Side) (rows []string) {
	for _, k := range allKinds {
		rows = append(rows, k.String())
		if rules[k].from&to.Other() == 0 {
			continue
		}
		switch k {
		case KindReplicate:
			rows = append(rows, k.String()+", of a linked variable", k.String()+", of another time")
		case KindSyncAck, KindMessage:
			rows = append(rows, k.String()+", of another time")
		case KindLinkAccept, KindLinkReject:
			rows = append(rows, k.String()+", to a table")
		case KindDisconnect:
			rows = append(rows, k.String()+", a notice", k.String()+", out of reach")
		}
	}
	return append(rows, "garbage")
}

// comesFirst is the packet that gives a row its sense, "" if none is needed.
func comesFirst(row string) string {
	switch _, variant := rightRow(row); variant {
	case "to a table":
		return "link.init"
	case "of a linked variable":
		return "link.table"
	}
	return ""
}

// cell is a cell of a table: a row's packet in a state.
type cell struct {
	driven
	rows []string
	make func(state string) driven
}

func (c *cell) Begin(state string) { c.driven = c.make(state) }
func (c *cell) State() string      { return c.state() }

func (c *cell) Give(row int) string {
	if first := comesFirst(c.rows[row]); first != "" {
		c.step(c.packet(first))
	}
	return strings.Join(c.step(c.packet(c.rows[row])), ", ")
}

// T26: every packet in every state, both roles: what happens is what the tables of
// docs/protocols/replica.md say.
func TestStatesTables(t *testing.T) {
	role := func(heading string, to Side, states []string, make func(string) driven) kit.Role {
		rows := stateRows(to)
		return kit.Role{Heading: heading, Messages: rows, States: states, Stage: func(testing.TB) kit.Stage { return &cell{rows: rows, make: make} }}
	}
	kit.States(t, "replica", statesPage,
		role("States of a client", FromClient, clientStates, func(s string) driven { return newDrivenClient(s) }),
		role("States of a server", FromServer, serverStates, func(s string) driven { return newDrivenServer(t).inState(s) }))
}

// allowed is what may come of a packet in a state: for each packet and state the
// phrases of all its variants.
func allowed(t testing.TB, heading string, states []string) map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for _, row := range pagetest.Tables(t, statesPage)[heading] {
		packet, _ := rightRow(row["message"])
		for _, state := range states {
			key := packet + " when " + state
			if all[key] == nil {
				all[key] = map[string]bool{"nothing": true}
			}
			for _, phrase := range strings.Split(row[state], ", ") {
				all[key][phrase] = true
			}
		}
	}
	return all
}

// walkStep gives a packet and holds what came of it against the table. A packet
// that comes again may do less than the table says, never more; an ack may let go
// out what waited for it, and with it the goodbye that the application asked for;
// and the 65th malformed datagram ends the connection.
func walkStep(t testing.TB, d driven, e *Endpoint, table map[string]map[string]bool, row string, b []byte) {
	packet, _ := rightRow(row)
	state := d.state()
	asked := e != nil && e.ending != nil && e.ending.leaving()
	for _, phrase := range d.step(b) {
		switch {
		case table[packet+" when "+state][phrase]:
		case packet == "ack" && strings.HasPrefix(phrase, "sends "):
		case state == "accepted" && phrase == "counted as out of state": // it is too far ahead of the accept: see firstWithin
		case e != nil && (asked || e.malformed > maxMalformed) && (phrase == "becomes closing" || phrase == "sends disconnect"):
		default:
			t.Fatalf("%s when %s: %s, which the table does not have", row, state, phrase)
		}
	}
}

// T26, random walks: what a peer sends in any order, with calls of the
// application and time between, has only outcomes of the tables.
func TestWalksThroughTheStates(t *testing.T) {
	r := kit.Rand(t)
	walks := promise.Keeps(t, "T26", "replica", max(kit.Tier(5_000, 1_000_000, 1_000_000), 1000))
	client := allowed(t, "States of a client", clientStates)
	server := allowed(t, "States of a server", serverStates)
	rows := [2][]string{stateRows(FromClient), stateRows(FromServer)}
	reached := map[string]int{}
	var s *drivenServer
	for walk := range walks {
		if walk%2 == 0 {
			d := newDrivenClient(clientStates[r.IntN(2)])
			for range 4 + r.IntN(16) {
				clientTurn(t, d, r, client, rows[0])
				reached["client "+d.state()]++
			}
			continue
		}
		if walk%2000 == 1 {
			s = newDrivenServer(t)
		}
		var port [2]byte
		binary.LittleEndian.PutUint16(port[:], uint16(walk))
		s.addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(walk >> 16), 1, port[1]}), uint16(walk))
		s.inState(serverStates[r.IntN(2)])
		for range 4 + r.IntN(16) {
			serverTurn(t, s, r, server, rows[1])
			reached["server "+s.state()]++
		}
		if c := s.mux.Conn(s.addr); c != nil {
			c.endpoint.end(Close{Reason: ReasonClosed})
			s.mux.conns.Touch(c)
			s.drain()
		}
	}
	for _, state := range clientStates {
		if n := reached["client "+state]; n == 0 {
			t.Errorf("no walk was at a client that is %s", state)
		}
	}
	for _, state := range serverStates {
		if n := reached["server "+state]; n == 0 {
			t.Errorf("no walk was at a server where it is %s", state)
		}
	}
	t.Logf("%d walks, turns in each state: %v", walks, reached)
}

func clientTurn(t testing.TB, d *drivenClient, r *rand.Rand, table map[string]map[string]bool, rows []string) {
	switch r.IntN(24) {
	case 0:
		d.e.Close(d.now, "")
	case 1:
		d.e.Send(d.now, Mode(r.IntN(3)), "m", []byte{1})
	case 2:
		d.e.Link(d.now)
	case 3, 4:
		d.now = d.now.Add(time.Duration(r.IntN(300)) * time.Millisecond)
		d.e.HandleTimeout(d.now)
	default:
		row := rows[r.IntN(len(rows))]
		b := d.packet(row)
		walkStep(t, d, d.e, table, row, b)
		if r.IntN(4) == 0 {
			walkStep(t, d, d.e, table, row, b)
		}
	}
	d.drain()
}

func serverTurn(t testing.TB, d *drivenServer, r *rand.Rand, table map[string]map[string]bool, rows []string) {
	c := d.mux.Conn(d.addr)
	switch op := r.IntN(24); {
	case op == 0 && c != nil && r.IntN(2) == 0:
		c.Close("bye")
	case op == 1 && c != nil:
		c.Send(Mode(r.IntN(3)), "m", []byte{1})
	case op == 2 && c != nil:
		c.Replicate(1000)
	case op == 3:
		d.timeout(d.now.Add(time.Duration(r.IntN(300)) * time.Millisecond))
	default:
		row := rows[r.IntN(len(rows))]
		b := d.packet(row)
		walkStep(t, d, endpointOf(d.mux.Conn(d.addr)), table, row, b)
		if r.IntN(4) == 0 {
			walkStep(t, d, endpointOf(d.mux.Conn(d.addr)), table, row, b)
		}
	}
	d.drain()
}

func endpointOf(c *Conn) *Endpoint {
	if c == nil {
		return nil
	}
	return &c.endpoint
}
