package gateway

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/pace"
	"parley/play/message"
	"parley/protocol/relay"
	relaycore "parley/protocol/relay/core"
	"parley/protocol/stamp"
	stampcore "parley/protocol/stamp/core"
	"parley/world"
)

// The dialects whose records nothing but this package writes, for players on a slow link: the gateway as it is, with its views,
// over the cores of the dialects and a simulated network. A record of a walker has 45 bytes.
var (
	slowRelay = kit.Slow{Server: newSlowRelay, Client: newSlowRelayClient, Bytes: 4 + 41}
	slowStamp = kit.Slow{Server: newSlowStamp, Client: newSlowStampClient, Bytes: 4 + 41, Watch: true}
)

func TestASlowLinkIsServedAtItsOwnSpeed(t *testing.T) {
	t.Run("relay", slowRelay.Serves)
	t.Run("stamp", slowStamp.Serves)
}

func TestPlayersShareALink(t *testing.T) {
	t.Run("relay", slowRelay.Shares)
	t.Run("stamp", slowStamp.Shares)
}

func TestAHundredPlayersComeOneByOne(t *testing.T) { t.Run("stamp", slowStamp.Crowds) }

func TestALinkWithoutALimitIsToldAll(t *testing.T) {
	t.Run("relay", slowRelay.HoldsNothingBack)
	t.Run("stamp", slowStamp.HoldsNothingBack)
}

func TestNoMoreIsSentBecauseOfDrops(t *testing.T) {
	t.Run("stamp", func(t *testing.T) { slowStamp.SendsNoMoreForDrops(t, 50_000) })
	t.Run("duplex", func(t *testing.T) { slowDuplexed.SendsNoMoreForDrops(t, 50_000) })
	t.Run("realm", func(t *testing.T) { slowRealmed.SendsNoMoreForDrops(t, 50_000) })
	// Over 50 kbit/s with a tenth lost each way relay sends 12% more than without loss: what its probes do not see as lost.
	t.Run("relay", func(t *testing.T) { slowRelay.SendsNoMoreForDrops(t, 100_000) })
}

func TestBadLuckIsBorne(t *testing.T) {
	t.Run("relay", slowRelay.BearsBadLuck)
	t.Run("stamp", slowStamp.BearsBadLuck)
}

func TestALongerPathIsNoQueue(t *testing.T) {
	t.Run("relay", slowRelay.FollowsALongerPath)
	t.Run("stamp", slowStamp.FollowsALongerPath)
	t.Run("duplex", slowDuplexed.FollowsALongerPath)
	t.Run("realm", slowRealmed.FollowsALongerPath)
}

func TestWhatAPlayerFeels(t *testing.T) {
	t.Run("relay", slowRelay.Feels)
	t.Run("duplex", insisting.Feels)
}

// slowWalker is a walker of the kit as an entity.
type slowWalker struct {
	world.Body
	Index            uint16
	Tick, Step, Turn float32
}

// slowHub is a hub with the world of the kit: walkers in a circle, all of them in sight. A player takes the place of the walker whose
// number is its name, or of the first.
func slowHub(w *kit.SlowWorld) *Hub {
	place := func(i int) slowWalker {
		angle := 2 * math.Pi * float64(i) / float64(len(w.Walkers))
		return slowWalker{Index: uint16(i), Body: world.Body{X: 60 * math.Cos(angle), Y: 60 * math.Sin(angle)}}
	}
	var ids []world.ID
	game := world.Game{Name: "slow", Kinds: world.Kinds(slowWalker{}), Setup: func(g *world.World) {
		for i := range w.Walkers {
			ids = append(ids, world.Spawn(g, place(i)))
		}
	}}
	game.Step = func(g *world.World, in []world.Input) {
		for i := range in {
			if in[i].Kind == world.Join {
				n, _ := strconv.Atoi(in[i].Name) // or the first
				g.Despawn(ids[n])
				g.Own(in[i].Player, world.SpawnFor(g, &in[i], place(n)))
			}
		}
		for _, x := range world.All[slowWalker](g) {
			now := &w.Walkers[x.Index]
			x.Tick, x.Step, x.Turn = now.X, now.Y, now.Heading
		}
	}
	h := must(New(Config{Game: game, PerAddress: 1000}))
	h.home = goroutine() // virtual time is one goroutine
	return h
}

