package peers

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var seed = flag.Uint64("seed", 0, "of the random tests; 0 is the time")

// net is a few nodes in virtual time, and what is between them.
type network struct {
	t     *testing.T
	rand  *rand.Rand
	now   time.Time
	nodes []*simNode
	way   []datagram
	loss  float64
	twice float64
	late  time.Duration
}

type datagram struct {
	at time.Time
	to int
	b  []byte
}

type simNode struct {
	*Link
	n        *network
	id       uint64
	dead     bool
	shut     bool            // its receivers have no room
	balky    float64         // how often a reliable package has to wait
	got      map[From][]word // as they were taken
	ended    map[From]int
	waits    map[Key]bool
	missed   int
	speakers map[Key]*[]word
}

// word is what a participant says.
type word struct {
	mode   uint8
	number uint32
}

func newNetwork(t *testing.T, nodes int) *network {
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("seed=%d", s)
	n := &network{t: t, rand: rand.New(rand.NewPCG(s, 0)), now: time.Unix(1e9, 0)}
	for i := range nodes {
		x := &simNode{n: n, id: uint64(i + 1), got: map[From][]word{}, ended: map[From]int{}, waits: map[Key]bool{}, speakers: map[Key]*[]word{}}
		x.Link = New(n.now, Config{Node: x.id, Take: x.take, Ended: func(f From) { x.ended[f]++ }, Free: func(k Key) { delete(x.waits, k) }, Missed: func() { x.missed++ }})
		x.Local(n.now, 1)
		n.nodes = append(n.nodes, x)
	}
	return n
}

func (x *simNode) take(from From, mode uint8, payload []byte, _ bool) bool {
	if mode != Unreliable && (x.shut || x.n.rand.Float64() < x.balky) {
		return false
	}
	x.got[from] = append(x.got[from], word{mode, binary.LittleEndian.Uint32(payload)})
	return true
}

// say has a participant say something, if it does not have to wait.
func (x *simNode) say(k Key, mode uint8) bool {
	if mode != Unreliable && x.waits[k] {
		return false
	}
	if x.speakers[k] == nil {
		x.speakers[k] = &[]word{}
	}
	list := x.speakers[k]
	w := word{mode, uint32(len(*list))}
	*list = append(*list, w)
	if x.Send(x.n.now, k, mode, false, binary.LittleEndian.AppendUint32(nil, w.number)) {
		x.waits[k] = true
	}
	return true
}

// run lets time pass.
func (n *network) run(d time.Duration) {
	for end := n.now.Add(d); n.now.Before(end); n.now = n.now.Add(time.Millisecond) {
		due := slices.Clone(n.way)
		n.way = slices.DeleteFunc(n.way, func(d datagram) bool { return !d.at.After(n.now) })
		for _, d := range due {
			if x := n.nodes[d.to]; !d.at.After(n.now) && !x.dead {
				x.Handle(n.now, d.b)
			}
		}
		for i, x := range n.nodes {
			if x.dead {
				continue
			}
			if !n.now.Before(x.NextTimeout()) {
				x.HandleTimeout(n.now)
			}
			for b, ok := x.PollTransmit(); ok; b, ok = x.PollTransmit() {
				n.carry(i, b)
			}
		}
	}
}

func (n *network) carry(from int, b []byte) {
	for to := range n.nodes { // its own comes back, as from a subject
		copies := 1
		switch f := n.rand.Float64(); {
		case f < n.loss:
			copies = 0
		case f < n.loss+n.twice:
			copies = 2
		}
		for range copies {
			at := n.now.Add(time.Millisecond)
			if n.late > 0 {
				at = at.Add(rand.N(n.late))
			}
			n.way = append(n.way, datagram{at, to, slices.Clone(b)})
		}
	}
	_ = from
}

// check looks at what a node has taken of a participant: each reliable package once, and a semi-ordered one after all reliable ones before it.
func (n *network) check(x *simNode, from From, said []word, all bool) {
	n.t.Helper()
	taken := map[uint32]bool{}
	for _, w := range x.got[from] {
		if w.mode == Unreliable {
			continue
		}
		if taken[w.number] {
			n.t.Fatalf("node %d has taken package %d of %v twice", x.id, w.number, from)
		}
		taken[w.number] = true
		if w.mode == SemiOrdered {
			for _, before := range said[:w.number] {
				if before.mode != Unreliable && !taken[before.number] {
					n.t.Fatalf("node %d has taken the semi-ordered package %d of %v before %d", x.id, w.number, from, before.number)
				}
			}
		}
	}
	for _, w := range said {
		if all && w.mode != Unreliable && !taken[w.number] {
			n.t.Fatalf("node %d has not taken package %d of %v: %+v", x.id, w.number, from, x.Stats())
		}
	}
}

