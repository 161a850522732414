package core

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/netip"
	"time"

	"parley/internal/admission"
	"parley/simnet"
)

// party is one run under a plan of faults: an open room, and guests who join, send in all modes
// to all and to the server, leave, crash and come again. Each life of a guest has a port of its
// own. What the server passes on is written down when it does so, with who was in the room; what
// each guest gets is held against that.
type party struct {
	seed    uint64
	plan    simnet.Plan
	lenient bool // the plan corrupts, so what arrives may not be what was sent
	net     *simnet.Network
	rng     *rand.Rand
	rules   Rules

	server  *simnet.Host
	mux     *Mux
	guests  []*guest
	lives   map[netip.AddrPort]*life // by their first address
	ports   uint16
	silent  time.Time // when guests stop to send
	ends    map[Reason]int
	relayed int
	err     error
}

// guest is a participant over all its lives.
type guest struct {
	party *party
	host  *simnet.Host
	life  *life
}

// life is one stay of a guest, from a port of its own.
type life struct {
	*Endpoint
	guest   *guest
	addr    netip.AddrPort
	joined  bool
	ended   bool
	leaving bool
	spoilt  bool // the server restarted or the address changed: then ids mean nothing any more

	sent     []bool // reliable packages, in order: has the server got it?
	complete int    // all before this one have
	loose    uint32
	expect   map[*life]*series // what the server has passed on to us, by sender
}

// series is what one was sent of another's reliable packages, in order.
type series struct {
	items []item
	done  int // all before this one were delivered
	index map[uint32]int
}

type item struct {
	seq  uint32
	mode Mode
	got  bool
}

const (
	partyTick   = 300 * time.Millisecond
	partyHeader = 15 // port u16, seq u32, mode u8, checksum u32, padding
)

var partyServer = netip.MustParseAddrPort("10.0.0.1:7000")

func newParty(seed uint64, limits simnet.PlanLimits, guests int) *party {
	return newPlanned(seed, simnet.RandomPlan(seed, partyNames(guests), limits), guests)
}

func partyNames(guests int) []string {
	names := []string{"server"}
	for i := range guests {
		names = append(names, fmt.Sprintf("guest%d", i))
	}
	return names
}

// newPlanned is a party under a plan of the test's own.
func newPlanned(seed uint64, plan simnet.Plan, guests int) *party {
	s := &party{seed: seed, plan: plan, net: simnet.New(seed), rng: rand.New(rand.NewPCG(seed, 5)), lives: map[netip.AddrPort]*life{}, ends: map[Reason]int{}}
	names := partyNames(guests)
	for _, step := range s.plan.Steps {
		s.lenient = s.lenient || step.Profile.Corrupt > 0
	}
	s.silent = s.net.Now().Add(s.plan.Calm + 5*time.Second)
	s.server = s.net.Add(partyServer, s.newServer()).Named("server")
	s.server.AfterTurn(s.serverTurn)
	hosts := []*simnet.Host{s.server}
	for i := range guests {
		g := &guest{party: s}
		addr := s.freeAddr()
		g.host = s.net.Add(addr, g.begin(s.net.Now(), addr)).Named(names[i+1])
		g.host.AfterTurn(g.turn)
		s.guests = append(s.guests, g)
		hosts = append(hosts, g.host)
	}
	if err := s.plan.Apply(s.net, s.restart, hosts...); err != nil {
		panic(err)
	}
	s.net.After(partyTick, "tick", s.tick)
	return s
}

// freeAddr returns an address that nobody has had. Every third is on the internet.
func (s *party) freeAddr() netip.AddrPort {
	s.ports++
	ip := netip.AddrFrom4([4]byte{10, 1, 0, 1})
	if s.ports%3 == 0 {
		ip = netip.AddrFrom4([4]byte{203, 0, 113, 7})
	}
	return netip.AddrPortFrom(ip, 10000+8*s.ports) // a plan's rebind takes the next port
}

func (s *party) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

