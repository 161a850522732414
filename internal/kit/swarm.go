package kit

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/netip"
	"time"

	"parley/simnet"
)

// Swarm is one run under a plan of faults: a server that sends to each connected player, and players that send to it, if
// the dialect's clients can, and that connect again whenever their connection ends.
//
// Its law: a packet comes in the connection in which it was sent, at most once, a reliable one always and an ordered one
// in its order; or the connection ends with a reason. Once the faults have ended, all are connected and have all that
// they were sent.
type Swarm struct {
	Net     *simnet.Network
	Plan    simnet.Plan
	Host    *simnet.Host // of the server
	Server  Server
	Reasons map[string]int // of ends

	conf     SwarmConfig
	seed     uint64
	lenient  bool // the plan corrupts, so what arrives may not be what was sent
	rng      *rand.Rand
	calm     time.Time
	sessions []*session // in order of birth, of this life of the server
	live     map[any]*session
	born     uint32
	players  []*player
	Err      error // how the law was broken
}

// SwarmConfig is what runs of a dialect have in common.
type SwarmConfig struct {
	Dialect Dialect
	Every   time.Duration // of two packets; 0 is 400 ms
	After   time.Duration // how long all go on sending when the faults have ended; 0 is 15 s
	Within  time.Duration // how long after the faults all must be there; 0 is 30 s
	Large   int           // the size of every tenth ordered packet, at most; 0 is none
}

// flow is what one side sent and the other got, in one connection.
type flow struct {
	id   uint32 // of the connection, 0 before the first packet
	sent [3]uint32
	got  [3]uint32
	seen map[uint64]bool
	late bool // something came after all faults had ended
}

// session is the server's side of a connection.
type session struct {
	name    uint32
	peer    netip.AddrPort
	key     any
	entered bool
	flow
}

// player is a client over all its connections.
type player struct {
	s *Swarm
	i uint32
	Client
	host  *simnet.Host
	lives uint32
	ended bool
	flow
}

// SwarmNames are the names of a server and its clients, for plans.
func SwarmNames(clients int) []string {
	names := []string{"server"}
	for i := range clients {
		names = append(names, fmt.Sprintf("client%d", i))
	}
	return names
}

// New returns a run under a plan.
func (c SwarmConfig) New(seed uint64, plan simnet.Plan, clients int) *Swarm {
	if c.Every == 0 {
		c.Every = 400 * time.Millisecond
	}
	if c.After == 0 { // a player that lost its connection at the very end needs 10 s to notice, and then some
		c.After = 15 * time.Second
	}
	if c.Within == 0 {
		c.Within = 30 * time.Second
	}
	s := &Swarm{conf: c, seed: seed, Plan: plan, Net: simnet.New(seed), rng: rand.New(rand.NewPCG(seed, 5)), Reasons: map[string]int{}}
	s.Net.SetLimits(simnet.Limits{Steps: 20_000_000 + int(plan.Calm/time.Second)*20_000*clients})
	for _, step := range plan.Steps {
		s.lenient = s.lenient || step.Profile.Corrupt > 0
	}
	s.calm = s.Net.Now().Add(plan.Calm)
	s.Host = s.Net.Add(ServerAddr, s.newServer(s.Net.Now())).Named("server")
	s.Host.AfterTurn(s.serverTurn)
	hosts := []*simnet.Host{s.Host}
	for i, name := range SwarmNames(clients)[1:] {
		p := &player{s: s, i: uint32(i)}
		p.dial(s.Net.Now())
		p.host = s.Net.Add(netip.AddrPortFrom(ClientAddr.Addr(), uint16(5000+100*i)), p.Client).Named(name)
		p.host.AfterTurn(p.turn)
		s.players = append(s.players, p)
		hosts = append(hosts, p.host)
	}
	if err := plan.Apply(s.Net, s.restart, hosts...); err != nil {
		panic(err)
	}
	s.Net.After(c.Every, "tick", s.tick)
	return s
}

func (s *Swarm) fail(format string, args ...any) {
	if s.Err == nil {
		s.Err = fmt.Errorf(format, args...)
	}
}

