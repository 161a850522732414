package kit

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"parley/internal/pace"
	"parley/simnet"
)

// Slow is what the kit needs of a dialect to serve players on a slow link: see Slow.Run.
type Slow struct {
	// Server makes a server core at ServerAddr with a world that all players see.
	Server func(now time.Time, seed uint64, w *SlowWorld) SlowServer
	// Client makes a client core that begins to connect to ServerAddr. own is the index of its walker.
	Client func(now time.Time, seed uint64, own int) SlowClient
	// Bytes is what the state of one walker takes in a packet.
	Bytes int
	// Watch means that players only watch: they ask for nothing and say nothing.
	Watch bool
	// Few is how many seeds Serves has outside the gate; 10 if 0. A dialect that is far from the bars needs fewer.
	Few int

	walkers int           // in sight; slowWalkers if 0
	warm    time.Duration // before the first step
}

// SlowServer is a server core that tells each player that has entered about a SlowWorld.
type SlowServer interface {
	simnet.Node
	// Turn takes the core's events. It calls heard for each that is a player's wish: a step or a line, the other is 0.
	Turn(now time.Time, heard func(from netip.AddrPort, step, line uint32))
	// Tick tells all players the newest state of the world, as the gateway does once a tick: with pace.InTurn and SlowWorld.Tick.
	Tick(now time.Time)
	// Say sends a player a line, as a gateway sends chat.
	Say(now time.Time, to netip.AddrPort, line uint32)
	// Entered returns how many players are told about the world.
	Entered() int
	// Path returns what is known of the path to a player.
	Path(to netip.AddrPort) pace.Estimate
}

// SlowClient is a player's core.
type SlowClient interface {
	simnet.Node
	// Turn takes the core's events. It calls heard for each line.
	Turn(now time.Time, heard func(line uint32))
	// Step asks for a step of the own walker, and Say says a line. Steps and lines are numbered from 1.
	Step(now time.Time, step uint32)
	Say(now time.Time, line uint32)
	// Walker returns the newest state that the client has of a walker.
	Walker(i int) (SlowWalker, bool)
}

// SlowWorld is a world of walkers. Each takes a step in each tick, so all of them have changed.
type SlowWorld struct {
	Walkers []SlowWalker
	tick    uint32
	// players are the addresses of the players, whose walkers are the first.
	players []netip.AddrPort
	asked   []uint32 // the newest step that each player has asked for
}

// SlowWalker is an entity as it goes on the wire, three floats. So that a test can read from them how old a state is and what was done:
//
//	X        the tick, from 1
//	Y        the newest step of the player whose walker it is, or else something that changes
//	Heading  something that changes
type SlowWalker struct{ X, Y, Heading float32 }

// LineBytes is the size of a line.
const LineBytes = 40

// Own returns the index of a player's walker.
func (w *SlowWorld) Own(player netip.AddrPort) int { return slices.Index(w.players, player) }

// Distance returns how far a walker is from another. They stand in a circle.
func (w *SlowWorld) Distance(a, b int) int {
	d := (a - b + len(w.Walkers)) % len(w.Walkers)
	return min(d, len(w.Walkers)-d)
}

// Tick returns the number of the tick.
func (w *SlowWorld) Tick() uint64 { return uint64(w.tick) }

func (w *SlowWorld) step(tick uint32) {
	w.tick = tick
	for i := range w.Walkers {
		x := &w.Walkers[i]
		x.X, x.Y, x.Heading = float32(tick), float32(tick)/4, float32(i)+float32(tick)/8
		if i < len(w.asked) {
			x.Y = float32(w.asked[i])
		}
	}
}

// SlowPath is a way down that may change.
type SlowPath struct {
	Rate   int // bits a second; 0 is no limit
	For    time.Duration
	Loss   float64
	Jitter time.Duration // the delay is half of it less
	Longer time.Duration // how much more than usual the delay is
}