// restart makes the node of a host that crashed.
func (s *party) restart(h *simnet.Host) simnet.Node {
	if h == s.server {
		for _, l := range s.lives {
			l.spoilt = true
		}
		return s.newServer()
	}
	for _, g := range s.guests {
		if g.host == h {
			return g.beginElsewhere()
		}
	}
	panic("no such host")
}

func (s *party) newServer() *Mux {
	now := s.net.Now()
	if s.server != nil {
		now = s.server.Now()
	}
	c := Config{Lobby: &witness{NewOpenLobby(OpenConfig{Rules: s.rules}), s}}
	s.mux = NewMux(now, c, newShared(s.rng.Uint64()), admission.Key{byte(s.seed)}, nil)
	return s.mux
}

// witness is an open lobby that writes down what it passes on to whom.
type witness struct {
	*OpenLobby
	s *party
}

// Receive is the open lobby's.
func (w *witness) Receive(now time.Time, p *Peer, pkg Package) bool {
	if _, challenge := readChallenge(pkg.Payload); !pkg.Server || !challenge {
		w.s.witness(p, pkg)
	}
	return w.OpenLobby.Receive(now, p, pkg)
}

func (s *party) witness(p *Peer, pkg Package) {
	s.relayed++
	from, seq, mode, ok := s.read(pkg.Payload)
	if s.lenient {
		return
	}
	sender := s.lives[p.end.Addr()]
	if !ok || from != sender || mode != pkg.Mode {
		if sender != nil && !sender.isSpoilt() {
			s.fail("the server got %x as %v from %v", pkg.Payload, pkg.Mode, p.end.Addr())
		}
		return
	}
	if mode == Unreliable || sender.isSpoilt() {
		return
	}
	sender.arrived(seq, mode)
	if pkg.Server {
		return
	}
	for other := range p.Room().All() {
		if r := s.lives[other.end.Addr()]; other != p && other.end.state == StateOpen && r != nil && !r.isSpoilt() {
			r.expects(sender, seq, mode)
		}
	}
}

// isSpoilt reports whether ids have lost their meaning in this life.
func (l *life) isSpoilt() bool {
	l.spoilt = l.spoilt || l.guest.life == l && l.guest.host.Addr() != l.addr
	return l.spoilt
}

// arrived notes that the server has a reliable package.
func (l *life) arrived(seq uint32, mode Mode) {
	s := l.guest.party
	switch {
	case int(seq) >= len(l.sent):
		s.fail("%v: the server got package %d of %d", l.addr, seq, len(l.sent))
		return
	case l.sent[seq]:
		s.fail("%v: the server got package %d twice", l.addr, seq)
	case mode == SemiOrdered && l.complete < int(seq):
		s.fail("%v: the server got semi-ordered package %d before %d", l.addr, seq, l.complete)
	}
	l.sent[seq] = true
	for l.complete < len(l.sent) && l.sent[l.complete] {
		l.complete++
	}
}

// expects notes that a reliable package was passed on to this one.
func (l *life) expects(sender *life, seq uint32, mode Mode) {
	x := l.expect[sender]
	if x == nil {
		x = &series{index: map[uint32]int{}}
		l.expect[sender] = x
	}
	x.index[seq] = len(x.items)
	x.items = append(x.items, item{seq: seq, mode: mode})
}

// takes holds a delivery against the law: once, and a semi-ordered one after all reliable
// ones of its sender before it.
func (l *life) takes(pkg Package) {
	s := l.guest.party
	sender, seq, mode, ok := s.read(pkg.Payload)
	if s.lenient || l.isSpoilt() {
		return
	}
	if !ok || pkg.Server || mode != pkg.Mode || sender == l {
		s.fail("%v: got %x as %v, from the server %t", l.addr, pkg.Payload, pkg.Mode, pkg.Server)
		return
	}
	if mode == Unreliable || sender.isSpoilt() {
		return
	}
	x := l.expect[sender]
	if x == nil {
		s.fail("%v: got a package of %v that it was never sent", l.addr, sender.addr)
		return
	}
	i, known := x.index[seq]
	switch {
	case !known:
		s.fail("%v: got package %d of %v, which it was never sent", l.addr, seq, sender.addr)
		return
	case x.items[i].got:
		s.fail("%v: got package %d of %v twice", l.addr, seq, sender.addr)
	case mode == SemiOrdered && x.done < i:
		s.fail("%v: got semi-ordered package %d of %v before %d", l.addr, seq, sender.addr, x.items[x.done].seq)
	}
	x.items[i].got = true
	for x.done < len(x.items) && x.items[x.done].got {
		x.done++
	}
}

