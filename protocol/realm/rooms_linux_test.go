package realm

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/protocol/realm/core"
)

// BenchmarkRooms is a tick of 200 rooms of two players at real sockets, who are sent one entity each: with a call of Do for
// each room, and with one for all.
func BenchmarkRooms(b *testing.B) {
	const rooms = 200
	var groups []*core.Group
	var s *Server
	entered := 0
	s, err := Listen("127.0.0.1:0", Config{Config: patientConfig, Plain: true, Accounts: anybody{}, WaitingPerAddress: -1}, func(c *Conn, ev Event) {
		if ev.Kind != EventEnter {
			return
		}
		var i int
		if _, err := fmt.Sscan(ev.Question.Room, &i); err != nil {
			c.Refuse(core.LoginUnknownPseudo)
			return
		}
		if err := c.Place(groups[i]); err != nil {
			b.Error(err)
		}
		if err := c.Enter(core.Entry{Entity: core.Entity{ID: uint16(entered + 1)}}); err != nil {
			b.Error(err)
		}
		entered++
	})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	s.Do(func() {
		for range rooms {
			groups = append(groups, s.Mux().NewGroup(core.GroupConfig{}))
		}
	})
	for i := range 2 * rooms {
		c, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		hello := testCodec.AppendTo(nil, &core.Message{Kind: core.KindVersion, Version: 9})
		name := fmt.Appendf(nil, "player-%d@%d", i, i%rooms)
		c.Write(testCodec.AppendTo(hello, &core.Message{Kind: core.KindLogin, Name: name, Password: []byte("password")}))
		go io.Copy(io.Discard, c)
	}
	patient.Until(b, "all are in", func() bool { return s.Stats().Mux.Players == 2*rooms })
	list, err := s.Mux().Codec().Entities(core.Entity{ID: 1, Has: core.HasPosition})
	if err != nil {
		b.Fatal(err)
	}
	tick := uint64(0)
	tell := func(g *core.Group) {
		g.BeginTick(time.Now(), tick)
		g.Broadcast(&core.Message{Kind: core.KindEntitiesUpdate, Tick: uint16(tick), Entities: list}, nil)
	}
	b.Run("apart", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			tick++
			for _, g := range groups {
				s.Do(func() { tell(g) })
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rooms, "ns/room")
	})
	b.Run("together", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			tick++
			s.Do(func() {
				for _, g := range groups {
					tell(g)
				}
			})
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rooms, "ns/room")
	})
	b.Run("nothing", func(b *testing.B) {
		for b.Loop() {
			s.Do(func() {})
		}
	})
}
