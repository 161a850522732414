package realm

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"parley/internal/admission"
	"parley/internal/patient"
)

// Behind a proxy no player's address has a connection: ServeAll answers them within a rate, and a forged question has at most three times its
// bytes sent to somebody else, headers counted.
func TestTheTimeServerAnswersAllWithinARate(t *testing.T) {
	c := newClockwork()
	question := []byte("8 bytes!")
	c.ask(outsider, question)
	if c.Stats().Strangers != 1 || len(c.sent[outsider]) != 0 {
		t.Errorf("a stranger is answered: %+v", c.Stats())
	}
	c.ServeAll(admission.Key{1})
	c.ask(outsider, question)
	if len(c.sent[outsider]) != 1 || len(c.sent[outsider][0]) != 16 {
		t.Fatalf("%q", c.sent[outsider])
	}
	for range 1000 { // one second
		c.ask(outsider, question)
		c.advance(time.Millisecond)
	}
	if got := len(c.sent[outsider]); got > 2*guestRate+2 {
		t.Errorf("%d answers in a second", got)
	}
	if st := c.Stats(); st.Limited == 0 || st.In != st.Bursts+st.Exchanges+st.Strangers+st.Limited+st.Running+st.Malformed {
		t.Errorf("%+v", st)
	}
	c.advance(time.Minute)
	clear(c.sent)
	c.ask(outsider, nil)
	c.advance(10 * time.Second)
	const header = 28
	if got := len(c.sent[outsider]) * (header + timeBytes); got == 0 || got > 3*header {
		t.Errorf("an empty datagram of %d bytes brings %d", header, got)
	}
	c.ask(insider, nil)
	c.advance(10 * time.Second)
	if got := len(c.sent[insider]); got != 10 {
		t.Errorf("who has a connection is sent %d times", got)
	}
	// Many addresses share what is for all.
	clear(c.sent)
	answers := 0
	for n := range 20_000 {
		from := netip.MustParseAddrPort(fmt.Sprintf("10.%d.%d.1:9", n>>8, n&255))
		c.ask(from, question)
		answers += len(c.sent[from])
	}
	if answers > guestTotalRate+1 {
		t.Errorf("%d answers at once", answers)
	}
}

// The stamp is read when the answer is written, each one for itself, and a question is answered before the next is looked at.
func TestStampsAreLate(t *testing.T) {
	start := time.Now()
	s := NewTimeServer(func(netip.Addr) bool { return true }, func(now time.Time) uint64 { return uint64(now.Sub(start)) })
	core := lateStamps{s}
	core.HandleDatagram(start.Add(-time.Hour), insider, []byte("8 bytes!"))
	core.HandleDatagram(start.Add(-time.Hour), insider, []byte("8 bytes!"))
	last := uint64(0)
	for range 2 {
		var buf [64]byte
		before := uint64(time.Since(start))
		n, _, ok := core.PollTransmit(buf[:])
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

// The stamp of an answer that a window client gets is of when it was written: what the server's own work takes in between, here to
// know who is asking, is none of the delay that the client measures.
func TestTheWindowClientsClockIsNotLate(t *testing.T) {
	epoch := time.Now()
	s, err := listenTime(netip.MustParseAddrPort("127.0.0.1:0"), &ServerConfig{TimeAddr: "127.0.0.1:0"}, epoch)
	if err != nil {
		t.Fatal(err)
	}
	defer s.loop.Close()
	var worked time.Time
	done := make(chan struct{})
	if err := s.loop.Do(func() {
		s.core.live = func(netip.Addr) bool {
			for worked = time.Now(); time.Since(worked) < 2*time.Millisecond; {
			}
			worked = time.Now()
			close(done)
			return true
		}
	}); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("udp", s.loop.Socket().LocalAddr().String())
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
