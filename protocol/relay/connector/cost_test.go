package connector

import (
	"encoding/binary"
	"testing"
	"time"
	"unsafe"

	"parley/internal/kit"
	"parley/internal/shell/shelltest"
	"parley/protocol/relay/core"
)

// payload has eleven messages of players: what a busy package holds.
func payload() (b []byte) {
	path := Peer{Kind: PeerSetPath, Entity: Entity{1, 70000}, Path: make([]Point, 8)}
	b = path.AppendTo(b)
	for i := range 5 {
		e := Entity{1, uint32(300 + i)}
		b = (&Peer{Kind: PeerTransform, Entity: e}).AppendTo(b)
		b = (&Peer{Kind: PeerChangeHealth, Entity: e, Health: -1}).AppendTo(b)
	}
	return b
}

func BenchmarkCheckPeer(b *testing.B) {
	in := payload()
	var m Peer
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if !isSequence(in, &m) {
			b.Fatal("refused")
		}
	}
}

// fastGame is a game of four at a core without sockets: what goes out is confirmed by who gets it.
type fastGame struct {
	*rig
	port    *core.Port
	players []*player
	ids     [4]uint32
	in      []byte
	confirm []byte
	out     int
}

func newFastGame(t testing.TB) *fastGame {
	r := newRig(t, Config{})
	f := &fastGame{rig: r}
	a := r.player(0)
	game := a.open(4)
	f.port, f.players = r.port(game), []*player{a}
	for i := 1; i < 4; i++ {
		p := r.player(i)
		p.say(game, core.SemiOrdered, &join)
		f.players = append(f.players, p)
	}
	for i, p := range f.players {
		p.heard()
		f.ids[i] = p.ids[game]
	}
	r.pass(time.Second)
	r.sent = nil
	return f
}

// turn has a player send a package with three messages, which reach the other three.
func (f *fastGame) turn(sender int, mode core.Mode, payload []byte) {
	f.in = append(f.in[:0], byte(mode)<<5, 0, 0, 0)
	binary.BigEndian.PutUint32(f.in, f.ids[sender]|uint32(mode)<<29)
	f.ids[sender]++
	f.in = append(f.in, payload...)
	f.port.HandleDatagram(f.now, f.players[sender].addr, f.in)
	f.drain()
	f.now = f.now.Add(reliableGroup)
	f.port.HandleTimeout(f.now)
	f.drain()
}

// drain sends what there is, and confirms it.
func (f *fastGame) drain() {
	for _, _, ok := f.mux.PollEvent(); ok; _, _, ok = f.mux.PollEvent() {
	}
	for n, to, ok := f.port.PollTransmit(f.buf[:]); ok; n, to, ok = f.port.PollTransmit(f.buf[:]) {
		f.out++
		if f.buf[0]&0x60 != 0 && n >= 4 {
			f.confirm = append(f.confirm[:0], 0x80, 0, 0, 0, f.buf[1], f.buf[2], f.buf[3])
			f.port.HandleDatagram(f.now, to, f.confirm)
		}
	}
	for _, ok := f.mux.PollPort(); ok; _, ok = f.mux.PollPort() {
	}
}

func threeMessages() (b []byte) {
	for i := range 3 {
		b = (&Peer{Kind: PeerTransform, Entity: Entity{1, uint32(300 + i)}}).AppendTo(b)
	}
	return b
}

// Nothing on the way of a package through a game allocates.
func TestRelayingAllocatesNothing(t *testing.T) {
	if kit.Race {
		t.Skip("the race detector allocates")
	}
	for _, mode := range []core.Mode{core.Unreliable, core.Unordered, core.SemiOrdered} {
		f := newFastGame(t)
		payload := threeMessages()
		sender := 0
		turn := func() {
			f.turn(sender, mode, payload)
			sender = (sender + 1) % 4
		}
		for range 5000 {
			turn()
		}
		f.out = 0
		if got := testing.AllocsPerRun(1000, turn); got != 0 {
			t.Errorf("%v: %v allocations", mode, got)
		}
		if f.out < 3*1000 {
			t.Errorf("%v: %d datagrams went out", mode, f.out)
		}
	}
}

// BenchmarkRelay is a package of three messages from one player to the three others, with the
// confirmations of all.
func BenchmarkRelay(b *testing.B) {
	f := newFastGame(b)
	payload := threeMessages()
	sender := 0
	b.ReportAllocs()
	for b.Loop() {
		f.turn(sender, core.Unordered, payload)
		sender = (sender + 1) % 4
	}
}

// A stranger, a player and a game have a size that is known.
func TestGuestsAndGamesAreSmall(t *testing.T) {
	if got := unsafe.Sizeof(guest{}); got > 208 {
		t.Errorf("a guest takes %d bytes", got)
	}
	const games = 200
	before := shelltest.LiveHeap()
	r := newRig(t, Config{MaxGames: games})
	for i := range games {
		p := r.player(i)
		p.addr = near(i)
		p.open(4)
	}
	each := (shelltest.LiveHeap() - before) / games
	t.Logf("a game with its opener takes %d bytes", each)
	if each > 16<<10 {
		t.Errorf("a game with its opener takes %d bytes", each)
	}
	if r.lobby.Games() != games {
		t.Errorf("%d games", r.lobby.Games())
	}
}