const (
	slowTick  = 50 * time.Millisecond
	slowDelay = 20 * time.Millisecond
	slowQueue = 200 * time.Millisecond
	slowStart = 3 * time.Second // what the link does is measured from then on
	slowRest  = 2 * time.Second // how long nothing is asked for at the end

	slowWalkers = 150
	slowNear    = 8 // the distance within which a walker is near
)

// SlowCount is what was seen in a run, or in several.
type SlowCount struct {
	Steps, StepsSeen int             // of the own walkers
	StepTimes        []time.Duration // from asking to seeing
	Lines, LinesSeen int
	LineTimes        []time.Duration
	Near             []time.Duration // how old the state of near walkers is, at each tick after slowStart
	Oldest           time.Duration   // of any walker, then

	Sent, Dropped int             // datagrams down, after slowStart
	Given         int             // bytes of them, headers included, dropped ones too
	Used          int             // bytes of them that went over the link, headers included
	Players       []SlowShare     // of one run
	Waits         time.Duration   // the sum of their times in the queue
	Seconds       float64         // for how long was measured
	Budgets       []pace.Estimate // as known at each tick
}

// SlowShare is what one player of a run got.
type SlowShare struct {
	Used             int // bytes on the link, after slowStart
	Steps, StepsSeen int
	Oldest           time.Duration // of any walker, after slowStart
}

// slowRun is one run.
type slowRun struct {
	SlowCount
	net     *simnet.Network
	rng     *rand.Rand
	walk    *SlowWorld
	server  SlowServer
	host    *simnet.Host
	down    *simnet.Link
	upPath  SlowPath // of each player
	players []*slowPlayer
	began   time.Time     // of tick 0
	from    time.Duration // when measuring begins
	end     time.Duration
}

type slowPlayer struct {
	SlowClient
	run    *slowRun
	i      int
	host   *simnet.Host
	steps  []time.Time // when each was asked for
	seen   int         // of them
	lines  map[uint32]time.Time
	nextLn uint32
}

// Run serves players who share one way down, and returns what they and the link have seen. The way up has no limit.
func (d Slow) Run(seed uint64, players int, paths ...SlowPath) (SlowCount, error) {
	r := d.newRun(seed, players, paths...)
	for range players {
		r.join(d, seed)
	}
	if err := r.net.RunUntil(func() bool { return r.server.Entered() == players }, 30*time.Second); err != nil {
		return r.SlowCount, fmt.Errorf("%d of %d players have entered: %w", r.server.Entered(), players, err)
	}
	r.begin()
	for _, p := range r.players {
		if !d.Watch {
			p.play(d.warm)
		}
	}
	for _, p := range paths {
		r.down.SetProfile(p.profile())
		if err := r.net.Run(p.For); err != nil {
			return r.SlowCount, err
		}
	}
	r.sum()
	return r.SlowCount, nil
}

// raced plays once in place of a law under the race detector. Virtual time is one goroutine, in which that finds nothing and is ten times as
// slow.
func (d Slow) raced(t *testing.T) bool {
	if !Race {
		return false
	}
	if _, err := d.Run(1, 1, SlowPath{Rate: 100_000, For: 5 * time.Second}); err != nil {
		t.Error(err)
	}
	return true
}

// newRun makes a server and its way down.
func (d Slow) newRun(seed uint64, players int, paths ...SlowPath) *slowRun {
	r := &slowRun{net: simnet.New(seed), rng: rand.New(rand.NewPCG(seed, 18)), walk: &SlowWorld{Walkers: make([]SlowWalker, cmp.Or(d.walkers, slowWalkers)), asked: make([]uint32, players)}, from: slowStart}
	r.net.SetLimits(simnet.Limits{Steps: 50_000_000})
	r.Players = make([]SlowShare, players)
	for _, p := range paths {
		r.end += p.For
	}
	r.walk.step(0)
	r.server = d.Server(r.net.Now(), seed, r.walk)
	r.host = r.net.Add(ServerAddr, r.server).Named("server")
	r.host.AfterTurn(func(now time.Time) {
		r.server.Turn(now, func(from netip.AddrPort, step, line uint32) {
			if i := r.walk.Own(from); step > 0 {
				r.walk.asked[i] = max(r.walk.asked[i], step)
			} else {
				r.server.Say(now, from, line)
			}
		})
	})
	r.down = r.net.NewLink(paths[0].profile())
	r.upPath = paths[0]
	r.upPath.Rate = 0
	return r
}

