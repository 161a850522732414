package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// assumptions are what the tables take for granted.
type assumptions struct {
	TickRate float64 // ticks a second
	Cores    float64 // of a machine, each like those that were measured
	Share    float64 // of each resource that is used: the rest is for peaks, and for the players of machines that die
	Link     float64 // bits a second of a machine, each way
	Memory   float64 // bytes of a machine
	Streams  float64 // of the logs of a cluster: logStreams of package cluster
	Header   float64 // bytes of IPv4 and UDP with each datagram
	Replicas int
	Players  []float64
}

var assumed = assumptions{
	TickRate: 20, Cores: 16, Share: .5, Link: 10e9, Memory: 64 << 30, Streams: 8, Header: 28, Replicas: 3, Players: []float64{1e4, 1e5, 1e6},
}

const second = 1e9 // in nanoseconds

// leastMachines is what three replicas need.
const leastMachines = 3

// parts are where the CPU time of a player and a tick goes, in nanoseconds.
type parts struct {
	whole float64

	step, input, sight, send, receive float64
	rest                              float64 // encoding, acknowledgements, loops, timers, the runtime: what a server took beyond the others

	// room is what a room costs in a tick however many of its players are on the server: the step, and bringing all entities to the
	// dialect. Only a room of which few were there tells; of others it is 0, and the players' parts have the step.
	room float64
}

func partsOf(c *Costs, w WorldCost, r RunCost) parts {
	p := parts{
		whole: r.CPU, step: w.StepNS * float64(r.Rooms) / float64(r.Players), input: r.Inputs * w.InputNS, sight: w.SightNS,
		send: r.Out * c.Datagram.SendNS, receive: r.In * c.Datagram.Receive,
	}
	if r.Few > 0 {
		all := r.CPU * float64(r.Players)
		p.whole = (all - r.FewCPU) / float64(r.Players-r.Few)
		p.room, p.step = all-p.whole*float64(r.Players), 0
	}
	p.rest = p.whole - p.step - p.input - p.sight - p.send - p.receive
	return p
}

// A load is a kind of room with what it costs.
type load struct {
	kind   string
	size   float64 // players of a room
	parts  parts
	stage  float64 // CPU of a room and a tick that each node with a stage of it spends: the step with its inputs
	spread float64 // and what it spends besides, on the loop of its dialect, before it tells a player anything
	loop   float64 // CPU of a player and a tick that its node spends, on the same loop
	seal   float64 // CPU of an entry, at its sequencer
	apply  float64 // and at each other node
	entry  float64 // bytes
	out    float64 // bits a second to a player, with headers
	in     float64 // and from it
	memory float64 // bytes a player

	most   float64 // players whom the loop of a dialect serves in a process
	stages float64 // of a room: processes that share its players
}

func loadOf(c *Costs, a assumptions, kind string) (l load, err error) {
	w, err := c.world(kind)
	if err != nil {
		return l, err
	}
	r, err := c.run(kind)
	if err != nil {
		return l, err
	}
	p := partsOf(c, w, r)
	l = load{kind: kind, size: float64(r.PerRoom), parts: p, seal: w.SealNS, apply: w.ApplyNS, entry: float64(w.EntryBytes), memory: r.Memory}
	l.stage = w.StepNS + p.input*l.size
	l.spread = max(0, p.room-w.StepNS)
	l.loop = p.whole - p.step - p.input
	l.out = a.TickRate * 8 * (r.OutBytes + a.Header*r.Out)
	l.in = a.TickRate * 8 * (r.InBytes + a.Header*r.In)
	l.most = math.Floor((a.Share*second/a.TickRate - l.spread) / l.loop)
	if l.most < 1 {
		return l, fmt.Errorf("a room of %s: its %.1f ms a tick are more than half a core", kind, l.spread/1e6)
	}
	l.stages = math.Ceil(l.size / l.most)
	return l, nil
}

// A store is what NATS takes for an entry: less when many come, as servers then write several at once. slow is at the pace of ticks, and
// fast as fast as one stream goes.
type store struct {
	slow, fast pace
	perByte    float64 // CPU beyond slow's bytes
	bytes      float64
}

// A pace is what an entry takes at so many a second of a stream.
type pace struct {
	rate          float64
	servers, node float64 // CPU
	messages      float64
}

func paceOf(a AppendCost) pace {
	return pace{a.PerSecond / float64(a.Streams), a.Servers, a.Node, a.Messages}
}

