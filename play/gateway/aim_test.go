package gateway

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/kit/chance"
	"parley/internal/kit/tcp"
	"parley/internal/promise"
	"parley/play/message"
	"parley/simnet"
	"parley/world"
)

// The aiming of a player who sees others as they were: a client that predicts, over the cores of the dialects and a simulated
// network. Walkers go 5 cells a second, turn once a second or so, and are hit within half a cell of their centre: they have gone
// as far after two ticks.
const (
	aimSpeed  = .25
	aimRadius = .5
	aimNarrow = .35
	aimTurns  = 20 // one tick in so many
	aimTick   = time.Second / 20
	aimWithin = 5.0 // ticks that others are drawn behind the client's own at most: as many as are believed
	aimDelay  = 1.0 // ticks that others are drawn behind the newest that has surely come
)

// aimed walks about.
type aimed struct {
	world.Body `parley:"speed=1"`
}

// fire is a shot at a place where the shooter saw somebody.
type fire struct {
	Target world.ID
	X, Y   float64
}

// aimCount is what became of shots, as the game has it.
type aimCount struct {
	shots, hits, hitsNow int // with World.At and without
	narrow               int // those at a narrower target
	ages                 [16]int
}

// aimGame has some walkers.
func aimGame(walkers int, n *aimCount) world.Game {
	return world.Game{
		Name: "aim", Kinds: world.Kinds(aimed{}), Actions: world.Actions(fire{}),
		Setup: func(w *world.World) {
			for i := range walkers {
				world.Spawn(w, aimed{world.Body{X: float64(2 * i), Norm: aimSpeed}})
			}
		},
		Step: func(w *world.World, inputs []world.Input) {
			for i := range inputs {
				in := &inputs[i]
				switch in.Kind {
				case world.Join:
					w.Own(in.Player, world.SpawnFor(w, in, aimed{world.Body{Y: 20}}))
				case world.Steer:
					w.Steer(in)
				case world.Act:
					if f, ok := world.Read[fire](in); ok {
						n.judge(w, in, f)
						world.Done(w, in, f)
					}
				}
			}
			for _, a := range world.All[aimed](w) {
				if a.Norm != 0 && w.Random().IntN(aimTurns) == 0 {
					a.Angle = float32(w.Random().Float64() * 2 * math.Pi)
				}
				w.Move(&a.Body)
			}
		},
	}
}

func (n *aimCount) judge(w *world.World, in *world.Input, f fire) {
	hit := func(b world.Body, ok bool, radius float64) int {
		if ok && math.Hypot(b.X-f.X, b.Y-f.Y) <= radius {
			return 1
		}
		return 0
	}
	n.shots++
	b, ok := w.At(in.Shown).Body(f.Target)
	n.hits += hit(b, ok, aimRadius)
	n.narrow += hit(b, ok, aimNarrow)
	b, ok = w.At(0).Body(f.Target)
	n.hitsNow += hit(b, ok, aimRadius)
	n.ages[min(w.Tick()-in.Shown, uint64(len(n.ages)-1))]++
}

// aimNode is a dialect's client that has yet to learn how to aim.
type aimNode interface {
	simnet.Node
	turn(now time.Time, a *aimer)                                      // takes what came
	steer(now time.Time, s message.Stamp)                              // once a tick
	shoot(now time.Time, s message.Stamp, target uint16, x, y float64) // when it wants to
}

// aimCore is a dialect's server without sockets.
type aimCore interface {
	simnet.Node
	Turn(now time.Time, heard func(from netip.AddrPort, step, line uint32))
	Tick(now time.Time)
}

// aimBody is what a client was told of a walker at a tick.
type aimBody struct{ x, y, angle, norm float64 }

// aimer is a client that predicts. It knows the server's ticks by their fates alone, and keeps its own tick ahead of them by the
// least that has its inputs there in time.
type aimer struct {
	node   aimNode
	host   *simnet.Host
	net    *simnet.Network
	rand   *rand.Rand
	own    uint16
	heard  func(b []byte) // each payload, if set
	blind  bool           // it does not look at walkers
	window float64        // how many ticks before its own tick it draws others at most; what has not come yet it draws by their speed

	members map[string]message.Member     // by name, if they are kept
	vias    bool                          // it has asked for how they are connected
	seen    map[uint32]map[uint16]aimBody // by tick
	newest  uint32
	number  uint32
	offsets []time.Duration // when ticks came, less their own times
	base    time.Duration   // the latest of them
	lead    float64         // of its own tick to that
	calm    int             // fates since lead was changed
	least   int             // of the margins in them
	judged  uint32          // the newest number whose margin is known

	truth       map[uint32]map[uint16]aimBody // what was so after each tick
	told, wrong int                           // bodies, and those that are not what they were at their tick

	warm             bool
	inputs, punctual int // by their margins
}