// join adds a player, who connects now.
func (r *slowRun) join(d Slow, seed uint64) {
	i := len(r.players)
	addr := netip.AddrPortFrom(ClientAddr.Addr(), ClientAddr.Port()+uint16(i))
	p := &slowPlayer{run: r, i: i, SlowClient: d.Client(r.net.Now(), seed+uint64(i)*1000+7, i), lines: map[uint32]time.Time{}}
	p.host = r.net.Add(addr, p.SlowClient).Named(fmt.Sprintf("player%d", i))
	p.host.AfterTurn(p.turn)
	r.net.Route(r.host, p.host, r.down)
	r.net.Route(p.host, r.host, r.net.NewLink(r.upPath.profile()))
	r.players, r.walk.players = append(r.players, p), append(r.walk.players, addr)
}

// begin begins with the first tick.
func (r *slowRun) begin() {
	r.began = r.net.Now()
	r.net.Filter(r.sent)
	r.doTick()
}

// sum adds up what the players have seen.
func (r *slowRun) sum() {
	for _, p := range r.players {
		r.Steps, r.StepsSeen = r.Steps+len(p.steps), r.StepsSeen+p.seen
		r.Players[p.i].Steps, r.Players[p.i].StepsSeen = len(p.steps), p.seen
		r.Lines += int(p.nextLn)
	}
	r.Seconds = (r.end - r.from).Seconds()
}

func (p SlowPath) profile() simnet.Profile {
	return simnet.Profile{Delay: slowDelay + p.Longer - p.Jitter/2, Jitter: p.Jitter, Loss: p.Loss, Rate: p.Rate, Queue: slowQueue}
}

func (r *slowRun) upTo(d time.Duration) time.Duration { return time.Duration(r.rng.Int64N(int64(d))) }

func (r *slowRun) elapsed() time.Duration { return r.net.Now().Sub(r.began) }

// sent sees each datagram on its way down.
func (r *slowRun) sent(p simnet.Packet) (v simnet.Verdict) {
	if p.From != r.host || p.To == nil || r.elapsed() < r.from {
		return v
	}
	bytes := len(p.Bytes) + 28
	r.Sent++
	r.Given += bytes
	wait := r.down.Backlog()
	if r.down.Profile().Rate > 0 && wait > slowQueue {
		r.Dropped++
		return v
	}
	r.Used += bytes
	r.Players[r.walk.Own(p.To.Addr())].Used += bytes
	r.Waits += wait
	return v
}

// doTick is a tick of the game.
func (r *slowRun) doTick() {
	r.walk.step(r.walk.tick + 1)
	if r.walk.tick%4 == 0 && r.elapsed() >= r.from {
		for _, p := range r.players {
			p.judge()
		}
	}
	r.server.Tick(r.net.Now())
	r.host.Poke()
	r.Budgets = append(r.Budgets, r.server.Path(r.players[0].host.Addr()))
	r.net.After(slowTick, "tick", r.doTick)
}

// judge notes how old the world is that a player sees.
func (p *slowPlayer) judge() {
	r := p.run
	for i := range r.walk.Walkers {
		x, _ := p.Walker(i)
		age := time.Duration(float32(r.walk.tick)-x.X) * slowTick // at the end of the tick before
		r.Oldest = max(r.Oldest, age)
		r.Players[p.i].Oldest = max(r.Players[p.i].Oldest, age)
		if d := r.walk.Distance(i, p.i); d > 0 && d <= slowNear {
			r.Near = append(r.Near, age)
		}
	}
}