// restart makes the node of a host that crashed.
func (s *Swarm) restart(h *simnet.Host) simnet.Node {
	if h == s.Host {
		return s.newServer(h.Now())
	}
	for _, p := range s.players {
		if p.host == h {
			p.dial(h.Now())
			return p.Client
		}
	}
	panic("no such host")
}

func (s *Swarm) newServer(now time.Time) Server {
	s.sessions, s.live = nil, map[any]*session{}
	s.Server = s.conf.Dialect.Server(now, s.rng.Uint64())
	s.rng.Uint64() // the seeds of swarms that failed once mean the same run as then
	return s.Server
}

func (s *Swarm) serverTurn(time.Time) {
	for ev, ok := s.Server.Next(); ok; ev, ok = s.Server.Next() {
		x := s.live[ev.Conn]
		if (x == nil) != (ev.Kind == Connected) {
			s.fail("the server saw %+v of a connection that never was, was already or is over", ev)
			continue
		}
		switch ev.Kind {
		case Connected:
			s.born++
			x = &session{name: s.born, peer: ev.Peer, key: ev.Conn, flow: flow{seen: map[uint64]bool{}}}
			s.sessions, s.live[ev.Conn] = append(s.sessions, x), x
		case Entered:
			if x.entered {
				s.fail("a connection entered twice")
			}
			x.entered = true
		case Data:
			s.take("the server", &x.flow, ev)
		case Ended:
			delete(s.live, ev.Conn)
			s.noteEnd("the server", ev)
		default:
			if !s.lenient {
				s.fail("the server saw %+v", ev)
			}
		}
	}
}

func (s *Swarm) noteEnd(who string, ev Event) {
	if ev.Reason == "" {
		s.fail("%s: a connection ended without a reason", who)
	}
	s.Reasons[ev.Reason]++
}

const swarmHeader = 13 // connection u32, index u32, mode u8, checksum u32

// packets sends one packet, or now and then thirty, through send.
func (s *Swarm) packets(id uint32, f *flow, send func(Mode, []byte) error) {
	n := 1
	if s.rng.IntN(50) == 0 {
		n = 30
	}
	for range n {
		mode, size := Mode(s.rng.IntN(3)), s.rng.IntN(300)
		if mode == Ordered && s.conf.Large > 0 && s.rng.IntN(10) == 0 {
			size = s.rng.IntN(s.conf.Large)
		}
		data := make([]byte, swarmHeader+size)
		binary.LittleEndian.PutUint32(data, id)
		binary.LittleEndian.PutUint32(data[4:], f.sent[mode])
		data[8] = byte(mode)
		binary.LittleEndian.PutUint32(data[9:], swarmSum(data))
		if send(mode, data) == nil {
			f.sent[mode]++
		}
	}
}

// swarmSum is a checksum of all but itself.
func swarmSum(data []byte) uint32 {
	h := fnv.New32a()
	h.Write(data[:9])
	h.Write(data[swarmHeader:])
	return h.Sum32()
}

// tick has all send something, until some way into the calm.
func (s *Swarm) tick() {
	if s.Net.Now().Before(s.calm.Add(s.conf.After)) {
		s.Net.After(s.conf.Every, "tick", s.tick)
	}
	if s.Host.Node() != nil {
		s.Server.Advance(s.Host.Now())
		for _, x := range s.sessions {
			if s.live[x.key] == x {
				s.packets(x.name, &x.flow, func(m Mode, data []byte) error { return s.Server.Send(x.peer, m, data) })
			}
		}
		s.Host.Poke()
	}
	for _, p := range s.players {
		if p.host.Node() != nil && !s.conf.Dialect.Mute { // also before it is open, where the dialect allows that
			s.packets(p.i<<16|p.lives, &p.flow, func(m Mode, data []byte) error { return p.Send(p.host.Now(), m, data) })
			p.host.Poke()
		}
	}
}

// dial begins a new life.
func (p *player) dial(now time.Time) {
	p.lives++
	p.Client = p.s.conf.Dialect.Client(now, p.s.seed^uint64(p.lives)<<32)
	p.flow, p.ended = flow{seen: map[uint64]bool{}}, false
}