// slowSight is what a client has seen of the walkers.
type slowSight struct {
	schema  *world.Schema
	walkers map[int]kit.SlowWalker
}

func newSlowSight() slowSight {
	return slowSight{must(New(Config{Game: world.Game{Kinds: world.Kinds(slowWalker{}), Step: func(*world.World, []world.Input) {}}})).main.sim.Schema(), map[int]kit.SlowWalker{}}
}

func (s *slowSight) Walker(i int) (kit.SlowWalker, bool) {
	w, ok := s.walkers[i]
	return w, ok
}

// see takes records. A walker's tick tells which is newer.
func (s *slowSight) see(b []byte, o world.Order) {
	for r := range message.Records(b, o) {
		if len(r.Fields) > 0 { // or a player has taken its place
			s.seeFields(r.Fields, o)
		}
	}
}

// seeFields takes the fields of a walker.
func (s *slowSight) seeFields(b []byte, o world.Order) {
	kind := s.schema.Kinds[0]
	var values [16]world.Value
	if _, ok := message.ParseFields(values[:], kind.Fields, b, o); !ok {
		panic("a record that is none")
	}
	at := func(name string) *world.Value {
		for i := range kind.Fields {
			if kind.Fields[i].Name == name {
				return &values[i]
			}
		}
		panic(name)
	}
	i := int(at("index").Uint())
	w := kit.SlowWalker{X: float32(at("tick").Float()), Y: float32(at("step").Float()), Heading: float32(at("turn").Float())}
	if w.X >= s.walkers[i].X {
		s.walkers[i] = w
	}
}

// slowRelayServer is the relay dialect without sockets.
type slowRelayServer struct {
	*relaycore.Mux
	hub   *Hub
	d     *Relay
	world *kit.SlowWorld
	peers map[netip.AddrPort]*relay.Peer
}

func newSlowRelay(now time.Time, seed uint64, w *kit.SlowWorld) kit.SlowServer {
	return newRelayCore(now, seed, slowHub(w), w)
}

func newRelayCore(now time.Time, seed uint64, h *Hub, w *kit.SlowWorld) *slowRelayServer {
	d := &Relay{service: newService(h, "relay", "udp", plainSize), seats: map[*relay.Peer]*relaySeat{}}
	d.loop = func(fn func()) error { fn(); return nil }
	h.Add(d)
	shared := &relaycore.Shared{Rand: rand.New(rand.NewPCG(seed, 1))}
	mux := relaycore.NewMux(now, relaycore.Config{Lobby: relaycore.NewEntryLobby(relaycore.EntryConfig{GameCodes: message.RelaySay + 1})}, shared, kit.Key(seed), nil)
	d.newRoom = mux.NewRoom
	return &slowRelayServer{mux, h, d, w, map[netip.AddrPort]*relay.Peer{}}
}

func (s *slowRelayServer) Turn(now time.Time, heard func(from netip.AddrPort, step, line uint32)) {
	s.Advance(now)
	for p, ev, ok := s.PollEvent(); ok; p, ev, ok = s.PollEvent() {
		if ev.Kind == relaycore.EventPass {
			s.d.judge(ev.Newcomer, strconv.Itoa(s.world.Own(ev.Newcomer.Addr())))
			s.hub.take(nil) // somebody knocks
			s.hub.tell()
			continue
		}
		if ev.Kind == relay.EventPackage && ev.Package.Payload[0] == message.RelaySteer {
			st, _ := message.ParseSteer(ev.Package.Payload[1:], message.Big)
			heard(p.Addr(), uint32(st.Angle), 0)
		}
		s.d.handle(p, ev)
		s.peers[p.Addr()] = p
	}
}

func (s *slowRelayServer) Tick(now time.Time) {
	s.Advance(now)
	if err := s.hub.Tick(); err != nil {
		panic(err)
	}
}

func (s *slowRelayServer) Say(time.Time, netip.AddrPort, uint32) {}
func (s *slowRelayServer) Entered() int                          { return len(s.d.seats) }

func (s *slowRelayServer) Path(to netip.AddrPort) pace.Estimate {
	if p := s.peers[to]; p != nil {
		return p.Path()
	}
	return pace.Estimate{Budget: pace.Unlimited} // it has not entered yet
}

type slowRelayClient struct {
	*relaycore.Endpoint
	slowSight
	early [][]byte // what was asked for before it was in the room
}

