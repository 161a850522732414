package core

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/simnet"
)

// T24: every subset of the first ten datagrams of a joining is lost: the client joins, or ends with a reason in time.
func TestEveryWayToJoin(t *testing.T) { kit.Handshake(t, dialect, 150) }

// T24: each of them comes twice or 5 s late: the client joins and stays.
func TestJoiningTwiceOrLate(t *testing.T) { kit.HandshakeCopies(t, dialect) }

// T25: somebody on the path puts random, repeated, changed and cut datagrams into living stays, in
// the names of both. The dialect has no signatures, so he can do much to those whom he names; but
// nothing panics, counters add up, and whoever he did not name notices nothing.
func TestInjectionIsBounded(t *testing.T) {
	seed, injected := kit.Seed(t), kit.Tier(200, 10_000, 10_000)
	for i := range uint64(promise.Keeps(t, "T25", "relay", kit.Rounds(1000, 10_000))) {
		s := newParty(seed+i, simnet.PlanLimits{Until: time.Second, MaxLoss: -1, MaxCorrupt: -1, MaxPartition: -1, MaxCrashes: -1, MaxRebinds: -1, MaxDelay: 50 * time.Millisecond}, 3)
		s.lenient = true
		rng := rand.New(rand.NewPCG(seed+i, 25))
		victim, other := s.guests[0], s.guests[1]
		var seen [][]byte
		s.net.Filter(func(p simnet.Packet) simnet.Verdict {
			if (p.From == victim.host || p.To == victim.host) && len(seen) < 200 {
				seen = append(seen, bytes.Clone(p.Bytes))
			}
			return simnet.Verdict{}
		})
		begun := other.life
		for range injected {
			s.net.After(time.Duration(rng.IntN(4000))*time.Millisecond, "inject", func() {
				b := randomBytes(rng, 40)
				if len(seen) > 0 && rng.IntN(4) > 0 {
					b = kit.Mutate(bytes.Clone(seen[rng.IntN(len(seen))]), 8, rng.Uint64())
				}
				from, to := victim.host.Addr(), partyServer
				if rng.IntN(2) == 0 {
					from, to = to, from
				}
				s.net.Inject(from, to, b)
			})
		}
		if err := s.net.Run(6 * time.Second); err != nil || s.err != nil {
			t.Fatalf("seed=%d: %v, %v", seed+i, err, s.err)
		}
		if other.life != begun && begun.closing.close.Reason != ReasonClosed {
			t.Fatalf("seed=%d: the other one left: %v", seed+i, begun.closing.close)
		}
		if st := s.mux.Stats(); st.Check() != nil {
			t.Fatalf("seed=%d: %v", seed+i, st.Check())
		}
	}
}

// T29: whatever strangers send, a million datagrams from a million sources, and more from some of
// them: nobody is ever sent more than three times its own bytes, with the headers of IP and UDP, and nothing is
// kept of any of them. Loopback and private addresses are no exception.
func TestAmplification(t *testing.T) {
	for _, c := range []OpenConfig{{}, {Key: testKey}} {
		h := newHall(t, Config{Lobby: NewOpenLobby(c), MaxPeers: 30})
		if c.Key == nil {
			for i := range 8 {
				h.prove(netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), 4000), "")
			}
		}
		h.wait(30 * time.Millisecond)
		amplify(t, h)
		if st := h.mux.Stats(); st.Check() != nil || h.mux.Len() > 8 || st.Admitted > 8 {
			t.Errorf("stats %+v, %v, and %d are in", st, st.Check(), h.mux.Len())
		}
	}
}

func amplify(t *testing.T, h *hall) {
	const headers = 28
	rng := kit.Rand(t)
	sources := promise.Keeps(t, "T29", "relay", kit.Rounds(1_000_000, 5_000_000))
	sent, got := make([]int, sources), make([]int, sources)
	source := func(i int) netip.AddrPort {
		if i%4 == 0 {
			return near(i)
		}
		return addr(i)
	}
	var buf [MaxDatagram]byte
	answered := 0
	for i := range sources * 9 / 8 {
		from := i - i/9
		if i%9 == 8 {
			from = rng.IntN(30) // some send more than once
		}
		var d Datagram
		randomDatagram(rng, KindPackage, &d)
		switch rng.IntN(8) {
		case 0, 1, 2, 3:
			d.ID = uint32(rng.IntN(3))
		case 4: // a wrong answer
			d.ToServer, d.Payload = true, append([]byte{challengeByte}, noise[rng.IntN(1000):][:8]...)
		}
		b := d.AppendTo(buf[:0])
		switch rng.IntN(8) {
		case 0, 1:
			b = randomBytes(rng, 60)
		case 2: // a forged confirmation
			b = confirmOf(0, 1, 2)
		}
		sent[from] += len(b) + headers
		h.mux.HandleDatagram(h.now, source(from), b)
		if i%64 != 0 {
			continue
		}
		h.now = h.now.Add(time.Millisecond)
		if at, ok := h.mux.NextTimeout(); ok && !at.After(h.now) {
			h.mux.HandleTimeout(h.now)
		}
		h.turn()
		for a, list := range h.out {
			ip := a.Addr().As4()
			if ip[0] == 192 {
				continue
			}
			mine := int(ip[1])<<16 | int(ip[2])<<8 | int(ip[3])
			for _, out := range list {
				got[mine] += len(out) + headers
				answered++
			}
			if got[mine] > 3*sent[mine] {
				t.Fatalf("%d bytes were sent to %v for %d", got[mine], a, sent[mine])
			}
		}
		clear(h.out)
		h.told()
	}
	if answered < sources/4 {
		t.Errorf("%d datagrams went to strangers: that tests nothing", answered)
	}
}