// write makes a payload that says whose it is.
func (l *life) write(seq uint32, mode Mode, size int) []byte {
	b := make([]byte, partyHeader+size)
	binary.BigEndian.PutUint16(b, l.addr.Port())
	copy(b[2:], l.addr.Addr().AsSlice())
	binary.BigEndian.PutUint32(b[6:], seq)
	b[10] = byte(mode)
	binary.BigEndian.PutUint32(b[11:], partySum(b))
	return b
}

func (s *party) read(b []byte) (from *life, seq uint32, mode Mode, ok bool) {
	if len(b) < partyHeader || partySum(b) != binary.BigEndian.Uint32(b[11:]) {
		return nil, 0, 0, false
	}
	ip := netip.AddrFrom4([4]byte(b[2:6]))
	from = s.lives[netip.AddrPortFrom(ip, binary.BigEndian.Uint16(b))]
	return from, binary.BigEndian.Uint32(b[6:]), Mode(b[10]), from != nil
}

// partySum is a checksum of all but itself.
func partySum(b []byte) uint32 {
	h := fnv.New32a()
	h.Write(b[:11])
	h.Write(b[partyHeader:])
	return h.Sum32()
}

func (s *party) serverTurn(now time.Time) {
	s.mux.Advance(now)
	for p, ev, ok := s.mux.PollEvent(); ok; p, ev, ok = s.mux.PollEvent() {
		if ev.Kind != EventLeft {
			continue
		}
		s.ends[ev.Close.Reason]++
		if ev.Close.Reason == 0 {
			s.fail("%v left without a reason", p.end.Addr())
		}
		st := p.end.Stats()
		if err := st.Check(); err != nil {
			s.fail("%v: %v", p.end.Addr(), err)
		}
		if p.Room() != nil || s.mux.First().Peer(p.end.Addr()) == p {
			s.fail("%v left and is still in the room", p.end.Addr())
		}
	}
	for _, ok := s.mux.PollPort(); ok; _, ok = s.mux.PollPort() {
	}
}

// begin starts a life at an address.
func (g *guest) begin(now time.Time, addr netip.AddrPort) *Endpoint {
	s := g.party
	e, err := NewClient(now, partyServer, Config{Rules: s.rules}, newShared(s.rng.Uint64()))
	if err != nil {
		panic(err)
	}
	g.life = &life{Endpoint: e, guest: g, addr: addr, expect: map[*life]*series{}}
	s.lives[addr] = g.life
	return e
}

// beginElsewhere starts the next life: "it starts again at id 0 from a new port".
func (g *guest) beginElsewhere() *Endpoint {
	g.life.isSpoilt() // is seen from its address
	addr := g.party.freeAddr()
	g.host.Rebind(addr)
	return g.begin(g.host.Now(), addr)
}

func (g *guest) turn(time.Time) {
	l, s := g.life, g.party
	for ev, ok := l.PollEvent(); ok; ev, ok = l.PollEvent() {
		if l.ended {
			s.fail("%v: %v after its end", l.addr, ev.Kind)
		}
		switch ev.Kind {
		case EventJoined:
			l.joined = true
		case EventPackage:
			l.takes(ev.Package)
		case EventLeft:
			l.ended = true
			s.ends[ev.Close.Reason]++
			st := l.Stats()
			if err := st.Check(); err != nil {
				s.fail("%v: %v", l.addr, err)
			}
			if _, ok := l.NextTimeout(); ok || ev.Close.Reason == 0 {
				s.fail("%v: ended with a timeout or without a reason", l.addr)
			}
			s.net.After(100*time.Millisecond, "join again", func() {
				if g.life == l && g.host.Node() == simnet.Node(l.Endpoint) {
					g.host.Restart(g.beginElsewhere())
				}
			})
		}
	}
}

