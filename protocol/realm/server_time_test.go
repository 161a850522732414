package realm

import (
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/protocol/realm/core"
)

// The stamp of an answer that a window client gets is of when it was written: what the server's own work takes in between, here to
// know who is asking, is none of the delay that the client measures.
func TestTheWindowClientsClockIsNotLate(t *testing.T) {
	epoch := time.Now()
	s, err := listenTime(netip.MustParseAddrPort("127.0.0.1:0"), &Config{TimeAddr: "127.0.0.1:0"}, epoch)
	if err != nil {
		t.Fatal(err)
	}
	defer s.loop.Close()
	var worked time.Time
	done := make(chan struct{})
	if err := s.loop.Do(func() {
		live := func(netip.Addr) bool {
			for worked = time.Now(); time.Since(worked) < 2*time.Millisecond; {
			}
			worked = time.Now()
			close(done)
			return true
		}
		*s.core = *core.NewTimeServer(live, func(now time.Time) uint64 { return uint64(epoch.UnixMicro()) + uint64(now.Sub(epoch).Microseconds()) })
	}); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("udp", s.loop.Carrier().LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("8 bytes!")); err != nil {
		t.Fatal(err)
	}
	c.SetReadDeadline(time.Now().Add(30 * time.Second))
	var buf [64]byte
	n, err := c.Read(buf[:])
	if err != nil || n != 16 {
		t.Fatalf("%d bytes, %v", n, err)
	}
	patient.Value(done)
	stamp, least := binary.BigEndian.Uint64(buf[8:]), uint64(epoch.UnixMicro())+uint64(worked.Sub(epoch).Microseconds())
	if stamp < least {
		t.Errorf("the stamp is of %d µs before it was written", least-stamp)
	}
}

// The stamp is read when the answer is written, each one for itself, and a question is answered before the next is looked at.
func TestStampsAreLate(t *testing.T) {
	start, from := time.Now(), netip.MustParseAddrPort("192.0.2.1:4000")
	late := lateStamps{core.NewTimeServer(func(netip.Addr) bool { return true }, func(now time.Time) uint64 { return uint64(now.Sub(start)) })}
	late.HandleDatagram(start.Add(-time.Hour), from, []byte("8 bytes!"))
	late.HandleDatagram(start.Add(-time.Hour), from, []byte("8 bytes!"))
	last := uint64(0)
	for range 2 {
		var buf [64]byte
		before := uint64(time.Since(start))
		n, _, ok := late.PollTransmit(buf[:])
		after := uint64(time.Since(start))
		stamp := uint64(0)
		for _, b := range buf[8:16] {
			stamp = stamp<<8 | uint64(b)
		}
		if !ok || n != 16 || stamp < before || stamp > after || stamp < last {
			t.Errorf("stamped %d, written between %d and %d", stamp, before, after)
		}
		last = stamp
	}
}

// A client whose socket fails says so in its last event.
func TestAFailedSocketIsAReason(t *testing.T) {
	p := newPlace(t, Config{Config: patientConfig, Plain: true})
	c := p.dial()
	c.shell.Loop().Carrier().Close()
	var last Event
	for ev := range c.Events() {
		last = ev
	}
	if last.Kind != EventClosed || last.Close.Reason != core.ReasonStream || last.Close.Text == "" {
		t.Errorf("the last event is %+v", last)
	}
}