func newSlowRelayClient(now time.Time, seed uint64, _ int) kit.SlowClient {
	e := must(relaycore.NewClient(now, kit.ServerAddr, relaycore.Config{}, &relaycore.Shared{Rand: rand.New(rand.NewPCG(seed, 2))}))
	return &slowRelayClient{Endpoint: e, slowSight: newSlowSight()}
}

func (c *slowRelayClient) Turn(now time.Time, heard func(line uint32)) {
	c.Advance(now)
	for ev, ok := c.PollEvent(); ok; ev, ok = c.PollEvent() {
		if ev.Kind == relay.EventJoined {
			for _, b := range c.early {
				c.send(now, b)
			}
		}
		if ev.Kind != relay.EventPackage {
			continue
		}
		switch b := ev.Package.Payload; b[0] {
		case message.RelayEntities:
			c.see(b[1:], message.Big)
		case message.RelaySaid:
			if _, text, ok := message.ParseSaid(b[1:]); ok && len(text) == kit.LineBytes {
				heard(slowLineOf(text))
			}
		}
	}
}

func (c *slowRelayClient) Step(now time.Time, step uint32) {
	c.send(now, message.AppendSteer([]byte{message.RelaySteer}, float32(step), 1, message.Big))
}

func (c *slowRelayClient) Say(now time.Time, line uint32) {
	c.send(now, append([]byte{message.RelaySay}, slowText(line)...))
}

func (c *slowRelayClient) send(now time.Time, b []byte) {
	if c.State() == relaycore.StateJoining {
		c.early = append(c.early, b)
		return
	}
	_ = c.Send(now, relay.SemiOrdered, relay.ToServer, b) // if it cannot, the step or the line is not seen
}

// slowStampServer is the stamp dialect without sockets.
type slowStampServer struct {
	*stampcore.Mux
	hub   *Hub
	d     *Stamp
	conns map[netip.AddrPort]*stamp.Conn
}

func newSlowStamp(now time.Time, seed uint64, w *kit.SlowWorld) kit.SlowServer {
	h := slowHub(w)
	d := &Stamp{service: newService(h, "stamp", "udp", plainSize), seats: map[*stamp.Conn]*stampSeat{}}
	d.loop = func(fn func()) error { fn(); return nil }
	h.Add(d)
	shared := &stampcore.Shared{Rand: rand.New(rand.NewPCG(seed, 1))}
	mux := stampcore.NewMux(now, stampcore.Config{MaxUnacked: spectatorBytes}, shared, kit.Key(seed))
	return &slowStampServer{mux, h, d, map[netip.AddrPort]*stamp.Conn{}}
}

func (s *slowStampServer) Turn(now time.Time, _ func(from netip.AddrPort, step, line uint32)) {
	s.Advance(now)
	for c, ev, ok := s.PollEvent(); ok; c, ev, ok = s.PollEvent() {
		s.d.handle(c, ev)
		s.conns[c.Peer()] = c
	}
}

func (s *slowStampServer) Tick(now time.Time) {
	s.Advance(now)
	if err := s.hub.Tick(); err != nil {
		panic(err)
	}
}

func (s *slowStampServer) Say(time.Time, netip.AddrPort, uint32) {}
func (s *slowStampServer) Entered() int                          { return len(s.d.seats) }

func (s *slowStampServer) Path(to netip.AddrPort) pace.Estimate {
	if c := s.conns[to]; c != nil {
		return c.Path()
	}
	return pace.Estimate{Budget: pace.Unlimited} // it has not entered yet
}

type slowStampClient struct {
	*stampcore.Endpoint
	slowSight
}

func newSlowStampClient(now time.Time, seed uint64, _ int) kit.SlowClient {
	e := stampcore.NewClient(now, kit.ServerAddr, stampcore.Config{}, &stampcore.Shared{Rand: rand.New(rand.NewPCG(seed, 2))})
	return &slowStampClient{e, newSlowSight()}
}

func (c *slowStampClient) Turn(now time.Time, _ func(line uint32)) {
	for ev, ok := c.PollEvent(); ok; ev, ok = c.PollEvent() {
		if ev.Kind == stamp.EventEntity {
			c.see(ev.Data, message.Little)
		}
	}
}

func (c *slowStampClient) Step(time.Time, uint32) {}
func (c *slowStampClient) Say(time.Time, uint32)  {}
