package attack

import (
	"net"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"parley"
	"parley/internal/patient"
)

// gates are all the ports of a server, with what a stranger sends first. tcp says which are of streams.
var gates = []struct {
	name  string
	tcp   bool
	knock []byte
}{
	{"replica", false, make([]byte, 5)},
	{"stamp", false, make([]byte, 13)},
	{"relay", false, []byte{0x50, 0, 0, 0, 9}},
	{"duplex-feed", false, make([]byte, 20)},
	{"realm-time", false, make([]byte, 8)},
	{"duplex", true, []byte{6}},
	{"realm", true, []byte{18, 0, 9}},
}

// cores returns the counters of all that strangers can make a server's cores do.
func cores(s *server) map[string]any {
	st := s.Stats()
	st.Realm.Time.Banned = 0 // which the core does not count
	return map[string]any{
		"replica": st.Replica.Mux, "stamp": st.Stamp.Mux, "relay": st.Relay.Mux, "duplex": st.Duplex.Mux, "duplex-feed": st.Duplex.Mux,
		"realm": st.Realm.Mux, "realm-time": st.Realm.Time,
	}
}

// turned returns how much was turned away at a port: with what the system dropped before, as nothing else can become of it.
func turned(s *server, gate string) uint64 {
	st := s.Stats()
	switch gate {
	case "replica":
		return st.Replica.Loop.Banned + st.Replica.Socket.InDropped
	case "stamp":
		return st.Stamp.Loop.Banned + st.Stamp.Socket.InDropped
	case "relay":
		return st.Relay.Loop.Banned + st.Relay.Socket.InDropped
	case "duplex-feed":
		return st.Duplex.Loop.Banned + st.Duplex.Socket.InDropped
	case "realm-time":
		return st.Realm.Time.Banned
	case "duplex":
		return st.Duplex.Streams.Banned
	}
	return st.Realm.Streams.Banned
}

// strike sends the first packets of a stranger from many addresses of a network, and reports how many. What is answered is an error.
func strike(t *testing.T, network byte, to string, tcp bool, knock []byte, sources int) (sent uint64) {
	t.Helper()
	var open []*net.UDPConn
	for i := range sources {
		from := netip.AddrFrom4([4]byte{127, network, byte(i >> 8), byte(i)})
		if tcp {
			if c, err := idleTCP(from, to, knock...); err == nil { // else it was closed already
				c.Close()
			}
			sent++
			continue
		}
		c, err := dialUDP(from, to)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		open = append(open, c)
		for range 3 { // replica answers the second init at the earliest
			if _, err := c.Write(knock); err == nil {
				sent++
			}
		}
	}
	for _, c := range open {
		c.SetReadDeadline(time.Now())
		if n, err := c.Read(make([]byte, 2048)); err == nil {
			t.Errorf("a banned source at %v is answered with %d bytes", to, n)
		}
	}
	return sent
}

// A banned network floods every port while an honest player plays: nothing of it reaches a core, nothing is answered, and the player
// stays.
func TestABannedNetworkReachesNoCore(t *testing.T) {
	s := serve(t)
	honest := s.enter(t, "replica")
	patient.Until(t, "the player is in", honest.In)
	ban(t, s, 8)
	before, world := cores(s), s.WorldStats()
	for _, g := range gates {
		begin := turned(s, g.name)
		sent := strike(t, 8, s.At[g.name], g.tcp, g.knock, count(100, 2000))
		patient.Until(t, g.name+" turns all away", func() bool {
			n := turned(s, g.name) - begin
			return n >= sent || g.name == "realm-time" && n > 0 // of its socket, what the system drops is not counted
		})
	}
	after := cores(s)
	for name, was := range before {
		if !reflect.DeepEqual(after[name], was) {
			t.Errorf("%s: the core was at work for the banned:\n%+v\nwas\n%+v", name, after[name], was)
		}
	}
	patient.Until(t, "the game goes on", func() bool { return s.WorldStats().Ticks > world.Ticks+20 })
	w := s.WorldStats()
	if w.Players != 1 || w.EarlyInput+w.UnreadInput+w.DroppedInput != world.EarlyInput+world.UnreadInput+world.DroppedInput || honest.Ended() != "" {
		t.Errorf("the game is disturbed: %+v, was %+v; the player is told %q", w, world, honest.Ended())
	}
	// What was sent is something that cores work on, or this would show nothing.
	for _, g := range gates {
		from := netip.AddrFrom4([4]byte{127, 9, 0, 1})
		if g.tcp {
			c, err := idleTCP(from, s.At[g.name], g.knock...)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
		} else {
			c, err := dialUDP(from, s.At[g.name])
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.Write(g.knock)
		}
		patient.Until(t, g.name+" looks at a stranger", func() bool { return !reflect.DeepEqual(cores(s)[g.name], before[g.name]) })
	}
}

// ban bans a network of attackers.
func ban(t *testing.T, s *server, network byte) {
	t.Helper()
	if err := s.Ban(parley.Ban{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{127, network, 0, 0}), 16), Reason: "flood"}); err != nil {
		t.Fatal(err)
	}
}

// A ban that comes under fire holds for the next datagram, and one that is lifted does not. stamp keeps nothing of a stranger, so that
// each datagram is counted for itself.
func TestABanHoldsForTheNextDatagram(t *testing.T) {
	s := serve(t)
	c, err := dialUDP(netip.AddrFrom4([4]byte{127, 9, 0, 1}), s.At["stamp"])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in := func() uint64 { return s.Stats().Stamp.Mux.In }
	for round := range count(20, 200) {
		seen, shut := in(), turned(s, "stamp")
		c.Write(make([]byte, 13))
		patient.Until(t, "the core has the datagram", func() bool { return in() == seen+1 })
		ban(t, s, 9)
		c.Write(make([]byte, 13))
		patient.Until(t, "the door has the datagram", func() bool { return turned(s, "stamp") == shut+1 })
		if in() != seen+1 {
			t.Fatalf("round %d: the core has %d datagrams, want %d", round, in(), seen+1)
		}
		if err := s.Unban(parley.Ban{Prefix: netip.MustParsePrefix("127.9.0.0/16")}); err != nil {
			t.Fatal(err)
		}
	}
}
