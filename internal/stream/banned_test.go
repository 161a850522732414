package stream

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"parley/internal/bans"
	"parley/internal/patient"
)

// A connection of a banned address is closed when it is accepted, before a handshake. One that is open when its address is banned stays
// open, so that its peer can be told why: but nothing that comes over it is heard.
func TestTheBannedAreNotHeard(t *testing.T) {
	plainAndTLS(t, func(t *testing.T, config Config) {
		set := new(bans.Set)
		config.Door = bans.NewDoor(set.Holds)
		var there *Conn
		s := newServer(t, config, func(s *server) {
			echo(s)
			s.opened = func(c *Conn) { there = c }
		})
		early := s.dial()
		defer early.Close()
		buf := make([]byte, 100)
		early.Write([]byte("heard"))
		if _, err := io.ReadFull(early, buf[:5]); err != nil || string(buf[:5]) != "heard" {
			t.Fatalf("%q, %v", buf[:5], err)
		}
		set.Use(bans.NewTable([]bans.Entry{{Prefix: netip.MustParsePrefix("127.0.0.0/8")}}))
		early.Write([]byte("not heard"))
		patient.Until(t, "the bytes are dropped", func() bool { return s.l.Stats().Banned > 0 })
		was := s.l.Stats()
		if late, err := net.Dial("tcp", s.l.Addr().String()); err == nil {
			late.SetDeadline(time.Now().Add(2 * time.Minute)) // for a test that would else hang
			if n, err := late.Read(buf); err == nil {
				t.Errorf("a banned connection reads %q", buf[:n])
			}
			late.Close()
		}
		patient.Until(t, "the connection is counted", func() bool { return s.l.Stats().Banned > was.Banned })
		if st := s.l.Stats(); st.Opened != was.Opened || st.Hasty+st.BadShake+st.Crowded != 0 {
			t.Errorf("a banned connection came as far as this: %+v, was %+v", st, was)
		}
		s.do(func() {
			there.Send([]byte("bye"))
			there.Finish()
		})
		if rest, err := io.ReadAll(early); string(rest) != "bye" {
			t.Errorf("the banned peer reads %q, %v; want only a goodbye", rest, err)
		}
	})
}
