package gateway

import (
	"math/rand/v2"
	"net/netip"
	"time"

	"parley/internal/kit"
	"parley/internal/kit/tcp"
	"parley/play/message"
	"parley/play/schema"
	"parley/protocol/duplex"
	duplexcore "parley/protocol/duplex/core"
	"parley/protocol/relay"
	relaycore "parley/protocol/relay/core"
	"parley/protocol/replica"
	replicacore "parley/protocol/replica/core"
	"parley/world"
)

// aimRecord reads the fields of a walker.
func aimRecord(k *world.Kind, fields []byte, o world.Order) aimBody {
	var v [16]world.Value
	if _, ok := message.ParseFields(v[:], k.Fields, fields, o); !ok {
		panic("a record that is none")
	}
	return aimBody{v[world.FieldX].Float(), v[world.FieldY].Float(), v[world.FieldAngle].Float(), v[world.FieldNorm].Float()}
}

// aimParams are the parameters of fire.
func aimParams(target uint16, x, y float64) []world.Value {
	return []world.Value{world.UintValue(world.Entity, uint64(target)), world.FloatValue(world.F64, x), world.FloatValue(world.F64, y)}
}

var aimRelay = aimDialect{
	name: "relay",
	server: func(now time.Time, seed uint64, h *Hub) aimCore {
		return newRelayCore(now, seed, h, &kit.SlowWorld{})
	},
	client: func(now time.Time, seed uint64, s *world.Schema) aimNode {
		return aimRelayClient{must(relaycore.NewClient(now, kit.ServerAddr, relaycore.Config{}, &relaycore.Shared{Rand: rand.New(rand.NewPCG(seed, 2))})), s}
	},
}

type aimRelayClient struct {
	*relaycore.Endpoint
	schema *world.Schema
}

func (c aimRelayClient) turn(now time.Time, a *aimer) {
	c.Advance(now)
	for ev, ok := c.PollEvent(); ok; ev, ok = c.PollEvent() {
		if ev.Kind != relay.EventPackage {
			continue
		}
		if a.heard != nil {
			a.heard(ev.Package.Payload)
		}
		switch b := ev.Package.Payload; b[0] {
		case message.RelayYou:
			a.own, _ = message.ParseRelayYou(b[1:])
		case message.RelayMembers:
			a.reads(b[1:], message.Big)
		case message.RelayTick:
			f, rest, ok := message.ParseFate(b[1:], message.Big)
			if !ok {
				panic("a fate that is none")
			}
			for r := range message.Records(rest, message.Big) {
				if len(r.Fields) > 0 {
					a.sees(f.Tick, r.Entity, aimRecord(c.schema.Kinds[0], r.Fields, message.Big))
				}
			}
			a.hears(now, f)
		}
	}
}

func (c aimRelayClient) steer(now time.Time, s message.Stamp) {
	if c.State() == relaycore.StateJoining { // what it was told has overtaken the answer
		return
	}
	must(0, c.Send(now, relay.Unreliable, relay.ToServer, s.AppendTo(message.AppendSteer([]byte{message.RelaySteer}, 0, 0, message.Big), message.Big)))
}

func (c aimRelayClient) shoot(now time.Time, s message.Stamp, target uint16, x, y float64) {
	b := message.AppendAct([]byte{message.RelayAct}, c.schema.Actions[0], aimParams(target, x, y), message.Big)
	must(0, c.Send(now, relay.Unordered, relay.ToServer, s.AppendTo(b, message.Big)))
}

var aimReplica = aimDialect{
	name: "replica",
	server: func(now time.Time, seed uint64, h *Hub) aimCore {
		d := newReplica(h)
		s := &aimReplicaServer{replicacore.NewMux(now, replicacore.Config{}, &replicacore.Shared{Rand: rand.New(rand.NewPCG(seed, 1))}, kit.Key(seed)), h, d}
		d.store, d.loop = s.Store(), func(fn func()) error { fn(); return nil }
		if err := d.declare(d.store); err != nil {
			panic(err)
		}
		h.Add(d)
		return s
	},
	client: func(now time.Time, seed uint64, s *world.Schema) aimNode {
		return aimReplicaClient{replicacore.NewClient(now, kit.ServerAddr, replicacore.Config{}, &replicacore.Shared{Rand: rand.New(rand.NewPCG(seed, 2))}), s, new(message.Link)}
	},
}

// aimReplicaServer is the replica dialect without sockets.
type aimReplicaServer struct {
	*replicacore.Mux
	hub *Hub
	d   *Replica
}

func (s *aimReplicaServer) Turn(now time.Time, _ func(from netip.AddrPort, step, line uint32)) {
	s.Advance(now)
	for c, ev, ok := s.PollEvent(); ok; c, ev, ok = s.PollEvent() {
		s.d.handle(c, ev)
	}
}

func (s *aimReplicaServer) Tick(now time.Time) {
	s.Advance(now)
	must(0, s.hub.Tick())
}

type aimReplicaClient struct {
	*replicacore.Endpoint
	schema *world.Schema
	you    *message.Link
}

