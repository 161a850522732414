package connector

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"parley/protocol/relay/core"
	"parley/simnet"
)

// actor is a player of a swarm: one address, with an endpoint for each port that it speaks to.
type actor struct {
	s      *swarm
	n      int
	host   *simnet.Host
	shared *core.Shared
	main   *core.Endpoint // of the one that opens
	game   *core.Endpoint
	asked  bool // to open, or to join
	number int  // of the player, -1 before it joined
	begin  time.Duration

	crashed, lost, left bool

	saw      Readiness // of the game
	stepped  Readiness // our own
	sawLeave map[int]bool

	said     int            // reliable messages
	loose    int            // unreliable ones
	received map[int]*voice // by the number of the player
}

// voice is what an actor heard of a player.
type voice struct {
	heard map[int]bool // reliable messages, by number
}

func newActor(s *swarm, n int) *actor {
	a := &actor{s: s, n: n, number: -1, sawLeave: map[int]bool{}, received: map[int]*voice{},
		shared: &core.Shared{Rand: rand.New(rand.NewPCG(s.seed, uint64(100+n)))}}
	a.begin = time.Duration(s.rng.IntN(3000)) * ms
	if n == 0 {
		a.main = a.dial(mainPort)
	}
	addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(1 + n)}), 5000)
	a.host = s.net.Add(addr, a).Named(fmt.Sprintf("actor %d", n))
	a.host.AfterTurn(a.turn)
	return a
}

func (a *actor) dial(port uint16) *core.Endpoint {
	rules := core.Rules{KeepAlive: keepAlive, Timeout: timeout, HoleTimeout: holeTimeout}
	e, err := core.NewClient(a.s.net.Now(), netip.AddrPortFrom(swarmHost, port), core.Config{Rules: rules}, a.shared)
	if err != nil {
		panic(err)
	}
	return e
}

// out reports whether the actor takes no part any more, or never will: the opener was lost before it knew of its game.
func (a *actor) out() bool {
	return a.crashed || a.lost || a.left || a.s.lossy && a.s.game == 0 && a.s.actors[0].lost
}

func (a *actor) each(f func(e *core.Endpoint)) {
	for _, e := range []*core.Endpoint{a.main, a.game} {
		if e != nil {
			f(e)
		}
	}
}

// HandleDatagram is a node's. What comes from a port that the actor does not know yet is dropped.
func (a *actor) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	a.each(func(e *core.Endpoint) { e.HandleDatagram(now, from, b) })
}

// HandleTimeout is a node's.
func (a *actor) HandleTimeout(now time.Time) {
	a.each(func(e *core.Endpoint) { e.HandleTimeout(now) })
}

// NextTimeout is a node's.
func (a *actor) NextTimeout() (first time.Time, any bool) {
	a.each(func(e *core.Endpoint) {
		if at, ok := e.NextTimeout(); ok && (!any || at.Before(first)) {
			first, any = at, true
		}
	})
	return first, any
}

// PollTransmit is a node's.
func (a *actor) PollTransmit(buf []byte) (n int, to netip.AddrPort, ok bool) {
	a.each(func(e *core.Endpoint) {
		if !ok {
			n, to, ok = e.PollTransmit(buf)
		}
	})
	return n, to, ok
}

// turn takes what came.
func (a *actor) turn(now time.Time) {
	for _, e := range []*core.Endpoint{a.main, a.game} {
		if e == nil {
			continue
		}
		e.Advance(now)
		for ev, ok := e.PollEvent(); ok; ev, ok = e.PollEvent() {
			switch {
			case ev.Kind == core.EventLeft && e == a.game && !a.left, ev.Kind == core.EventLeft && a.game == nil:
				a.lost = true
			case ev.Kind == core.EventPackage && e == a.main:
				a.fromMain(ev.Package.Payload)
			case ev.Kind == core.EventPackage && ev.Package.Server:
				a.fromGame(ev.Package.Payload)
			case ev.Kind == core.EventPackage:
				a.fromPlayers(ev.Package.Mode, ev.Package.Payload)
			}
		}
	}
}

func (a *actor) fromMain(payload []byte) {
	var m FromMain
	for msgs := Read(payload); msgs.Next(&m); {
		if m.Kind != FromMainOpened {
			a.s.fail("the opener was told %s", say(&m))
			continue
		}
		a.s.game = m.Port
		a.game = a.dial(m.Port)
	}
}

