package stream

import (
	cryptorand "crypto/rand"
	"crypto/tls"
	"errors"
	"net/netip"
	"sync"
	"time"

	"parley/internal/admission"
	"parley/internal/queue"
)

var (
	errLongHello = errors.New("stream: a client hello that is too long")
	errNoTurn    = errors.New("stream: a handshake that got no turn in time")
)

// handshakes shares out the computing time of TLS handshakes. They are the cheapest way for a stranger to make a server
// work: a recorded client hello is 1,500 bytes and costs the server a signature and a key exchange. So only one handshake
// computes at a time, however many cores there are. Hosts take turns. Hosts and networks that begin too many are refused
// before anything is computed. Its methods may be called by any goroutine.
type handshakes struct {
	config *tls.Config

	mu    sync.Mutex
	rates *admission.Buckets          // nil: no limits
	busy  bool                        // one computes
	again queue.Fifo[*handshake]      // handshakes that have had a turn: their clients have answered
	hosts queue.Fifo[netip.Addr]      // hosts with a waiting handshake; the first is served next
	lines map[netip.Addr][]*handshake // the waiting handshakes of each host, oldest first
}

// handshake is one handshake. Its methods, except cancel, are for its own goroutine.
type handshake struct {
	of    *handshakes
	host  netip.Addr
	until time.Time
	over  bool // it has ended, well or not
	hello bool // the client's hello has come whole
	read  int  // bytes

	// Guarded by of.mu.
	holds    bool // it has the turn to compute
	had      bool // it has had a turn
	waits    bool // it waits for a turn
	canceled bool
	wake     chan struct{} // holds one
}

// newHandshakes returns the handshakes of a server with this configuration. If limited is false, hosts and networks may
// begin any number of handshakes: that is for a server behind a proxy, where all connections come from the proxy's address.
func newHandshakes(config *tls.Config, limited bool) *handshakes {
	h := &handshakes{lines: map[netip.Addr][]*handshake{}}
	if limited {
		var key admission.Key
		cryptorand.Read(key[:])
		h.rates = admission.NewBuckets(admission.BucketsConfig{Source: hostRate, Prefix: networkRate, Total: admission.NoLimit}, key)
	}
	h.config = config.Clone()
	// A record is as large as the data sent. Dynamic sizes are for browsers that show the first bytes of a page, and cost
	// a system call for each record.
	h.config.DynamicRecordSizingDisabled = true
	user := config.GetConfigForClient
	h.config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		var own *tls.Config
		if user != nil {
			var err error
			if own, err = user(hello); err != nil {
				return nil, err
			}
		}
		// From here to where the server waits for the client again is the expensive part.
		s := hello.Conn.(*Conn).shaking
		s.hello = true
		if !s.take() {
			return nil, errNoTurn
		}
		return own, nil
	}
	if certificate := config.GetCertificate; certificate != nil {
		// It may ask a certificate authority, which takes seconds. Others compute meanwhile.
		h.config.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			s := hello.Conn.(*Conn).shaking
			s.give()
			cert, err := certificate(hello)
			if !s.take() {
				return nil, errNoTurn
			}
			return cert, err
		}
	}
	return h
}

// begin begins a handshake with the address from, which must end by the time until. It returns nil if the address has
// begun too many.
func (h *handshakes) begin(now time.Time, from netip.Addr, until time.Time) *handshake {
	host := admission.Host(from)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rates != nil && !h.rates.Allow(now, host, 1) {
		return nil
	}
	return &handshake{of: h, host: host, until: until, wake: make(chan struct{}, 1)}
}

// end records that the handshake has ended, well or not.
func (s *handshake) end() {
	s.over = true
	s.give()
}

// cancel ends the wait for a turn. Any goroutine may call it, at any time.
func (s *handshake) cancel() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.canceled = true
	s.rouse()
}

// rouse ends the wait for a turn. of.mu is held.
func (s *handshake) rouse() {
	if s.waits {
		s.waits = false
		s.wake <- struct{}{} // has room for it: waits was set
	}
}

// take waits for the turn to compute, and reports whether it got the turn.
func (s *handshake) take() bool {
	h := s.of
	h.mu.Lock()
	switch {
	case s.holds || s.canceled:
		defer h.mu.Unlock()
		return s.holds
	case !h.busy:
		h.grant(s)
		h.mu.Unlock()
		return true
	}
	h.enqueue(s)
	h.mu.Unlock()
	timer := time.NewTimer(time.Until(s.until))
	defer timer.Stop()
	select {
	case <-s.wake:
	case <-timer.C:
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.waits = false; len(s.wake) > 0 {
		<-s.wake // both at once
	}
	return s.holds
}

// enqueue puts a handshake into the queue for a turn. h.mu is held.
func (h *handshakes) enqueue(s *handshake) {
	s.waits = true
	if s.had {
		h.again.Push(s)
		return
	}
	if len(h.lines[s.host]) == 0 {
		h.hosts.Push(s.host)
	}
	h.lines[s.host] = append(h.lines[s.host], s)
}

// give passes the turn on to the next handshake, if this one has it.
func (s *handshake) give() {
	h := s.of
	h.mu.Lock()
	defer h.mu.Unlock()
	if !s.holds {
		return
	}
	s.holds, h.busy = false, false
	for next := h.next(); next != nil; next = h.next() {
		if next.waits { // otherwise its time is over
			h.grant(next)
			next.rouse()
			return
		}
	}
}

// grant gives a handshake the turn. h.mu is held.
func (h *handshakes) grant(s *handshake) { h.busy, s.holds, s.had = true, true, true }

// next returns the handshake whose turn it is, nil if none waits. Handshakes that have had a turn come first, as they
// hold memory and cost little from now on. Then hosts take turns, so that a host that begins many handshakes delays only
// itself. h.mu is held.
func (h *handshakes) next() *handshake {
	if h.again.Len() > 0 {
		return h.again.Pop()
	}
	if h.hosts.Len() == 0 {
		return nil
	}
	host := h.hosts.Pop()
	line := h.lines[host]
	first := line[0]
	line[0] = nil
	if line = line[1:]; len(line) == 0 {
		delete(h.lines, host)
	} else {
		h.lines[host] = line
		h.hosts.Push(host)
	}
	return first
}

// reading is called before a read of the handshake, which may wait for the client: others compute meanwhile.
func (s *handshake) reading() { s.give() }

// has counts the bytes that a read of the handshake returned, and waits for the turn to compute with them.
func (s *handshake) has(n int, err error) (int, error) {
	s.read += n
	switch {
	case err != nil:
	case s.read > maxShakeBytes || !s.hello && s.read > maxHelloBytes:
		return 0, errLongHello
	case s.hello && !s.take():
		return 0, errNoTurn
	}
	return n, err
}