// T32: garbage from other ports of a participant's address, and from everywhere else, harms neither
// its stay nor newcomers. (64 pieces with its own address and port remove it: the page wants that,
// and docs/protocols/relay.md says so.)
func TestForgedGarbageHarmsNobody(t *testing.T) {
	rng := kit.Rand(t)
	h := newHall(t, Config{})
	a, b := near(1), near(2)
	h.join(a)
	h.join(b)
	h.told()
	h.took(b)
	id := uint32(1)
	for i := range promise.Keeps(t, "T32", "relay", kit.Rounds(100_000, 1_000_000)) {
		from := netip.AddrPortFrom(a.Addr(), uint16(6000+i%50_000))
		if i%2 == 0 {
			from = addr(i % 60_000)
		}
		garbage := randomBytes(rng, 80)
		if len(garbage) > 0 && garbage[0]&0x60 != 0x60 {
			garbage = append([]byte{garbage[0] | 0x60}, garbage[1:]...) // none of it may join
		}
		h.mux.HandleDatagram(h.now, from, garbage)
		if i%1000 == 0 {
			h.in(a, pack(SemiOrdered, false, id, "honest"))
			id++
			if got := h.took(b); len(got) == 0 || !strings.Contains(got[0], "honest") {
				t.Fatalf("after %d: the other was sent %q", i, got)
			}
			h.in(b, confirmOf(id-1))
			h.now = h.now.Add(10 * time.Millisecond)
		}
	}
	h.wantTold()
	h.join(netip.AddrPortFrom(a.Addr(), 59_999)) // a newcomer from the same address
	if h.mux.Len() != 3 {
		t.Errorf("%d are in", h.mux.Len())
	}
}

// T34: peers are told apart by address and port; an IPv4 address inside IPv6 is that address.
func TestPeersAreKnownByAddressAndPort(t *testing.T) {
	rng := kit.Rand(t)
	h := newHall(t, Config{MaxPeers: 1 << 30})
	known := map[netip.AddrPort]bool{}
	for range promise.Keeps(t, "T34", "relay", kit.Rounds(20_000, 200_000)) {
		ip := netip.AddrFrom4([4]byte{10, byte(rng.IntN(4)), byte(rng.IntN(4)), byte(rng.IntN(256))})
		a := netip.AddrPortFrom(ip, uint16(1+rng.IntN(1<<16-1)))
		form := a
		if rng.IntN(2) == 0 {
			form = netip.AddrPortFrom(netip.AddrFrom16(ip.As16()), a.Port())
		}
		h.mux.HandleDatagram(h.now, form, pack(Unreliable, true, 0, "x"))
		known[a] = true
	}
	if h.mux.Len() != len(known) {
		t.Errorf("%d peers at %d addresses", h.mux.Len(), len(known))
	}
	zone := func(z string) netip.AddrPort {
		return netip.AddrPortFrom(netip.MustParseAddr("fe80::1").WithZone(z), 9)
	}
	h.mux.HandleDatagram(h.now, zone("eth0"), pack(Unreliable, true, 0, "x"))
	h.mux.HandleDatagram(h.now, zone("eth1"), pack(Unreliable, true, 0, "x"))
	if h.mux.Len() != len(known)+2 {
		t.Error("the zones of link-local addresses are not told apart")
	}
}

func TestTinyDatagramsDelayNobody(t *testing.T) { kit.Tiny(t, dialect, false) }

// T39: the memory that one peer can hold is bounded, whatever it and others do.
func TestAPeerHoldsABoundedMemory(t *testing.T) {
	promise.Keeps(t, "T39", "relay", 1)
	h := newHall(t, Config{})
	talker, slow := near(1), near(2)
	h.join(talker)
	h.join(slow)
	worst, id := 0, uint32(1)
	for range 6000 {
		h.in(talker, pack(SemiOrdered, false, id, strings.Repeat("x", 1+int(id*37%500))))
		h.in(talker, pack(Unreliable, false, id, strings.Repeat("y", 1+int(id*91%500))))
		id++
		p := h.mux.First().Peer(slow)
		if p == nil {
			break
		}
		h.in(slow, pack(SemiOrdered, true, id, "held")) // 0 confirmed, 1 never comes
		flights := p.end.sender.InFlight(0)
		worst = max(worst, int(p.end.backlog.held)+int(p.end.looseHeld)+p.end.looseIn.Held()+p.end.receiver.Waiting()*(waitingBytes+8)+flights*(128+250))
		h.now = h.now.Add(100 * time.Microsecond)
		clear(h.out)
	}
	if worst > 1<<20 || worst < 1<<19 {
		t.Errorf("a peer held %d bytes", worst)
	}
	if p := h.mux.First().Peer(talker); h.mux.First().Peer(slow) == nil || p.waitsFor != 1 {
		t.Error("the slow one was removed, or the one who talks too much does not wait")
	}
}