// tick has each guest send something, or leave.
func (s *party) tick() {
	if s.net.Now().Before(s.silent) {
		s.net.After(partyTick, "tick", s.tick)
	}
	for _, g := range s.guests {
		l := g.life
		if g.host.Node() != simnet.Node(l.Endpoint) || !l.joined || l.state != StateOpen {
			continue
		}
		n := 1
		if s.rng.IntN(40) == 0 {
			n = 20
		}
		for range n {
			l.send()
		}
		if s.rng.IntN(60) == 0 && s.net.Elapsed() < s.plan.Calm {
			l.leaving = true
			l.Endpoint.Close(g.host.Now(), "")
		}
		g.host.Poke()
	}
}

func (l *life) send() {
	s := l.guest.party
	mode, to := Mode(s.rng.IntN(3)), ToOthers
	if s.rng.IntN(5) == 0 {
		to = ToServer
	}
	seq, size := uint32(len(l.sent)), s.rng.IntN(40)
	if s.rng.IntN(10) == 0 {
		size = s.rng.IntN(MaxPayload - partyHeader)
	}
	if mode == Unreliable {
		seq = l.loose
		l.loose++
	}
	if l.Send(l.guest.host.Now(), mode, to, l.write(seq, mode, size)) == nil && mode.Reliable() {
		l.sent = append(l.sent, false)
	}
}

// inStep reports whether the newest reliable package of one is the newest that the other has.
func inStep(from, to *Endpoint) bool {
	return from.sender.Next() == 0 || to.near == from.sender.Next()-1
}

// unsettled reports why not all is as it should be after the faults, or nothing.
func (s *party) unsettled() string {
	for _, g := range s.guests {
		l := g.life
		p := s.mux.First().Peer(g.host.Addr())
		switch {
		case !l.joined || l.state != StateOpen:
			return fmt.Sprintf("%v is %v", l.addr, l.state)
		case p == nil || p.end.state != StateOpen || p.Room() == nil:
			return fmt.Sprintf("%v is not in the room", l.addr)
		case l.Unconfirmed()+p.end.Unconfirmed() > 0:
			return fmt.Sprintf("%v: %d and %d are unconfirmed", l.addr, l.Unconfirmed(), p.end.Unconfirmed())
		case s.lenient:
		case !inStep(l.Endpoint, &p.end) || !inStep(&p.end, l.Endpoint):
			return fmt.Sprintf("%v: the two sides count differently", l.addr)
		case l.isSpoilt():
		case l.complete < len(l.sent):
			return fmt.Sprintf("%v: the server has not got package %d", l.addr, l.complete)
		}
		for sender, x := range l.expect {
			if x.done < len(x.items) && !s.lenient && !sender.spoilt && !l.spoilt {
				return fmt.Sprintf("%v: package %d of %v is missing", l.addr, x.items[x.done].seq, sender.addr)
			}
		}
	}
	return ""
}

// run goes through all faults and waits for the calm after them.
func (s *party) run() error {
	if err := s.net.Run(s.silent.Sub(s.net.Now()) + partyTick); err != nil {
		return err
	}
	// A guest that lost its server at the very end needs 10 s to notice, and then some.
	err := s.net.RunUntil(func() bool { return s.err != nil || s.unsettled() == "" }, 25*time.Second)
	if s.err == nil && err != nil {
		s.err = fmt.Errorf("%w: %s", err, s.unsettled())
	}
	if s.err == nil {
		s.err = s.net.Stats().Balance()
	}
	if st := s.mux.Stats(); s.err == nil {
		s.err = st.Check()
	}
	return s.err
}
