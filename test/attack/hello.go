package attack

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Hello returns the ClientHello of a TLS client, as one could be recorded.
func Hello(t testing.TB, protocols ...string) []byte {
	t.Helper()
	ours, theirs := net.Pipe()
	defer theirs.Close()
	var wg sync.WaitGroup
	wg.Go(func() { _ = tls.Client(ours, &tls.Config{InsecureSkipVerify: true, NextProtos: protocols}).Handshake() })
	defer wg.Wait()
	defer ours.Close()
	head := make([]byte, 5)
	if _, err := io.ReadFull(theirs, head); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, int(head[3])<<8+int(head[4]))
	if _, err := io.ReadFull(theirs, body); err != nil {
		t.Fatal(err)
	}
	return append(head, body...)
}

// Hellos is a flood of recorded hellos from one address, each on a connection of its own that never goes on. It lets go of
// none that the server keeps.
type Hellos struct {
	dialer net.Dialer
	to     string
	hello  []byte
	rate   int
	began  time.Time
	sent   atomic.Int64
	over   chan struct{}
	wg     sync.WaitGroup
}

// SendHellos begins a flood from an address of loopback, at so many a second or, with rate 0, as fast as it can.
func SendHellos(to, from string, hello []byte, rate int) *Hellos {
	h := &Hellos{
		dialer: net.Dialer{LocalAddr: &net.TCPAddr{IP: netip.MustParseAddr(from).AsSlice()}, Timeout: 30 * time.Second},
		to:     to, hello: hello, rate: rate, began: time.Now(), over: make(chan struct{}),
	}
	for range 4 {
		h.wg.Go(h.run)
	}
	return h
}

// Sent returns how many were sent.
func (h *Hellos) Sent() int { return int(h.sent.Load()) }

// Stop ends the flood.
func (h *Hellos) Stop() {
	close(h.over)
	h.wg.Wait()
}

func (h *Hellos) run() {
	var open []net.Conn
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	for {
		select {
		case <-h.over:
			return
		default:
		}
		if h.rate > 0 && float64(h.sent.Load()) >= time.Since(h.began).Seconds()*float64(h.rate) {
			time.Sleep(time.Millisecond) // the flood's own pace
			continue
		}
		c, err := h.dialer.Dial("tcp", h.to)
		if err != nil {
			continue
		}
		_, _ = c.Write(h.hello) // a connection that was refused says so when it is read
		h.sent.Add(1)
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			open = append(open, c)
		} else {
			c.Close()
		}
	}
}
