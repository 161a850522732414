package core

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"
)

// A lobby can speak to an address at a port where it has not come yet: it is sent to, its
// answers are its own, and it is one of the peers that are counted.
func TestInvitedPeers(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	m := NewMux(now, Config{MaxPeers: 2}, &Shared{Rand: rand.New(rand.NewPCG(1, 2))}, [32]byte{1}, nil)
	home, other, third := netip.MustParseAddrPort("192.0.2.1:4000"), netip.MustParseAddrPort("192.0.2.1:4001"), netip.MustParseAddrPort("192.0.2.1:4002")
	p := m.First().Invite(home, "seat")
	if p == nil || p.Seat != "seat" || m.First().Peer(home) != p || m.Len() != 1 {
		t.Fatalf("invited %v of %d", p, m.Len())
	}
	if err := p.Send(SemiOrdered, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	var buf [MaxDatagram]byte
	n, to, ok := m.PollTransmit(buf[:])
	if got := string(buf[:n]); !ok || to != home || got != "\x50\x00\x00\x00hello" {
		t.Fatalf("sent %q to %v", got, to)
	}
	if p.end.Answered() {
		t.Error("it is said to have confirmed something")
	}
	m.HandleDatagram(now, home, []byte{0x80, 0, 0, 0, 0, 0, 9}) // a lie
	m.HandleDatagram(now, home, []byte{0x80, 0, 0, 0, 0, 0, 0})
	if p.end.Unconfirmed() != 0 || !p.end.Answered() {
		t.Error("its confirmation did not reach it")
	}
	mapped := netip.AddrPortFrom(netip.AddrFrom16(home.Addr().As16()), home.Port())
	if m.First().Invite(mapped, "another") != p || p.Seat != "seat" {
		t.Error("one that is known was invited again")
	}
	if m.First().Invite(other, nil) == nil || m.First().Invite(third, nil) != nil {
		t.Error("the bound of peers does not hold for those who are invited")
	}
}
