package core

import (
	"encoding/binary"
	"math"
	"net/netip"
	"slices"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/pace"
)

// slow is replica for players on a slow link. A walker is three floats in a kind of their own, each with an id and a size.
var slow = kit.Slow{Server: newSlowServer, Client: newSlowClient, Bytes: 3 * (2 + 4), Few: 5}

// slowBudget is what the gateway gives a tick at most.
const slowBudget = 4096

func TestASlowLinkIsServedAtItsOwnSpeed(t *testing.T) { slow.Serves(t) }
func TestPlayersShareALink(t *testing.T)              { slow.Shares(t) }
func TestAHundredPlayersComeOneByOne(t *testing.T)    { slow.Crowds(t) }
func TestALinkWithoutALimitIsToldAll(t *testing.T)    { slow.HoldsNothingBack(t) }
func TestNoMoreIsSentBecauseOfDrops(t *testing.T)     { slow.SendsNoMoreForDrops(t, 50_000) }
func TestBadLuckIsBorne(t *testing.T)                 { slow.BearsBadLuck(t) }
func TestALongerPathIsNoQueue(t *testing.T)           { slow.FollowsALongerPath(t) }
func TestWhatAPlayerFeels(t *testing.T)               { slow.Feels(t) }

// slowServer is a server that replicates walkers.
type slowServer struct {
	*Mux
	world    *kit.SlowWorld
	budget   int // of a tick, at most
	entities []*Entity
	players  []*Conn
	asked    map[*Conn]bool // since the last tick
}

func newSlowServer(now time.Time, seed uint64, w *kit.SlowWorld) kit.SlowServer {
	s := &slowServer{Mux: NewMux(now, Config{}, newShared(seed), kit.Key(seed)), world: w, budget: slowBudget, asked: map[*Conn]bool{}}
	kind, err := s.Store().AddKind("walker", Variable{"x", DataFloat}, Variable{"y", DataFloat}, Variable{"heading", DataFloat})
	if err != nil {
		panic(err)
	}
	for range w.Walkers {
		e, err := s.Store().NewEntity(kind)
		if err != nil {
			panic(err)
		}
		e.Tag = uint64(len(s.entities))
		s.entities = append(s.entities, e)
	}
	return s
}

func (s *slowServer) Turn(_ time.Time, heard func(from netip.AddrPort, step, line uint32)) {
	for c, ev, ok := s.PollEvent(); ok; c, ev, ok = s.PollEvent() {
		switch {
		case ev.Kind == EventLinked:
			for _, e := range s.entities { // in their order, so that an id is an index
				if err := c.Show(e); err != nil {
					panic(err)
				}
			}
			s.players = append(s.players, c)
		case ev.Kind == EventClosed:
			s.players = slices.DeleteFunc(s.players, func(x *Conn) bool { return x == c })
		case ev.Kind == EventMessage && string(ev.Name) == "steer":
			s.asked[c] = true
			heard(c.Peer(), binary.LittleEndian.Uint32(ev.Data), 0)
		case ev.Kind == EventMessage:
			heard(c.Peer(), 0, binary.LittleEndian.Uint32(ev.Data))
		}
	}
}

func (s *slowServer) Tick(now time.Time) {
	s.Advance(now)
	var b [4]byte
	for i, w := range s.world.Walkers {
		for field, v := range []float32{w.X, w.Y, w.Heading} {
			binary.LittleEndian.PutUint32(b[:], math.Float32bits(v))
			if err := s.entities[i].Set(field, b[:]); err != nil {
				panic(err)
			}
		}
	}
	for i := range s.players {
		c := s.players[pace.InTurn(s.world.Tick(), i, len(s.players))]
		own := s.world.Own(c.Peer())
		if s.asked[c] { // as the gateway does
			c.Answer(s.entities[own])
		}
		c.ReplicateBy(s.budget, func(e *Entity) uint32 {
			d := s.world.Distance(own, int(e.Tag))
			if d == 0 {
				return Own
			}
			return uint32(16 + 240*75*75/(75*75+64*d*d)) // as world.View.Nearness with an edge of 75
		})
	}
	clear(s.asked)
}

func (s *slowServer) Say(_ time.Time, to netip.AddrPort, line uint32) {
	if err := s.Conn(to).Send(Ordered, "chat", append(binary.LittleEndian.AppendUint32(nil, line), make([]byte, kit.LineBytes)...)); err != nil {
		panic(err) // the window has room for a few lines
	}
}

func (s *slowServer) Entered() int { return len(s.players) }

func (s *slowServer) Path(to netip.AddrPort) (e pace.Estimate) {
	if c := s.Conn(to); c != nil {
		e = c.Path()
	}
	return e
}

// slowClient is a player.
type slowClient struct {
	*Endpoint
}

func newSlowClient(now time.Time, seed uint64, _ int) kit.SlowClient {
	return slowClient{NewClient(now, serverAddr, Config{}, newShared(seed))}
}

func (c slowClient) Turn(now time.Time, heard func(line uint32)) {
	for ev, ok := c.PollEvent(); ok; ev, ok = c.PollEvent() {
		switch ev.Kind {
		case EventConnected:
			if err := c.Link(now); err != nil {
				panic(err)
			}
		case EventMessage:
			heard(binary.LittleEndian.Uint32(ev.Data))
		}
	}
}

func (c slowClient) Step(now time.Time, step uint32) { c.tell(now, "steer", step) }
func (c slowClient) Say(now time.Time, line uint32)  { c.tell(now, "chat", line) }

// tell sends a message as large as a line of chat. If it cannot, the step or the line is not seen.
func (c slowClient) tell(now time.Time, name string, n uint32) {
	_ = c.Send(now, Ordered, name, append(binary.LittleEndian.AppendUint32(nil, n), make([]byte, kit.LineBytes)...))
}

func (c slowClient) Walker(i int) (w kit.SlowWalker, ok bool) {
	kind, ok := c.Values().KindLink("walker")
	if !ok {
		return w, false
	}
	for field, v := range []*float32{&w.X, &w.Y, &w.Heading} {
		r, ok := c.Values().EntityValue(kind, uint8(i), [...]string{"x", "y", "heading"}[field])
		if !ok {
			return w, false
		}
		*v = float32(r.Float())
	}
	return w, true
}