func (a *actor) fromGame(payload []byte) {
	msgs, m := Read(payload), FromGame{}
	for msgs.Next(&m) {
		switch m.Kind {
		case FromGameJoined:
			if a.number >= 0 || a.n == 0 && m.Player != 0 {
				a.s.fail("actor %d was told %s, and was player %d", a.n, say(&m), a.number)
			}
			a.number = int(m.Player)
		case FromGameReadiness:
			if m.Readiness != a.saw+1 {
				a.s.fail("the game went from %v to %v", a.saw, m.Readiness)
			}
			a.saw = m.Readiness
		case FromGamePeerLeft:
			a.sawLeave[int(m.Player)] = true
		case FromGameLeft:
			a.left = true
		case FromGameNotJoined:
			a.lost = true // and comes too late to be heard
		case FromGamePeerJoined:
		default:
			a.s.fail("actor %d was told %s", a.n, say(&m))
		}
	}
	if err := msgs.Err(); err != nil {
		a.s.fail("from the game: %v", err)
	}
}

// fromPlayers checks what others said: texts are the number of the message among the reliable
// ones of its sender, and its mode.
func (a *actor) fromPlayers(mode core.Mode, payload []byte) {
	msgs, m := Read(payload), Relayed{}
	for msgs.Next(&m) {
		number, sent, _ := strings.Cut(string(m.Text), " ")
		n, err := strconv.Atoi(number)
		if err != nil || sent != mode.String() {
			a.s.fail("%q came in mode %v", m.Text, mode)
			return
		}
		v := a.received[int(m.From)]
		if v == nil {
			v = &voice{heard: map[int]bool{}}
			a.received[int(m.From)] = v
		}
		if mode == core.Unreliable {
			continue
		}
		if v.heard[n] {
			a.s.fail("message %d of player %d came to player %d twice", n, m.From, a.number)
		}
		v.heard[n] = true
		for k := n - 1; mode == core.SemiOrdered && k >= 0; k-- {
			if !v.heard[k] {
				a.s.fail("player %d got the semi-ordered message %d of player %d before its message %d", a.number, n, m.From, k)
				break
			}
		}
	}
	if err := msgs.Err(); err != nil {
		a.s.fail("from players: %v", err)
	}
}

// heardAll reports whether everything came that those have said who are still there, and word of
// those who are not.
func (a *actor) heardAll() bool {
	for _, b := range a.s.actors {
		if b.out() && b.number >= 0 && !a.sawLeave[b.number] {
			return false
		}
		if b == a || b.out() {
			continue
		}
		if v := a.received[b.number]; v == nil || len(v.heard) != b.said {
			return false
		}
	}
	return a.game.Unconfirmed() == 0
}

// act does what an actor would do now: ask for a game, take a step, say something.
func (a *actor) act() {
	s := a.s
	switch {
	case s.net.Elapsed() < a.begin && a.n > 0:
	case !a.asked && a.n == 0 && a.main.State() == core.StateOpen:
		a.asked = true
		a.send(a.main, core.SemiOrdered, core.ToServer, &ToMain{Kind: ToMainOpen, MaxPlayers: uint8(len(s.actors) - 1)})
	case a.n > 0 && a.game == nil && s.game != 0:
		a.game = a.dial(s.game)
	case a.n > 0 && !a.asked && a.game != nil && a.game.State() == core.StateOpen:
		a.asked = true
		a.send(a.game, core.SemiOrdered, core.ToServer, &join)
	case a.number < 0 || a.game.State() != core.StateOpen:
	case a.stepped == a.saw && a.saw < Initialized && a.everybodyCame():
		a.stepped++
		m := ready(a.stepped)
		a.send(a.game, core.Mode(1+s.rng.IntN(2)), core.ToServer, &m)
	case !s.quiet && a.everybodyCame():
		a.speak()
	}
}

// everybodyCame reports whether all have joined who will: what is said before may not reach all.
func (a *actor) everybodyCame() bool {
	for _, b := range a.s.actors {
		if b.number < 0 && !b.out() {
			return false
		}
	}
	return true
}

// speak says a few things in one mode, in one package.
func (a *actor) speak() {
	mode := core.Mode(a.s.rng.IntN(3))
	var list []Message
	for range 1 + a.s.rng.IntN(3) {
		n := &a.said
		if mode == core.Unreliable {
			n = &a.loose
		}
		list = append(list, chat(fmt.Sprintf("%d %v", *n, mode)))
		*n++
	}
	a.send(a.game, mode, core.ToOthers, list...)
}

func (a *actor) send(e *core.Endpoint, mode core.Mode, to core.Target, messages ...Message) {
	var payload []byte
	for _, m := range messages {
		payload = m.AppendTo(payload)
	}
	if err := e.Send(a.s.net.Now(), mode, to, payload); err != nil {
		a.s.fail("actor %d: %w", a.n, err)
	}
}

// leave has the actor leave the game.
func (a *actor) leave() {
	if !a.out() {
		a.send(a.game, core.Unordered, core.ToServer, &leave)
		a.host.Poke()
	}
}
