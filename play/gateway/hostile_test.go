package gateway

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"

	"parley/internal/kit/chance"
	"parley/internal/patient"
	"parley/internal/promise"
	"parley/play/message"
	"parley/protocol/duplex"
	"parley/protocol/realm"
	realmcore "parley/protocol/realm/core"
	"parley/protocol/relay"
	"parley/protocol/replica"
	"parley/world"
)

// mischief makes messages by chance: some well-formed with any values, some not.
type mischief struct{ *rand.Rand }

// bytes are up to n of any value.
func (m mischief) bytes(n int) []byte {
	b := make([]byte, m.IntN(n+1))
	for i := range b {
		b[i] = byte(m.Uint32())
	}
	return b
}

// float is one that a game would not expect, or one that it would.
func (m mischief) float() float32 {
	switch m.IntN(6) {
	case 0:
		return float32(math.NaN())
	case 1:
		return float32(math.Inf(1 - 2*m.IntN(2)))
	case 2:
		return math.MaxFloat32
	case 3:
		return -1
	}
	return m.Float32() * 2
}

func (m mischief) steering(o world.Order) []byte {
	return m.stamped(message.AppendSteer(nil, m.float(), m.float(), o), o)
}

// stamp says anything: numbers that come again or jump, ticks of any time.
func (m mischief) stamp() message.Stamp {
	any := func() uint32 { return []uint32{uint32(m.IntN(100)), m.Uint32()}[m.IntN(2)] }
	return message.Stamp{Number: any(), Tick: any(), Shown: any()}
}

// stamped puts a stamp behind an input, or none.
func (m mischief) stamped(b []byte, o world.Order) []byte {
	if m.IntN(2) == 0 {
		return b
	}
	return m.stamp().AppendTo(b, o)
}

// poke are the parameters of the action, of the right types and any values.
func (m mischief) poke(o world.Order) []byte {
	return message.AppendParams(nil, make([]world.Field, 4), []world.Value{
		world.UintValue(world.U32, uint64(m.Uint32())), world.UintValue(world.Entity, uint64(uint16(m.Uint32()))),
		world.TextValue(string(m.bytes(40))), world.FloatValue(world.F64, float64(m.float())),
	}, o)
}

// any is a payload for one of the dialects' named doors: its own half of the time.
func (m mischief) any(own []byte) []byte {
	if m.IntN(2) == 0 {
		return m.bytes(64)
	}
	return own
}

// siege is a hub with a victim that stands still, and who besieges it.
type siege struct {
	*testing.T
	mischief
	h      *Hub
	until  func(what string, cond func() bool)
	victim *Seat
	rounds int
}

// ticks waits for n ticks.
func (s *siege) ticks(n uint64) {
	begin := s.h.Stats().Ticks
	s.until("ticks", func() bool { return s.h.Stats().Ticks >= begin+n })
}

// send sends something by chance so many times; what has no room is not sent.
func (s *siege) send(what func() error) {
	for i := range s.rounds {
		if what() != nil || i%50 == 49 {
			s.ticks(1)
		}
	}
}