// play begins with steps and lines, after a while.
func (p *slowPlayer) play(after time.Duration) {
	p.run.net.After(after+p.run.upTo(500*time.Millisecond), "step", p.step)
	p.run.net.After(after+p.run.upTo(2*time.Second), "line", p.line)
}

// step asks for a step now and then.
func (p *slowPlayer) step() {
	if p.run.elapsed() > p.run.end-slowRest {
		return
	}
	p.steps = append(p.steps, p.run.net.Now())
	p.Step(p.host.Now(), uint32(len(p.steps)))
	p.host.Poke()
	p.run.net.After(300*time.Millisecond+p.run.upTo(400*time.Millisecond), "step", p.step)
}

// line says a line now and then.
func (p *slowPlayer) line() {
	if p.run.elapsed() > p.run.end-slowRest {
		return
	}
	p.nextLn++
	p.lines[p.nextLn] = p.run.net.Now()
	p.Say(p.host.Now(), p.nextLn)
	p.host.Poke()
	p.run.net.After(1500*time.Millisecond+p.run.upTo(time.Second), "line", p.line)
}

// turn looks at what a player sees.
func (p *slowPlayer) turn(now time.Time) {
	r := p.run
	p.Turn(now, func(line uint32) {
		if asked, ok := p.lines[line]; ok {
			delete(p.lines, line)
			r.LinesSeen++
			r.LineTimes = append(r.LineTimes, r.net.Now().Sub(asked))
		}
	})
	own, _ := p.Walker(p.i)
	for p.seen < len(p.steps) && float32(p.seen) < own.Y {
		r.StepTimes = append(r.StepTimes, r.net.Now().Sub(p.steps[p.seen]))
		p.seen++
	}
}

// add adds another run.
func (c *SlowCount) add(o SlowCount) {
	c.Steps, c.StepsSeen, c.Lines, c.LinesSeen = c.Steps+o.Steps, c.StepsSeen+o.StepsSeen, c.Lines+o.Lines, c.LinesSeen+o.LinesSeen
	c.StepTimes, c.LineTimes, c.Near = append(c.StepTimes, o.StepTimes...), append(c.LineTimes, o.LineTimes...), append(c.Near, o.Near...)
	c.Oldest = max(c.Oldest, o.Oldest)
	c.Sent, c.Dropped, c.Given, c.Used = c.Sent+o.Sent, c.Dropped+o.Dropped, c.Given+o.Given, c.Used+o.Used
	c.Waits, c.Seconds = c.Waits+o.Waits, c.Seconds+o.Seconds
}

// Quantile returns the time that a share of all is not above.
func Quantile(times []time.Duration, share float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	times = slices.Sorted(slices.Values(times))
	return times[min(int(share*float64(len(times))), len(times)-1)]
}

// String is a row for the log.
func (c SlowCount) String() string {
	wait := time.Duration(0)
	if n := c.Sent - c.Dropped; n > 0 {
		wait = c.Waits / time.Duration(n)
	}
	const ms = time.Millisecond
	return fmt.Sprintf("steps %d/%d p50 %v p99 %v, lines %d/%d p99 %v, %d sent, %.2f%% dropped, %.0f kbit/s, wait %v, near p50 %v p95 %v, oldest %v",
		c.StepsSeen, c.Steps, Quantile(c.StepTimes, .5).Round(ms), Quantile(c.StepTimes, .99).Round(ms), c.LinesSeen, c.Lines, Quantile(c.LineTimes, .99).Round(ms),
		c.Sent, 100*float64(c.Dropped)/float64(max(c.Sent, 1)), float64(c.Used)*8/1000/c.Seconds, wait.Round(ms/10),
		Quantile(c.Near, .5), Quantile(c.Near, .95), c.Oldest)
}