func (p *player) turn(time.Time) {
	for ev, ok := p.Next(); ok; ev, ok = p.Next() {
		if p.ended {
			p.s.fail("%s: %+v after the end", p.host.Name(), ev)
		}
		switch ev.Kind {
		case Data:
			p.s.take(p.host.Name(), &p.flow, ev)
		case Connected:
		case Ended:
			p.ended = true
			p.s.noteEnd(p.host.Name(), ev)
			old := p.Client
			p.s.Net.After(100*time.Millisecond, "dial again", func() {
				if p.Client == old && p.host.Node() == simnet.Node(old) {
					p.dial(p.host.Now())
					p.host.Restart(p.Client)
				}
			})
		default: // such as one of our own server's packets that was skipped
			if !p.s.lenient {
				p.s.fail("%s saw %+v", p.host.Name(), ev)
			}
		}
	}
}

// take holds a packet against the law of delivery.
func (s *Swarm) take(who string, f *flow, ev Event) {
	d := ev.Bytes
	if len(d) < swarmHeader || swarmSum(d) != binary.LittleEndian.Uint32(d[9:]) {
		if !s.lenient {
			s.fail("%s: got %x", who, d)
		}
		return
	}
	id, index, mode := binary.LittleEndian.Uint32(d), binary.LittleEndian.Uint32(d[4:]), Mode(d[8])
	if f.id == 0 {
		f.id = id
	}
	key := uint64(mode)<<32 | uint64(index)
	switch {
	case f.id != id:
		s.fail("%s: a packet of connection %d in connection %d", who, id, f.id)
	case s.lenient:
	case f.seen[key]:
		s.fail("%s: packet %d of mode %d came twice", who, index, mode)
	case mode == Ordered && index != f.got[Ordered]:
		s.fail("%s: ordered packet %d came where %d was due", who, index, f.got[Ordered])
	case mode != Unreliable && ev.Mode != mode || mode == Unreliable && ev.Mode == Ordered:
		s.fail("%s: a packet of mode %d came as %d", who, mode, ev.Mode)
	}
	f.seen[key] = true
	f.got[mode]++
	f.late = f.late || !s.Net.Now().Before(s.calm)
}

// settled reports whether every player is connected and has all that it was sent, and the server all of the player's.
func (s *Swarm) settled() bool {
	for _, p := range s.players {
		x := s.sessionOf(p)
		if x == nil || !p.Open() || !p.late || !x.late && !s.conf.Dialect.Mute || !s.lenient && p.id != x.name {
			return false
		}
		for _, mode := range []Mode{Reliable, Ordered} {
			if !s.lenient && (p.got[mode] != x.sent[mode] || x.got[mode] != p.sent[mode]) {
				return false
			}
		}
	}
	return true
}

func (s *Swarm) sessionOf(p *player) *session {
	for _, x := range s.sessions {
		if s.live[x.key] == x && x.peer == p.host.Addr() {
			return x
		}
	}
	return nil
}

// Run goes through all faults and waits for the calm after them.
func (s *Swarm) Run() error {
	if err := s.Net.Run(s.Plan.Calm + s.conf.After); err != nil {
		return err
	}
	if err := s.Net.RunUntil(func() bool { return s.Err != nil || s.settled() }, s.conf.Within-s.conf.After); err != nil && s.Err == nil {
		return fmt.Errorf("%w: %s", err, s.describe())
	}
	if s.Err == nil {
		s.Err = s.Net.Stats().Balance()
	}
	if s.Err == nil {
		s.Err = s.Server.Check()
	}
	return s.Err
}

func (s *Swarm) describe() (text string) {
	for _, p := range s.players {
		text += fmt.Sprintf("%s, open %t, sent %v, got %v", p.host.Name(), p.Open(), p.sent, p.got)
		if x := s.sessionOf(p); x != nil {
			text += fmt.Sprintf("; the server sent it %v and got %v", x.sent, x.got)
		}
		text += ". "
	}
	return text
}