// T51, over the wire: a hostile client of each dialect does what it likes, and only its own
// entity changes; the victim, and who comes after, are not harmed. (World has the 10^6 of that
// test without a wire.)
func TestAHostileClientChangesOnlyItsOwn(t *testing.T) {
	h, d := newDesk(t, Config{Sight: -1})
	s := &siege{T: t, mischief: mischief{chance.Rand(t, 0xbad)}, h: h, victim: d.sit("victim"), rounds: 300}
	if os.Getenv("PARLEY_SOAK") != "" {
		s.rounds = 20_000
	}
	promise.Keeps(t, "T51", "gateway", s.rounds)
	ticks(t, h, 2)
	own := h.main.entityOf(s.victim.player)
	before := *world.Get[pawn](h.main.sim.World(), own)
	d.stall = func() {
		if now := *world.Get[pawn](h.main.sim.World(), own); now != before {
			t.Errorf("tick %d: the victim was %+v and is %+v", h.main.sim.Tick(), before, now)
			before = now
		}
		for id, p := range world.All[pawn](h.main.sim.World()) {
			if sum := p.X + p.Y + float64(p.Angle) + float64(p.Norm); math.IsNaN(sum) || math.IsInf(sum, 0) || p.Norm > 2 || p.Norm < 0 {
				t.Errorf("tick %d: entity %d is %+v", h.main.sim.Tick(), id, p)
			}
		}
	}
	onReplica := must(NewReplica(h, ReplicaConfig{Addr: loopback}))
	onStamp := must(NewStamp(h, StampConfig{Addr: loopback}))
	onRelay := must(NewRelay(h, RelayConfig{Addr: loopback}))
	onDuplex := must(NewDuplex(h, DuplexConfig{Addr: loopback}))
	onRealm := plainRealm(h, nil)
	s.until = live(t, h)

	for i, attack := range []func(){
		func() { s.replica(onReplica) }, func() { s.relay(onRelay) }, func() { s.duplex(onDuplex) }, func() { s.realm(onRealm) },
	} {
		before := h.Stats().UnreadInput
		attack()
		if i < 3 { // realm ends the connection for what it cannot read
			s.until("what means nothing is counted", func() bool { return h.Stats().UnreadInput > before })
		}
	}
	if st := h.Stats(); st.StampedInput == 0 || st.RepeatedInput == 0 || st.FarInput == 0 {
		t.Errorf("%d stamps came, %d of them again, %d for far ticks", st.StampedInput, st.RepeatedInput, st.FarInput)
	}
	t.Logf("%+v", h.Stats())
	for _, addr := range []string{onReplica.Addr().String(), onStamp.Addr().String(), onRelay.Addr().String(), onDuplex.FeedAddr().String(), onRealm.Addr().String()} {
		s.datagrams(addr)
	}
	s.streams(onDuplex.Addr().String(), []byte{6})
	s.streams(onRealm.Addr().String(), []byte{18, 0, 9})

	// Who comes now is let in.
	for _, d := range []listener{onReplica, onStamp, onRelay, onDuplex, onRealm} {
		g := come(t, h, d, nil)
		if s.until(d.Name()+": it is in or out", g.decided); g.told() != "" {
			t.Errorf("%s: who comes now is told %q", d.Name(), g.told())
		}
	}
	h.Do(func() {
		if s.victim.left || s.victim.kicked != nil {
			t.Errorf("the victim left: %v, told %q", s.victim.left, s.victim.kicked)
		}
	})
}

func (s *siege) replica(d *Replica) {
	p := must(replica.Dial(s.Context(), d.Addr().String(), replica.Config{}))
	follow(s.T, p.Close, p.Events(), func(replica.Event) {})
	if err := p.Link(); err != nil {
		s.Fatal(err)
	}
	names := []string{"steer", "chat", "terrain", "poke", "no such door", ""}
	s.send(func() error {
		name := names[s.IntN(len(names))]
		data := s.any(map[string][]byte{"steer": s.steering(message.Little), "poke": s.stamped(s.poke(message.Little), message.Little)}[name])
		return p.Send([]replica.Mode{replica.Unreliable, replica.Reliable, replica.Ordered}[s.IntN(3)], name, data)
	})
}

func (s *siege) relay(d *Relay) {
	p := must(relay.Dial(s.Context(), d.Addr().String(), relay.Config{}))
	follow(s.T, p.Close, p.Events(), func(relay.Event) {})
	s.send(func() error {
		payload := s.any([][]byte{
			append([]byte{message.RelaySteer}, s.steering(message.Big)...),
			append([]byte{message.RelayAct, 0, byte(s.IntN(2))}, s.stamped(s.poke(message.Big), message.Big)...),
			append([]byte{message.RelaySay}, s.bytes(400)...),
		}[s.IntN(3)])
		if len(payload) == 0 {
			return nil // it would leave
		}
		return p.Send([]relay.Mode{relay.Unreliable, relay.Unordered, relay.SemiOrdered}[s.IntN(3)], relay.ToServer, payload)
	})
}

