package gateway

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"parley/cluster/core"
	"parley/cluster/peers"
	"parley/protocol/relay"
	relaycore "parley/protocol/relay/core"
)

// relayFar are the participants of a room over relay that other servers have. A participant is its player and the number of its connection, which
// mean the same on every server.
//
// The link is the dialect's: its loop calls it for what participants here send, and a goroutine of relayFar, while the loop stands still, for what
// comes and for its timers.
type relayFar struct {
	x       *relayStage
	link    *peers.Link
	way     core.Peers
	remotes map[peers.From]*relaycore.Remote
	waiting map[peers.Key]*relay.Peer // participants here who have to wait
	heard   chan []byte
	wake    chan struct{}
	quit    chan struct{}
	over    <-chan struct{} // this server's part in the room has ended
	closing sync.Once
	lost    atomic.Uint64 // messages that had no room in heard
}

// far begins to exchange packages with other servers. Without a way to them, participants reach those of this server.
func (x *shared) far(st *relayStage) farPeers {
	f := &relayFar{
		x: st, remotes: map[peers.From]*relaycore.Remote{}, waiting: map[peers.Key]*relay.Peer{},
		heard: make(chan []byte, maxFarHeard), wake: make(chan struct{}, 1), quit: make(chan struct{}), over: x.quit,
	}
	f.link = peers.New(time.Now(), peers.Config{Node: x.node, Take: f.take, Ended: f.ended, Free: f.free, Missed: f.missed})
	way, err := x.all.cluster.Peers(x.room.Name(), f.hear)
	if err != nil {
		x.room.hub.log.Error("relay's packages between participants stay on this server", "room", x.room.Name(), "err", err)
		return nil
	}
	f.way = way
	st.peers.Connect(f)
	x.all.spawn(f.run)
	return f
}

// hear takes a message. A goroutine of the node calls it.
func (f *relayFar) hear(b []byte) {
	select {
	case f.heard <- slices.Clone(b):
	default: // what is reliable comes again
		f.lost.Add(1)
	}
}

// run brings messages to the link and away from it, until the room ends here.
func (f *relayFar) run() {
	defer f.way.Close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	armed := false
	for {
		var first []byte
		select {
		case <-f.quit:
			return
		case <-f.over:
			return
		case <-f.wake:
			if !armed { // what comes in the next moment goes along
				armed = true
				timer.Reset(farGather)
			}
			continue
		case first = <-f.heard:
		case <-timer.C:
		}
		armed = false
		var next time.Time
		var out [][]byte
		err := f.x.d.loop(func() { next, out = f.turn(first, out) })
		if err != nil { // the dialect has ended
			return
		}
		for _, b := range out {
			f.way.Tell(b)
		}
		timer.Reset(max(time.Until(next), 0))
	}
}

// turn has the link do what is due. The dialect's loop stands still.
func (f *relayFar) turn(first []byte, out [][]byte) (next time.Time, _ [][]byte) {
	select {
	case <-f.quit:
		return time.Now().Add(time.Hour), out
	default:
	}
	now := time.Now()
	if first != nil {
		f.link.Handle(now, first)
	}
	for range farATurn {
		select {
		case b := <-f.heard:
			f.link.Handle(now, b)
			continue
		default:
		}
		break
	}
	if next = f.link.NextTimeout(); !now.Before(next) {
		f.link.HandleTimeout(now)
		next = f.link.NextTimeout()
	}
	for b, ok := f.link.PollTransmit(); ok; b, ok = f.link.PollTransmit() {
		out = append(out, slices.Clone(b))
	}
	return next, out
}

// stir has run look again soon.
func (f *relayFar) stir() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// The rest is called while the dialect's loop stands still, or by it.

// keyOf returns what other servers know a participant by.
func keyOf(s *relaySeat) peers.Key { return peers.Key{Player: uint16(s.player.ID), Conn: s.logNumber} }

// Relay is relaycore.Elsewhere.
func (f *relayFar) Relay(from *relay.Peer, mode relay.Mode, payload []byte, pressed bool) (wait bool) {
	s := f.x.d.seats[from]
	if s == nil || s.player == nil {
		return false
	}
	k := keyOf(s)
	full := f.link.Send(time.Now(), k, uint8(mode), pressed, payload)
	f.stir()
	if !full || f.waiting[k] != nil {
		return false
	}
	f.waiting[k] = from
	return true
}

// free lets a participant go on who had to wait.
func (f *relayFar) free(k peers.Key) {
	if p := f.waiting[k]; p != nil {
		delete(f.waiting, k)
		f.x.peers.GoOn(p)
	}
}

// left notes that a participant is gone.
func (f *relayFar) left(s *relaySeat) {
	if s.player == nil {
		return
	}
	k := keyOf(s)
	delete(f.waiting, k)
	f.link.Leave(time.Now(), k)
	f.stir()
}

// take has the participants here get a package of another server's.
func (f *relayFar) take(from peers.From, mode uint8, payload []byte, pressed bool) bool {
	r := f.remotes[from]
	if r == nil {
		r = f.x.peers.NewRemote()
		f.remotes[from] = r
	}
	return r.Relay(relay.Mode(mode), payload, pressed)
}

// ended forgets a participant of another server.
func (f *relayFar) ended(from peers.From) {
	if r := f.remotes[from]; r != nil {
		delete(f.remotes, from)
		r.Close()
	}
}

// missed ends the connections here: a reliable package does not come any more, and no participant may go on without it. Clients come back.
func (f *relayFar) missed() {
	f.x.room.hub.log.Error("packages between participants of relay are lost, as the servers did not reach each other for long: those here are to connect again", "room", f.x.room.Name())
	for p := range f.x.peers.All() {
		p.Close("the servers have lost each other")
	}
}

// count says how many participants are here.
func (f *relayFar) count(n int) {
	if f.link.Local(time.Now(), n) {
		f.stir()
	}
}

// end ends the exchange.
func (f *relayFar) end() {
	f.closing.Do(func() { close(f.quit) })
	f.x.peers.Connect(nil)
	for _, r := range f.remotes {
		r.Close()
	}
	clear(f.remotes)
}