// sees takes what a tick says of a walker.
func (a *aimer) sees(tick uint32, entity uint16, b aimBody) {
	if a.blind {
		return
	}
	if a.seen[tick] == nil {
		a.seen[tick] = map[uint16]aimBody{}
	}
	a.seen[tick][entity] = b
	if was, ok := a.truth[tick][entity]; ok {
		if a.told++; was != b {
			a.wrong++
		}
	}
}

// reads takes a message of members.
func (a *aimer) reads(b []byte, o world.Order) {
	for len(b) > 0 && a.members != nil {
		parse := message.ParseMember
		if a.vias {
			parse = message.ParseMemberVia
		}
		m, rest, ok := parse(b, o)
		if !ok {
			panic("a member that is none")
		}
		if b = rest; m.What == message.MemberLeft {
			delete(a.members, m.Name)
		} else {
			a.members[m.Name] = m
		}
	}
}

// hears takes a fate.
func (a *aimer) hears(now time.Time, f message.Fate) {
	if f.Tick <= a.newest {
		return
	}
	a.newest = f.Tick
	delete(a.seen, f.Tick-40)
	a.offsets = append(a.offsets, a.net.Elapsed()-time.Duration(f.Tick)*aimTick)
	a.offsets = a.offsets[max(0, len(a.offsets)-40):]
	a.base = a.offsets[0]
	for _, o := range a.offsets {
		a.base = max(a.base, o)
	}
	a.follow(f)
}

// follow steers the clock by the margin: "it leads by the least that keeps margin at 1 or more for 99% of its inputs".
func (a *aimer) follow(f message.Fate) {
	if f.Number == a.judged {
		return
	}
	a.judged = f.Number
	if a.warm {
		a.inputs++
		if f.Margin >= 1 {
			a.punctual++
		}
	}
	a.calm++
	a.least = min(a.least, int(f.Margin))
	const answer = 12 // fates until what was changed has its effect
	switch {
	case a.calm < answer:
		a.least = math.MaxInt
	case f.Margin < 1:
		a.lead += .2
		a.calm, a.least = 0, math.MaxInt
	case a.calm > 2*answer && a.least >= 2:
		a.lead -= float64(a.least) - 1.5
		a.calm, a.least = 0, math.MaxInt
	default:
		a.lead -= .001
	}
}

// at is the tick of the server that has surely come by now.
func (a *aimer) at() float64 { return float64(a.net.Elapsed()-a.base) / float64(aimTick) }

// tick is one of the client's own.
func (a *aimer) tick() {
	now := a.net.Now()
	if a.newest == 0 { // with the first stamp it is told of ticks
		a.number++
		a.node.steer(now, message.Stamp{Number: a.number})
		a.host.Poke()
		a.net.After(aimTick, "first", a.tick)
		return
	}
	own := a.at() + a.lead
	tick := math.Round(own)
	drawn := max(a.at()-aimDelay, tick-a.window)
	stamp := message.Stamp{Tick: uint32(tick), Shown: uint32(math.Round(drawn))}
	a.number++
	stamp.Number = a.number
	a.node.steer(now, stamp)
	if a.warm && a.rand.IntN(3) == 0 {
		target := a.target()
		if x, y, ok := a.draw(drawn, target); ok {
			a.number++
			stamp.Number = a.number
			a.node.shoot(now, stamp, target, x, y)
		}
	}
	a.host.Poke()
	a.net.After(max(time.Duration((tick+1-own)*float64(aimTick)), aimTick/4), "tick", a.tick)
}

// target returns one of the walkers.
func (a *aimer) target() uint16 {
	var list []uint16
	for entity := range a.seen[a.newest] {
		if entity != a.own {
			list = append(list, entity)
		}
	}
	slices.Sort(list)
	if len(list) == 0 {
		return 0
	}
	return list[a.rand.IntN(len(list))]
}

// draw returns where a walker is on the screen.
func (a *aimer) draw(at float64, target uint16) (x, y float64, ok bool) {
	from := min(uint32(at), a.newest)
	b, ok := a.seen[from][target]
	if !ok {
		return 0, 0, false
	}
	part := at - float64(from)
	if next, ok := a.seen[from+1][target]; ok {
		return b.x + part*(next.x-b.x), b.y + part*(next.y-b.y), true
	}
	return b.x + part*b.norm*math.Cos(b.angle), b.y + part*b.norm*math.Sin(b.angle), true
}

// aimDialect makes the two sides of a dialect.
type aimDialect struct {
	name    string
	inOrder bool // datagrams do not overtake each other
	noFeed  bool // only main works
	server  func(now time.Time, seed uint64, h *Hub) aimCore
	client  func(now time.Time, seed uint64, s *world.Schema) aimNode
}

