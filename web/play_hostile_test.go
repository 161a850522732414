package web

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/internal/patient"
)

// visit connects from an address of this machine, and sends a text.
func visit(t *testing.T, addr, from, text string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.Dial("tcp", addr)
	if err != nil {
		t.Skipf("this machine has no address %s: %v", from, err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(time.Minute))
	io.WriteString(c, text) // it may have been closed by then
	return c
}

// statusOf reads an answer, and returns its status, or 0 if the connection was closed instead.
func statusOf(c net.Conn) int {
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0
	}
	r.Body.Close()
	return r.StatusCode
}

const (
	matchRequest = "POST /play/match HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n{}"
	roomsRequest = "GET /play/rooms HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
)

// One address asks for matches as often as it can, and leaves connections half open. Ten of its calls wait, and it has no more
// connections than it may; all others are refused at once. Another address does not notice.
func TestOneAddressWaitsForManyMatches(t *testing.T) {
	p, l, _ := listenPlay(t)
	addr := p.Addr().String()
	var evil []net.Conn
	for range playCalls {
		evil = append(evil, visit(t, addr, "127.0.0.66", matchRequest))
	}
	patient.Until(t, "ten wait", func() bool { return l.waits() == playCalls })
	refused := map[int]int{}
	for range 30 {
		refused[statusOf(visit(t, addr, "127.0.0.66", strings.Replace(matchRequest, "Content", "Connection: close\r\nContent", 1)))]++
	}
	if refused[429] == 0 || refused[429]+refused[0] != 30 || l.waits() != playCalls {
		t.Errorf("the others are answered with %v, and %d wait", refused, l.waits())
	}
	for range 2 * maxPlayConnsOf { // a request that never ends
		evil = append(evil, visit(t, addr, "127.0.0.66", "GET /play/rooms HTTP/1.1\r\nHost: 127."))
	}
	if status := statusOf(visit(t, addr, "127.0.0.66", roomsRequest)); status != 0 {
		t.Errorf("one more connection of the address is answered with %d", status)
	}
	if status := statusOf(visit(t, addr, "127.0.0.67", roomsRequest)); status != 200 {
		t.Errorf("another address is answered with %d", status)
	}
	for _, c := range evil {
		c.Close()
	}
	patient.Until(t, "those who hung up are out", func() bool { return l.waits() == 0 })
}

// Strangers from many addresses hold all connections that there are, half open. Others push them out.
func TestManyAddressesHoldAllConnections(t *testing.T) {
	x := newPlayTest(t, PlayConfig{})
	guard := newPlayGuard(40, 4, nil)
	page := &Page{}
	page.server.Handler, page.server.ConnState = x.play, guard.watch
	if err := page.listen("127.0.0.1:0", nil, nil, "play"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { page.Close(t.Context()) })
	addr := page.Addr().String()
	for i := range 120 {
		visit(t, addr, fmt.Sprintf("127.0.1.%d", i/3+1), "GET /play/rooms HTTP/1.1\r\nHost: 127.")
	}
	for i := range 20 {
		if status := statusOf(visit(t, addr, fmt.Sprintf("127.0.2.%d", i+1), roomsRequest)); status != 200 {
			t.Errorf("an honest request is answered with %d", status)
		}
	}
	guard.mu.Lock()
	defer guard.mu.Unlock()
	if len(guard.conns) > 40 {
		t.Errorf("there are %d connections", len(guard.conns))
	}
}
