package connector

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"parley/protocol/relay/core"
)

var rigStart = time.Unix(1_000_000, 0)

var key = [32]byte{7}

// rig is a server's core in virtual time, with its ports, and clients that are nothing but
// addresses: what is sent arrives at once and nothing is lost.
type rig struct {
	t     testing.TB
	now   time.Time
	lobby *Lobby
	mux   *core.Mux
	main  *core.Port
	ports []*core.Port // that are open, the main port first
	next  uint16       // the number of the next port
	none  bool         // no further port can be opened

	events []string   // of the program
	sent   []datagram // by the server, since they were last looked at
	buf    [core.MaxDatagram]byte
}

// datagram is one that the server sent.
type datagram struct {
	at   time.Duration // since the start
	port uint16
	to   netip.AddrPort
	b    []byte
}

const mainPort = 8082

func newRig(t testing.TB, c Config) *rig { return newRigOf(t, c, 0) }

// newRigOf is newRig with another bound of peers.
func newRigOf(t testing.TB, c Config, maxPeers int) *rig {
	r := &rig{t: t, now: rigStart, lobby: NewLobby(c, key), next: 40000}
	shared := &core.Shared{Rand: rand.New(rand.NewPCG(1, 2))}
	rc := r.lobby.serverConfig()
	if maxPeers > 0 {
		rc.MaxPeers = maxPeers
	}
	r.mux = core.NewMux(r.now, rc, shared, key, r)
	r.main = r.mux.First()
	r.main.SetNumber(mainPort)
	r.ports = []*core.Port{r.main}
	return r
}

// OpenPort makes a rig an opener.
func (r *rig) OpenPort(p *core.Port) (uint16, error) {
	if r.none {
		return 0, core.ErrNoPorts
	}
	number := r.next
	for r.next++; r.next < 40000 || r.port(r.next) != nil; r.next++ {
	}
	r.ports = append(r.ports, p)
	return number, nil
}

// port returns the port of a number, nil if it is closed.
func (r *rig) port(number uint16) *core.Port {
	for _, p := range r.ports {
		if p.Number() == number {
			return p
		}
	}
	return nil
}

// in hands a datagram to a port.
func (r *rig) in(number uint16, from netip.AddrPort, b []byte) {
	if p := r.port(number); p != nil {
		p.HandleDatagram(r.now, from, b)
	}
	r.settle()
}

// settle does what a loop does at the end of a turn.
func (r *rig) settle() {
	for p, ev, ok := r.mux.PollEvent(); ok; p, ev, ok = r.mux.PollEvent() {
		r.events = append(r.events, fmt.Sprintf("%v %v", ev.Kind, p.Addr()))
	}
	for _, p := range r.ports {
		for n, to, ok := p.PollTransmit(r.buf[:]); ok; n, to, ok = p.PollTransmit(r.buf[:]) {
			r.sent = append(r.sent, datagram{r.now.Sub(rigStart), p.Number(), to, append([]byte(nil), r.buf[:n]...)})
		}
	}
	for p, ok := r.mux.PollPort(); ok; p, ok = r.mux.PollPort() {
		if p.Closed() {
			for i := range r.ports {
				if r.ports[i] == p {
					r.ports = append(r.ports[:i], r.ports[i+1:]...)
					break
				}
			}
		}
	}
}

// pass lets time go by, and does what is due meanwhile.
func (r *rig) pass(d time.Duration) {
	until := r.now.Add(d)
	for steps := 0; ; steps++ {
		if steps > 1_000_000 {
			r.t.Fatal("the ports never rest")
		}
		at, due := until, (*core.Port)(nil)
		for _, p := range r.ports {
			if t, ok := p.NextTimeout(); ok && !t.After(at) {
				at, due = t, p
			}
		}
		if due == nil {
			r.now = until
			return
		}
		if at.After(r.now) {
			r.now = at
		}
		due.HandleTimeout(r.now)
		r.settle()
	}
}