// enter has a player enter over a path of a round trip. It sends nothing yet.
func (d aimDialect) enter(t *testing.T, seed uint64, trip time.Duration, h *Hub, heard func(b []byte)) *aimer {
	t.Helper()
	const jitter = 20 * time.Millisecond
	net := simnet.New(seed)
	net.SetLimits(simnet.Limits{Steps: 50_000_000})
	if d.noFeed {
		net.Filter(func(p simnet.Packet) simnet.Verdict { return simnet.Verdict{Drop: !tcp.Takes(p.Bytes)} })
	}
	server := d.server(net.Now(), seed, h)
	host := net.Add(kit.ServerAddr, server).Named("server")
	host.AfterTurn(func(now time.Time) { server.Turn(now, func(netip.AddrPort, uint32, uint32) {}) })
	a := &aimer{
		node: d.client(net.Now(), seed, h.Schema()), net: net, rand: rand.New(rand.NewPCG(seed, 4)), heard: heard, window: aimWithin,
		seen: map[uint32]map[uint16]aimBody{}, truth: map[uint32]map[uint16]aimBody{}, lead: 4, least: math.MaxInt,
	}
	a.host = net.Add(kit.ClientAddr, a.node).Named("player")
	a.host.AfterTurn(func(now time.Time) { a.node.turn(now, a) })
	path := simnet.Profile{Delay: trip/2 - jitter/2, Jitter: jitter, KeepOrder: d.inOrder}
	net.Route(host, a.host, net.NewLink(path))
	net.Route(a.host, host, net.NewLink(path))
	var tick func()
	tick = func() {
		server.Tick(net.Now())
		host.Poke()
		a.truth[uint32(h.Sim().Tick()-1)] = aimTruth(h.Sim())
		net.After(aimTick, "world", tick)
	}
	tick()
	if err := net.RunUntil(func() bool { return a.own != 0 }, 30*time.Second); err != nil {
		t.Fatalf("seed=%d: the player is not in: %v", seed, err)
	}
	return a
}

// play has the player play for a while.
func (a *aimer) play(t *testing.T, times ...time.Duration) {
	t.Helper()
	a.net.After(time.Duration(a.net.Rand().IntN(int(aimTick))), "first", a.tick)
	for _, d := range times {
		if err := a.net.Run(d); err != nil {
			t.Fatalf("seed=%d: %v", a.net.Seed(), err)
		}
		a.warm = true
	}
}

// aimTruth is what clients are to see of the last tick.
func aimTruth(sim *world.Sim) map[uint16]aimBody {
	list := map[uint16]aimBody{}
	for id, a := range world.All[aimed](sim.World()) {
		list[sim.Wire(id)] = aimBody{a.X, a.Y, float64(a.Angle), float64(a.Norm)}
	}
	return list
}

// Shots that are aimed at the drawn centre of a walking player hit, whatever the round trip, if the game asks for what the shooter
// saw. At 200 ms of round trip with 20 ms of jitter the newest that has come is too old by the time that the shot is done: what
// is believed is 5 ticks old at most. So a client draws others no older than that, by their speed where it must. One that only
// interpolates needs Config.MaxShownTicks of 7 there.
func TestAimedShotsHit(t *testing.T) {
	if chance.Race {
		t.Skip("virtual time is one goroutine")
	}
	const never = 1000
	seeds := chance.Seeds(2)
	if promise.Full() {
		seeds = chance.Seeds(20)
	}
	for _, d := range []aimDialect{aimReplica, aimRelay, aimDuplex} {
		t.Run(d.name, func(t *testing.T) {
			for _, tt := range []struct {
				trip   time.Duration
				window float64
				shown  int // Config.MaxShownTicks
				hits   bool
			}{
				{50 * time.Millisecond, aimWithin, 0, true},
				{100 * time.Millisecond, aimWithin, 0, true},
				{200 * time.Millisecond, aimWithin, 0, true},
				{200 * time.Millisecond, never, 7, true},
				{200 * time.Millisecond, never, 0, false},
			} {
				var n aimCount
				inputs, punctual := 0, 0
				for _, seed := range seeds {
					h := must(New(Config{Game: aimGame(4, &n), World: world.Config{Seed: seed, MaxShownTicks: tt.shown}}))
					a := d.enter(t, seed, tt.trip, h, nil)
					a.window = tt.window
					a.play(t, 30*time.Second, 30*time.Second)
					inputs, punctual = inputs+a.inputs, punctual+a.punctual
					if a.wrong > 0 || a.told < 5000 {
						t.Errorf("seed=%d: %d of %d bodies are not those of the tick of their fate", seed, a.wrong, a.told)
					}
				}
				percent := func(part, of int) float64 { return 100 * float64(part) / float64(of) }
				line := fmt.Sprintf("%v, drawn at most %v ticks behind, %d believed: %.2f%% of %d shots hit (%.2f%% a narrower one), %.2f%% without World.At; ages %v; %.1f%% of inputs in time",
					tt.trip, tt.window, tt.shown, percent(n.hits, n.shots), n.shots, percent(n.narrow, n.shots), percent(n.hitsNow, n.shots), n.ages, percent(punctual, inputs))
				t.Log(line)
				if n.shots < 100*len(seeds) || tt.hits != (percent(n.hits, n.shots) >= 99) || percent(n.hitsNow, n.shots) > 50 || percent(punctual, inputs) < 98 {
					t.Errorf("seeds=%v: %s", seeds, line)
				}
			}
		})
	}
}
