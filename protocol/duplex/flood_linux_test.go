package duplex

import (
	"fmt"
	"net"
	"testing"
	"time"

	"parley/internal/pagetest"
	"parley/internal/shell/shelltest"
	"parley/test/attack"
)

// say opens a main from an address of loopback, of which Linux has 16 million, and sends bytes.
func say(h *hall, from net.IP, b []byte) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: from}, Timeout: patience}
	c, err := d.Dial("tcp", h.Addr().String())
	if err != nil {
		return nil, err
	}
	c.SetDeadline(time.Now().Add(patience))
	_, _ = c.Write(b) // a main that was refused says so when it is read
	return c, nil
}

// 15.7: an address that sends recorded hellos as fast as it can, and never goes on, keeps nobody of another address from joining.
func TestRecordedHellosKeepNobodyOut(t *testing.T) {
	server, client := certificate(t)
	h := newHall(t, Config{TLS: server, WaitingPerAddress: 64})
	flood := attack.SendHellos(h.Addr().String(), "127.0.0.2", attack.Hello(t), 0)
	defer flood.Stop()
	for end := time.Now().Add(patience); ; {
		if st := h.Stats(); st.Streams.Crowded+st.Streams.Hasty >= 50 {
			break
		}
		if time.Now().After(end) {
			t.Error("there is no flood")
			break
		}
	}
	for range 10 {
		x := h.enter(Config{TLS: client})
		if _, _, err := x.Query(t.Context(), Main, 65, []byte("ping")); err != nil {
			t.Fatal(err)
		}
	}
	st := h.Stats()
	t.Logf("%d hellos: %d mains found too many waiting, %d came too fast", flood.Sent(), st.Streams.Crowded, st.Streams.Hasty)
}

// A client with a long hello, which then says nothing more, has the server hold what docs/limits.md says.
func TestWhatAHandshakeHolds(t *testing.T) {
	if shelltest.Race {
		t.Skip("the race detector has memory of its own")
	}
	server, _ := certificate(t)
	h := newHall(t, Config{TLS: server, JoinTimeout: 5 * time.Minute})
	var protocols []string
	for i := range 24 {
		protocols = append(protocols, fmt.Sprintf("%0240d", i))
	}
	hello := attack.Hello(t, protocols...)
	open := func(n int) {
		for range n {
			c, err := say(h, net.IPv4(127, 0, 0, 1), hello)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			if _, err := c.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	open(8) // so that all that is made once is made
	before := pagetest.Heap()
	const count = 128
	open(count)
	held := (pagetest.Heap() - before) / count
	t.Logf("%d B each, with a hello of %d", held, len(hello))
	pagetest.Reaches(t, "duplex", "in the TLS handshake", held)
}