// turn takes what a datagram brought: a fate, and the values of its tick.
func (c aimReplicaClient) turn(now time.Time, a *aimer) {
	var fates []message.Fate
	for ev, ok := c.PollEvent(); ok; ev, ok = c.PollEvent() {
		switch {
		case ev.Kind == replica.EventConnected:
			must(0, c.Link(now))
		case ev.Kind == replica.EventMessage && string(ev.Name) == message.ReplicaTick:
			f, rest, ok := message.ParseFate(ev.Data, message.Little)
			if !ok || len(rest) > 0 {
				panic("a fate that is none")
			}
			fates = append(fates, f)
		case ev.Kind == replica.EventMessage && string(ev.Name) == message.ReplicaMembers:
			a.reads(ev.Data, message.Little)
		case ev.Kind == replica.EventMessage && string(ev.Name) == message.ReplicaYou:
			*c.you, _ = message.ParseLink(ev.Data)
		}
	}
	if n, ok := c.Values().EntityValue(c.you.Kind, c.you.ID, message.ReplicaEntity); ok {
		a.own = uint16(n.Int())
	}
	for _, f := range fates {
		if !a.blind {
			c.look(f.Tick, a)
		}
		a.hears(now, f)
	}
}

// look reads all walkers.
func (c aimReplicaClient) look(tick uint32, a *aimer) {
	k := c.schema.Kinds[0]
	link, _ := c.Values().KindLink(k.Name)
	for id := range c.Values().Entities(link) {
		float := func(field int) float64 {
			r, _ := c.Values().EntityValue(link, id, message.VariableName(k, field))
			v, _ := message.ParseVariable(k, field, r.Data)
			return v.Float()
		}
		if n, ok := c.Values().EntityValue(link, id, message.ReplicaEntity); ok {
			a.sees(tick, uint16(n.Int()), aimBody{float(world.FieldX), float(world.FieldY), float(world.FieldAngle), float(world.FieldNorm)})
		}
	}
}

func (c aimReplicaClient) steer(now time.Time, s message.Stamp) {
	must(0, c.Send(now, replica.Unreliable, message.ReplicaSteer, s.AppendTo(message.AppendSteer(nil, 0, 0, message.Little), message.Little)))
}

func (c aimReplicaClient) shoot(now time.Time, s message.Stamp, target uint16, x, y float64) {
	a := c.schema.Actions[0]
	must(0, c.Send(now, replica.Reliable, a.Name, s.AppendTo(message.AppendParams(nil, a.Fields, aimParams(target, x, y), message.Little), message.Little)))
}

// Each update of duplex is a datagram, and one that another has overtaken is dropped.
var aimDuplex = aimDialect{
	name: "duplex", inOrder: true,
	server: func(now time.Time, seed uint64, h *Hub) aimCore { return newDuplexCore(now, seed, h) },
	client: func(now time.Time, seed uint64, s *world.Schema) aimNode {
		e := duplexcore.NewClient(now, kit.ServerAddr, kit.ServerAddr, duplexcore.Config{Schema: schema.Duplex(s)}, &duplexcore.Shared{Rand: rand.New(rand.NewPCG(seed, 2))})
		return aimDuplexClient{&slowDuplexClient{Endpoint: e, pipe: tcp.NewPipe(kit.ServerAddr, tcp.Cubic)}, s}
	},
}

type aimDuplexClient struct {
	*slowDuplexClient
	schema *world.Schema
}

// turn takes what came. The fate of a tick is sent before its walkers.
func (c aimDuplexClient) turn(now time.Time, a *aimer) {
	c.Advance(now)
	for b := c.pipe.Read(); ; {
		n := c.HandleBytes(now, b)
		b = b[n:]
		for ev, ok := c.PollEvent(); ok; ev, ok = c.PollEvent() {
			switch {
			case ev.Kind == duplex.EventClosed:
				panic(ev.Close.Error())
			case ev.Kind == duplex.EventUpdate && ev.SID == message.DuplexTick:
				f, own, _ := message.ParseFate(ev.Data, message.Big)
				a.hears(now, f)
				a.sees(f.Tick, a.own, c.element(own))
			case ev.Kind == duplex.EventSync && (ev.SID == message.DuplexMember && !a.vias || ev.SID == message.DuplexVia && a.vias):
				a.reads(ev.Data, message.Big)
			case ev.Kind == duplex.EventUpdate && ev.SID > 0 && a.newest > 0:
				a.sees(a.newest, uint16(ev.SID), c.element(ev.Data))
			case ev.Kind == duplex.EventSync && ev.SID == c.Player(): // values on main are of no tick
				a.own = uint16(ev.SID)
			}
		}
		if len(b) == 0 {
			return
		}
	}
}

func (c aimDuplexClient) element(b []byte) aimBody {
	_, fields, _ := message.ParseElement(b)
	return aimRecord(c.schema.Kinds[0], fields, message.Big)
}

func (c aimDuplexClient) steer(now time.Time, s message.Stamp) {
	must(0, c.Update(now, message.DuplexSteer, message.AppendDuplexSteer(nil, s, 0, 0)))
}

func (c aimDuplexClient) shoot(now time.Time, s message.Stamp, target uint16, x, y float64) {
	must(c.Query(now, duplex.Main, message.DuplexStamped, message.AppendDuplexAct(nil, c.schema.Actions[0], s, aimParams(target, x, y))))
}