// unhex reads hex with spaces in it.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// player is a client that speaks well: it numbers and confirms, and knows what it was told. It
// sends reliable packages in the modes that it is asked for.
type player struct {
	r    *rig
	addr netip.AddrPort
	ids  map[uint16]uint32  // by port: its next reliable id
	got  map[[2]uint32]bool // ports and reliable ids that came
}

func (r *rig) player(n int) *player {
	return &player{r: r, addr: client(n), ids: map[uint16]uint32{}, got: map[[2]uint32]bool{}}
}

// say sends messages to the server.
func (p *player) say(port uint16, mode core.Mode, messages ...Message) {
	p.send(port, mode, true, messages...)
}

// tell sends messages to the others.
func (p *player) tell(port uint16, mode core.Mode, messages ...Message) {
	p.send(port, mode, false, messages...)
}

func (p *player) send(port uint16, mode core.Mode, server bool, messages ...Message) {
	var payload []byte
	for _, m := range messages {
		payload = m.AppendTo(payload)
	}
	p.sendBytes(port, mode, server, payload)
}

func (p *player) sendBytes(port uint16, mode core.Mode, server bool, payload []byte) {
	d := core.Datagram{Kind: core.KindPackage, Mode: mode, ToServer: server, Payload: payload}
	if mode.Reliable() {
		d.ID = p.ids[port]
		p.ids[port]++
	}
	p.r.in(port, p.addr, d.AppendTo(nil))
}

// heard takes what was sent to the player since it last listened, confirms it, and returns the
// messages in words. Confirmations, repeats and empty packages are left out.
func (p *player) heard() (list []string) {
	var rest []datagram
	confirm := map[uint16][]byte{}
	var order []uint16
	for _, d := range p.r.sent {
		if d.to != p.addr {
			rest = append(rest, d)
			continue
		}
		var g core.Datagram
		if !g.Parse(d.b) {
			p.r.t.Fatalf("%x is no datagram", d.b)
		}
		if g.Kind != core.KindPackage {
			continue
		}
		if g.Mode.Reliable() {
			if confirm[d.port] == nil {
				order = append(order, d.port)
			}
			confirm[d.port] = core.AppendID(confirm[d.port], g.ID)
			id := [2]uint32{uint32(d.port), g.ID}
			if p.got[id] {
				continue
			}
			p.got[id] = true
		}
		list = append(list, p.read(d.port, &g)...)
	}
	p.r.sent = rest
	for _, port := range order {
		p.r.in(port, p.addr, (&core.Datagram{Kind: core.KindConfirmation, IDs: confirm[port]}).AppendTo(nil))
	}
	return list
}

func (p *player) read(port uint16, g *core.Datagram) (list []string) {
	var m Message = new(Relayed)
	switch {
	case g.ToServer && port == mainPort:
		m = new(FromMain)
	case g.ToServer:
		m = new(FromGame)
	}
	msgs := Read(g.Payload)
	for msgs.Next(m) {
		list = append(list, say(m))
	}
	if err := msgs.Err(); err != nil {
		p.r.t.Fatalf("%x from port %d: %v", g.Payload, port, err)
	}
	return list
}

// wantHeard compares what a player heard.
func (p *player) wantHeard(what string, want ...string) {
	p.r.t.Helper()
	if got := p.heard(); strings.Join(got, "; ") != strings.Join(want, "; ") {
		p.r.t.Errorf("%s: %v heard %q, want %q", what, p.addr, got, want)
	}
}

// open has a player open a game for so many, and be told so; it returns the game's port.
func (p *player) open(players uint8) uint16 {
	p.r.t.Helper()
	port := p.r.next
	p.say(mainPort, core.SemiOrdered, &ToMain{Kind: ToMainOpen, MaxPlayers: players - 1})
	p.r.pass(announceAfter)
	p.wantHeard("opened", fmt.Sprintf("GameOpened %d", port), "Joined 0")
	return port
}
