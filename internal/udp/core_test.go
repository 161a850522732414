package udp

import (
	"bytes"
	"net/netip"
	"slices"
	"testing"
	"time"

	"parley/internal/datagram"
)

// captive is a socket whose loop takes a turn only when the test does.
type captive struct {
	*Socket
	serve func(turn datagram.Turn)
}

func (c captive) Serve(turn datagram.Turn) error {
	c.serve(turn)
	return nil
}

func (c captive) Close() error { return nil }

// scriptCore is a Core for tests. Functions that are set replace what a core
// that does nothing would do; calls are logged by name.
type scriptCore struct {
	log       []string
	datagram  func(now time.Time, from netip.AddrPort, b []byte)
	timeout   func(now time.Time)
	deadline  func() (time.Time, bool)
	transmit  func(buf []byte) (int, netip.AddrPort, bool)
	keepNoLog bool
}

func (c *scriptCore) note(what string) {
	if !c.keepNoLog {
		c.log = append(c.log, what)
	}
}

func (c *scriptCore) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	c.note("datagram")
	if c.datagram != nil {
		c.datagram(now, from, b)
	}
}

func (c *scriptCore) HandleTimeout(now time.Time) {
	c.note("timeout")
	if c.timeout != nil {
		c.timeout(now)
	}
}

func (c *scriptCore) NextTimeout() (time.Time, bool) {
	if c.deadline == nil {
		return time.Time{}, false
	}
	return c.deadline()
}

func (c *scriptCore) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	if c.transmit == nil {
		return 0, netip.AddrPort{}, false
	}
	n, to, ok := c.transmit(buf)
	if ok {
		c.note("transmit")
	}
	return n, to, ok
}

// newScriptEcho returns a core that sends back what it gets.
func newScriptEcho() *scriptCore {
	core := &scriptCore{keepNoLog: true}
	var queue [][]byte
	var to []netip.AddrPort
	core.datagram = func(_ time.Time, from netip.AddrPort, b []byte) {
		queue, to = append(queue, bytes.Clone(b)), append(to, from)
	}
	core.transmit = func(buf []byte) (n int, addr netip.AddrPort, ok bool) {
		if len(queue) == 0 {
			return 0, addr, false
		}
		n, addr = copy(buf, queue[0]), to[0]
		queue, to = queue[1:], to[1:]
		return n, addr, true
	}
	return core
}

// timerCore calls back at given times, one at a time, and checks the law of
// timers: never early, always in order, each once.
type timerCore struct {
	scriptCore
	t     *testing.T
	times []time.Time // those to come, sorted
	fired int
}

func newTimerCore(t *testing.T) *timerCore {
	c := &timerCore{t: t}
	c.keepNoLog = true
	c.deadline = func() (time.Time, bool) {
		if len(c.times) == 0 {
			return time.Time{}, false
		}
		return c.times[0], true
	}
	c.timeout = func(now time.Time) {
		if len(c.times) == 0 {
			t.Error("timeout without a timer")
			return
		}
		if now.Before(c.times[0]) {
			t.Errorf("timeout %v early", c.times[0].Sub(now))
		}
		c.times = c.times[1:]
		c.fired++
	}
	return c
}

// add sets a timer.
func (c *timerCore) add(at time.Time) {
	i, _ := slices.BinarySearchFunc(c.times, at, time.Time.Compare)
	c.times = slices.Insert(c.times, i, at)
}
