package connector

import (
	"fmt"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"parley/internal/pagetest"
	"parley/protocol/relay"
)

// forge has many addresses, which receive nothing, ask for games, join one, ping and chat there with packages that wait for a missing one, and
// confirm ids that can be foreseen or guessed.
func (r *rig) forge(first, count int, game uint16) {
	for i := first; i < first+count; i++ {
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{100, byte(i >> 16), byte(i >> 8), byte(i)}), uint16(1024+i%60000))
		r.in(mainPort, from, []byte{0x30, 0, 0, 0, 1, 3})
		r.in(game, from, []byte{0x30, 0, 0, 0, 1})
		for _, port := range []uint16{mainPort, game, game + 1} {
			r.in(port, from, []byte{0x10, 0, 0, 0, 0, 5})
			for id := range byte(8) {
				r.in(port, from, []byte{0x50, 0, 0, 1 + id, 0, 5})
			}
			r.in(port, from, []byte{0x40, 0, 0, 10, 0, 1, 'x'})
			r.in(port, from, []byte{0x80, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 2})
			r.in(port, from, []byte{0x80, 0, 0, 0, 0, byte(i % 3), byte(i), 0, byte(i % 2), byte(i >> 3), 0, 1, byte(i >> 7)})
		}
		r.sent = r.sent[:0]
		if i%100 == 0 {
			r.pass(ms)
		}
	}
}

// 10,000 forged addresses hold nothing: no peer, no place, no memory, also a minute later.
func TestMemoryOfTheUnproven(t *testing.T) {
	if underRace {
		t.Skip("the race detector allocates")
	}
	const count = 10_000
	r := newStrictRig(t, Config{}, 0)
	a := r.player(0)
	a.addr = netip.MustParseAddrPort("127.0.0.1:4000")
	game := a.open(4)
	r.forge(0, 5, game)
	before := pagetest.Heap()
	r.forge(5, count, game)
	most := pagetest.Heap() - before
	if peers := r.mux.Len(); peers != 2 || r.lobby.Games() != 1 || r.lobby.Players() != 1 || len(r.lobby.known.past)+len(r.lobby.unknown.past) != 0 {
		t.Errorf("%d peers, %d games, %d players, %d+%d remembered", peers, r.lobby.Games(), r.lobby.Players(), len(r.lobby.known.past), len(r.lobby.unknown.past))
	}
	r.pass(time.Second)
	most = max(most, pagetest.Heap()-before, 0)
	if s := r.lobby.Stats(); s.Unproven < 10*count || s.Asked < count {
		t.Errorf("%+v", s)
	}
	runtime.KeepAlive(r)
	t.Logf("%d addresses that proved nothing hold %d bytes", count, most)
	pagetest.Reaches(t, "relay, connector", "unproven", most/count)
}

// An address that proved nothing is sent at most three times its bytes, whatever it sends, the headers of IP and UDP counted.
func TestTheUnprovenAreSentLittle(t *testing.T) {
	const headers = 28
	for _, forged := range []string{"30 000000", "30 000001", "50 000007", "00 000000 00 05", "10 000000 00 05", "30 000000 01 03", "50 000000 00 05 00 06", "30 000001 01", "80 000000 000001"} {
		r := newStrictRig(t, Config{}, 0)
		a := r.player(0)
		a.addr = netip.MustParseAddrPort("127.0.0.1:4000")
		game := a.open(4)
		r.sent = nil
		in := 0
		for _, port := range []uint16{mainPort, game} {
			r.in(port, client(1), unhex(t, forged))
			in += len(unhex(t, forged)) + headers
		}
		r.pass(time.Minute)
		out := 0
		for _, s := range r.sent {
			if s.to == client(1) {
				out += len(s.b) + headers
			}
		}
		if out > 3*in {
			t.Errorf("%s: %d bytes for %d", forged, out, in)
		}
	}
}

// An honest client is asked first. When it has confirmed the three ids, its request has its effect as it comes again.
func TestAnAddressIsAskedFirst(t *testing.T) {
	for _, lost := range []int{-1, 0, 1, 2} {
		t.Run(fmt.Sprintf("package %d of the riddle is lost", lost), func(t *testing.T) {
			r := newStrictRig(t, Config{}, 0)
			a := r.player(0)
			open := &ToMain{Kind: ToMainOpen, MaxPlayers: 3}
			a.say(mainPort, relay.Unordered, open)
			if len(r.sent) != 3 || r.mux.Len() != 0 {
				t.Fatalf("%d datagrams, %d peers", len(r.sent), r.mux.Len())
			}
			if lost >= 0 {
				r.sent = append(r.sent[:lost], r.sent[lost+1:]...)
				a.wantHeard("two of three")
				if len(r.sent) != 3 || r.mux.Len() != 0 {
					t.Fatalf("it was not asked again: %d datagrams, %d peers", len(r.sent), r.mux.Len())
				}
			}
			a.wantHeard("asked")
			if r.lobby.Stats().Proven != 1 || r.mux.Len() != 1 {
				t.Fatalf("%d peers; %+v", r.mux.Len(), r.lobby.Stats())
			}
			a.ids[mainPort]-- // it was not confirmed
			a.say(mainPort, relay.Unordered, open)
			r.pass(announceAfter)
			a.wantHeard("opened", "GameOpened 40000", "Joined 0")
		})
	}
}

// One id of three brings no further riddle: its address may confirm the others apart, and would be asked three times as often each time.
func TestOneIDOfARiddleBringsNoOther(t *testing.T) {
	r := newStrictRig(t, Config{}, 0)
	a := r.player(0)
	a.say(mainPort, relay.Unordered, &ToMain{Kind: ToMainOpen, MaxPlayers: 3})
	asked := r.sent
	for _, d := range asked {
		r.sent = []datagram{d}
		a.heard()
		if len(r.sent) != 0 || r.mux.Len() != 0 {
			t.Errorf("%d datagrams, %d peers", len(r.sent), r.mux.Len())
		}
	}
}