func (s *siege) duplex(d *Duplex) {
	p := playDuplex(s.T, s.h, d)
	s.send(func() error {
		sid := p.Player()
		if s.IntN(2) == 0 {
			sid = int16(s.Uint32())
		}
		data := message.AppendSteer(nil, s.float(), s.float(), message.Big)
		if s.IntN(4) == 0 {
			sid, data = message.DuplexSteer, message.AppendDuplexSteer(nil, s.stamp(), s.float(), s.float())
		}
		if s.IntN(4) == 0 {
			return p.Sync(sid, data)
		}
		return p.Update(sid, data)
	})
	var wg sync.WaitGroup
	for range s.rounds {
		code, data := uint8(message.DuplexAct), append([]byte{0, 0}, s.poke(message.Big)...)
		switch s.IntN(4) {
		case 3:
			code, data = message.DuplexStamped, append(s.stamp().AppendTo([]byte{0, 0}, message.Big), s.poke(message.Big)...)
		case 0:
			text := s.bytes(600)
			code, data = message.DuplexSay, message.AppendSized(nil, text)
		case 1:
			code, data = message.DuplexTerrain, binary.BigEndian.AppendUint32(nil, s.Uint32())
		}
		// Some are never answered: the client is cut off when its queue is full, as it asks for 50 MB.
		wg.Go(func() { p.Query(s.Context(), duplex.Main, code, data) })
	}
	s.ticks(5)
	p.Close(s.Context())
	patient.Done(wg.Wait)
}

func (s *siege) realm(d *Realm) {
	p := playRealm(s.T, s.h, d, "mallory")
	if code := p.login(s.T, "mallory", ""); code != realm.LoginOK {
		s.Fatal(code)
	}
	s.until("it is in", func() bool { return p.is(func() bool { return p.own != 0 }) })
	finite := func() float32 { // its own codec sends no other
		if v := s.float(); v == v && !math.IsInf(float64(v), 0) {
			return v
		}
		return 0
	}
	s.send(func() error {
		switch s.IntN(4) {
		case 0:
			return p.Say(string([]rune(string(s.bytes(100)))))
		case 1:
			a, err := p.Codec().Action(0, realmcore.U32(s.Uint32()), realmcore.EntityID(uint16(s.Uint32())), realmcore.Str([]byte("x")), realmcore.F64(float64(finite())))
			if err != nil {
				s.Fatal(err)
			}
			return p.Act(a)
		case 2:
			return p.Want(realmcore.ChunkID{BX: int16(s.Uint32()), BY: int16(s.Uint32())})
		}
		e := realmcore.Entity{ID: uint16(s.IntN(8)), SpeedAngle: finite(), SpeedNorm: finite(),
			Position: realmcore.Position{BX: int16(s.IntN(3)), BY: int16(s.IntN(3)), X: uint8(s.Uint32()), Y: uint8(s.Uint32())}}
		e.Has = [...]realmcore.Has{realmcore.HasPosition, realmcore.HasSpeedAngle | realmcore.HasSpeedNorm, realmcore.HasPosition | realmcore.HasSpeedNorm}[s.IntN(3)]
		return p.Update(e)
	})
}

// datagrams sends garbage to a UDP port, from one socket.
func (s *siege) datagrams(addr string) {
	c, err := net.Dial("udp", addr)
	if err != nil {
		s.Fatal(err)
	}
	defer c.Close()
	for range s.rounds {
		b := s.bytes(100)
		if len(b) > 0 {
			b[0] = byte(s.IntN(8)) // types that there are
		}
		c.Write(b) // nothing may be there: it says so by an error
	}
	s.ticks(1)
}

// streams sends garbage over TCP connections, half of them after a right beginning.
func (s *siege) streams(addr string, begin []byte) {
	for i := range 20 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			s.Fatal(err)
		}
		if i%2 == 0 {
			c.Write(begin)
		}
		c.Write(s.bytes(200))
		c.Close()
	}
	s.ticks(1)
}