func storeOf(c *Costs, replicas int) (s store, err error) {
	small, large, err := c.paced(replicas)
	if err != nil {
		return s, err
	}
	fast, err := c.fastest(replicas)
	if err != nil {
		return s, err
	}
	s = store{slow: paceOf(small), fast: paceOf(fast), bytes: float64(small.Bytes)}
	if large.Bytes > small.Bytes {
		s.perByte = max(0, (large.Servers+large.Node-small.Servers-small.Node)/float64(large.Bytes-small.Bytes))
	}
	return s, nil
}

// at is the pace at so many entries a second of a stream: between the two that were measured, by the logarithm of the rate.
func (s *store) at(rate float64) pace {
	t := 0.0
	if s.fast.rate > s.slow.rate && rate > s.slow.rate {
		t = min(1, math.Log(rate/s.slow.rate)/math.Log(s.fast.rate/s.slow.rate))
	}
	mix := func(slow, fast float64) float64 { return slow + t*(fast-slow) }
	return pace{rate, mix(s.slow.servers, s.fast.servers), mix(s.slow.node, s.fast.node), mix(s.slow.messages, s.fast.messages)}
}

// entry is the CPU of an append of so many bytes, servers and node together.
func (s *store) entry(p pace, bytes float64) float64 {
	return p.servers + p.node + s.perByte*max(0, bytes-s.bytes)
}

// A need is what so many players need.
type need struct {
	players, rooms    float64
	loop, stage, nats float64 // cores
	appends           float64 // a second
	messages          float64 // of NATS, a second
	clusters          float64 // each has the streams of one
	machines          float64
	processes         float64
	out, in           float64 // bits a second of all players
	between           float64 // bits a second between machines, for the logs
	memory            float64 // bytes of a machine
	uses              []use   // the most used first
}

// A use is how much of a resource is used, as a part of what may be. Over 1 a part is not enough: of the loop, if all players of a room
// were on one process, and of streams and leases, if all rooms were in one cluster.
type use struct {
	what what
	part float64
}

// what is a resource that ends.
type what int

const (
	ofCPU what = iota + 1
	ofLoop
	ofStage
	ofStreams
	ofLeases
	ofLink
	ofMemory
)

// needOf computes what so many players need, in rooms of a kind. A room of one process appends so often a second; one that is
// spread over several does at each tick.
func needOf(l load, s store, a assumptions, players, appendRate float64) need {
	n := need{players: players, rooms: math.Ceil(players / l.size)}
	rate := appendRate
	if l.stages > 1 {
		rate = a.TickRate
	}
	ticks := n.rooms * a.TickRate
	n.appends = n.rooms * rate
	bytes := l.entry * a.TickRate / rate // entries of one append
	n.loop = players * a.TickRate * l.loop / second
	n.stage = ticks * (l.stages*(l.stage+l.spread) + l.seal + (l.stages-1)*l.apply) / second
	n.processes = math.Ceil(players / l.most)
	streams := n.appends / (a.Streams * s.fast.rate * a.Share)
	leases := n.processes / (s.fast.rate * a.Share) // each process renews its own once a second, in one stream
	n.clusters = math.Ceil(max(streams, leases))
	p := s.at(n.appends / n.clusters / a.Streams)
	n.nats = n.appends * (s.entry(p, bytes) + (l.stages-1)*p.node) / second
	n.messages = n.appends * p.messages
	n.machines = max(leastMachines*n.clusters, math.Ceil((n.loop+n.stage+n.nats)/(a.Cores*a.Share)))
	n.processes = max(n.machines, n.processes)
	n.out, n.in = players*l.out, players*l.in
	n.between = n.appends * bytes * 8 * (float64(a.Replicas-1) + l.stages) // to the replicas, and to the nodes that hear it
	n.memory = players * l.memory / n.machines
	n.uses = []use{
		{ofCPU, (n.loop + n.stage + n.nats) / (n.machines * a.Cores * a.Share)},
		{ofLoop, l.size / l.most},
		{ofStage, a.TickRate * (l.stage + max(l.seal, l.apply)) / (second * a.Share)},
		{ofStreams, streams},
		{ofLeases, leases},
		{ofLink, (n.out + n.between) / n.machines / (a.Link * a.Share)},
		{ofMemory, n.memory / (a.Memory * a.Share)},
	}
	slices.SortStableFunc(n.uses, func(x, y use) int { return cmp.Compare(y.part, x.part) })
	return n
}