func (n *network) checkAll() {
	n.t.Helper()
	for _, a := range n.nodes {
		for k, said := range a.speakers {
			for _, b := range n.nodes {
				if a != b && !a.dead && !b.dead {
					n.check(b, From{a.id, k}, *said, true)
				}
			}
		}
		if a.missed > 0 {
			n.t.Fatalf("node %d has missed packages: %+v", a.id, a.Stats())
		}
	}
}

// Over any network packages keep their mode: reliable ones come once to each node, semi-ordered ones in order.
func TestModesHoldBetweenNodes(t *testing.T) {
	for _, tt := range []struct {
		name  string
		loss  float64
		twice float64
		late  time.Duration
		balky float64
	}{
		{"a good network", 0, 0, 0, 0},
		{"loss", .3, 0, 0, 0},
		{"doubles and another order", 0, .3, 30 * time.Millisecond, 0},
		{"receivers without room", 0, 0, 0, .7},
		{"all of it", .2, .2, 50 * time.Millisecond, .3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := newNetwork(t, 3)
			n.run(3 * time.Second) // they know each other
			n.loss, n.twice, n.late = tt.loss, tt.twice, tt.late
			for _, x := range n.nodes {
				x.balky = tt.balky
			}
			for range 2000 {
				x := n.nodes[n.rand.IntN(3)]
				x.say(Key{uint16(n.rand.IntN(3)), 7}, uint8(n.rand.IntN(3)))
				n.run(time.Duration(n.rand.IntN(3)) * time.Millisecond)
			}
			n.loss = min(n.loss, .5)
			n.run(30 * time.Second)
			n.checkAll()
			for _, x := range n.nodes {
				if x.flying != 0 || len(x.waits) > 0 {
					t.Errorf("node %d keeps %d packages, and has %d participants wait", x.id, x.flying, len(x.waits))
				}
			}
		})
	}
}

// An unordered package does not wait for one that is lost, and a semi-ordered one does.
func TestUnorderedDoesNotWait(t *testing.T) {
	n := newNetwork(t, 2)
	n.run(3 * time.Second)
	a, b := n.nodes[0], n.nodes[1]
	k := Key{1, 1}
	n.loss = 1
	a.say(k, Unordered)
	n.run(5 * time.Millisecond)
	n.loss = 0
	a.say(k, SemiOrdered)
	a.say(k, Unordered)
	n.run(10 * time.Millisecond)
	if got := b.got[From{1, k}]; len(got) != 1 || got[0].number != 2 {
		t.Fatalf("at first %v is taken", got)
	}
	n.run(time.Second)
	if got := b.got[From{1, k}]; len(got) != 3 || got[1].number != 0 || got[2].number != 1 {
		t.Errorf("%v is taken", got)
	}
}

// A participant who sends without end, to a node whose receivers have no room, waits at its own node. Others do not, and no node keeps more
// than its share.
func TestAGreedyParticipantWaits(t *testing.T) {
	n := newNetwork(t, 2)
	n.run(3 * time.Second)
	a, b := n.nodes[0], n.nodes[1]
	b.shut = true
	greedy, other := Key{1, 1}, Key{2, 1}
	said := 0
	for range 10_000 {
		if a.say(greedy, Unordered) {
			said++
		}
		if n.rand.IntN(100) == 0 {
			n.run(time.Millisecond)
		}
	}
	if said != maxFlying || a.flying != maxFlying {
		t.Errorf("%d packages are taken of it, %d kept; the limit is %d", said, a.flying, maxFlying)
	}
	n.run(3 * time.Second)
	if held := len(b.in[From{1, greedy}].held); held > maxFlying {
		t.Errorf("%d are held", held)
	}
	if !a.say(other, Unordered) {
		t.Error("another participant has to wait")
	}
	b.shut = false
	n.run(3 * time.Second)
	n.checkAll()
	if len(a.waits) > 0 {
		t.Error("it waits for ever")
	}
}

// A node that dies is waited for no longer than it may be silent, and its participants end.
func TestANodeDies(t *testing.T) {
	n := newNetwork(t, 3)
	n.run(3 * time.Second)
	a, b, c := n.nodes[0], n.nodes[1], n.nodes[2]
	k := Key{1, 1}
	c.say(k, SemiOrdered)
	n.run(time.Second)
	c.dead = true
	for range maxFlying {
		a.say(k, SemiOrdered)
	}
	n.run(time.Second)
	if !a.waits[k] {
		t.Error("it does not wait for a node that may be there")
	}
	n.run(silentNode + time.Second)
	if a.waits[k] || a.flying > 0 {
		t.Errorf("it waits for a node that is dead: %d packages", a.flying)
	}
	n.check(b, From{1, k}, *a.speakers[k], true)
	n.run(forgetAfter)
	if b.ended[From{3, k}] != 1 || a.ended[From{3, k}] != 1 {
		t.Errorf("the participant of the dead node has ended %d and %d times", a.ended[From{3, k}], b.ended[From{3, k}])
	}
}

// A node that stood still for longer than others wait for it learns that it has missed something.
func TestANodeMissesPackages(t *testing.T) {
	n := newNetwork(t, 2)
	n.run(3 * time.Second)
	a, b := n.nodes[0], n.nodes[1]
	k := Key{1, 1}
	a.say(k, SemiOrdered)
	n.run(time.Second)
	n.loss = 1
	a.say(k, SemiOrdered)
	n.run(silentNode + 2*time.Second)
	n.loss = 0
	n.run(3 * time.Second)
	a.say(k, SemiOrdered)
	n.run(time.Second)
	if b.missed != 1 {
		t.Errorf("it has missed packages %d times", b.missed)
	}
}

// Nobody has missed what was said while nobody was there, nor what was under way when the first came.
func TestComingAndGoingIsNoLoss(t *testing.T) {
	n := newNetwork(t, 3)
	n.run(3 * time.Second)
	n.late = 20 * time.Millisecond
	for range 300 {
		for _, x := range n.nodes {
			x.say(Key{1, 1}, uint8(n.rand.IntN(3)))
		}
		if n.rand.IntN(20) == 0 {
			n.nodes[2].Local(n.now, n.rand.IntN(2))
		}
		n.run(time.Duration(n.rand.IntN(10)) * time.Millisecond)
	}
	n.run(10 * time.Second)
	for i, x := range n.nodes {
		if x.missed > 0 {
			t.Errorf("node %d has missed packages", x.id)
		}
		for j, from := range n.nodes[:2] {
			if i < 2 && i != j {
				n.check(x, From{from.id, Key{1, 1}}, *from.speakers[Key{1, 1}], true)
			}
		}
	}
}

// A participant who leaves is ended at the others, once, after all that it has said.
func TestAParticipantEnds(t *testing.T) {
	n := newNetwork(t, 2)
	n.run(3 * time.Second)
	n.loss, n.twice, n.late = .3, .3, 20*time.Millisecond
	a, b := n.nodes[0], n.nodes[1]
	k := Key{1, 1}
	for range 20 {
		a.say(k, SemiOrdered)
	}
	a.Leave(n.now, k)
	n.loss = 0
	n.run(5 * time.Second)
	n.check(b, From{1, k}, *a.speakers[k], true)
	if b.ended[From{1, k}] != 1 || len(a.out) != 0 {
		t.Errorf("it has ended %d times; %d are kept", b.ended[From{1, k}], len(a.out))
	}
	n.run(forgetAfter + time.Second)
	if len(b.in) != 0 {
		t.Errorf("%d are kept in mind", len(b.in))
	}
}

// FuzzHandle: whatever comes, a link keeps no more than its limits say.
func FuzzHandle(f *testing.F) {
	n := func() *Link {
		l := New(time.Unix(0, 0), Config{Node: 1, Take: func(From, uint8, []byte, bool) bool { return false }})
		l.Local(time.Unix(0, 0), 1)
		return l
	}
	other := New(time.Unix(0, 0), Config{Node: 2})
	other.Local(time.Unix(0, 0), 2)
	other.mask = 1
	for mode := range uint8(3) {
		other.Send(time.Unix(0, 0), Key{1, 1}, mode, true, []byte("hello"))
	}
	other.Leave(time.Unix(0, 0), Key{2, 2})
	other.HandleTimeout(time.Unix(1, 0))
	b, _ := other.PollTransmit()
	f.Add(slices.Clone(b))
	f.Fuzz(func(t *testing.T, b []byte) {
		l := n()
		for i := range 3 {
			l.Handle(time.Unix(int64(i), 0), b)
			l.HandleTimeout(time.Unix(int64(i), 1))
		}
		held := 0
		for _, r := range l.in {
			if len(r.held) > maxFlying {
				t.Errorf("%d are held", len(r.held))
			}
			held += len(r.held)
		}
		if held > len(b) || len(l.nodes) > maxNodes {
			t.Errorf("%d packages of %d bytes", held, len(b))
		}
		for m, ok := l.PollTransmit(); ok; m, ok = l.PollTransmit() {
			if len(m) > maxMessage {
				t.Error(fmt.Sprint(len(m), " bytes in a message"))
			}
		}
	})
}
