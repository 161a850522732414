package impair

import (
	"net"
	"sync"
	"time"

	"parley/simnet"
)

// acceptStreams takes TCP clients.
func (p *Proxy) acceptStreams() {
	for {
		client, err := p.tcp.Accept()
		if err != nil {
			if p.isClosed() {
				return
			}
			time.Sleep(10 * time.Millisecond) // out of descriptors: some will be closed
			continue
		}
		p.wg.Go(func() { p.connect(client) })
	}
}

// connect joins a client to the server until either side is done.
func (p *Proxy) connect(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.target.String())
	if err != nil {
		p.refused.Add(1)
		return
	}
	defer server.Close()
	up, down, ok := p.join(client, server)
	if !ok {
		return
	}
	defer p.part(client, server, up, down)
	var both sync.WaitGroup
	both.Go(func() { p.carry(client, server, up) })
	both.Go(func() { p.carry(server, client, down) })
	both.Wait()
}

// join makes a pair of connections known, so that Close can cut them.
func (p *Proxy) join(client, server net.Conn) (up, down *way, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.streams) >= 2*maxFlows {
		p.refused.Add(1)
		return nil, nil, false
	}
	p.streams[client], p.streams[server] = newPipe(), newPipe()
	up, down = p.shapers(ofStream(p.cfg.Up), ofStream(p.cfg.Down))
	return up, down, true
}

// ofStream is a profile as a stream sees it: kernels choose segments that fit, and drop
// those that are damaged.
func ofStream(p simnet.Profile) simnet.Profile {
	p.MTU, p.Corrupt = 0, 0
	return p
}

func (p *Proxy) part(client, server net.Conn, up, down *way) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.streams, client)
	delete(p.streams, server)
	p.past[0], p.past[1] = sum(p.past[0], up.stats()), sum(p.past[1], down.stats())
}

// carry moves one direction of a stream, segment by segment, and its end.
func (p *Proxy) carry(from, to net.Conn, w *way) {
	rtt := p.cfg.Up.Delay + p.cfg.Down.Delay + (p.cfg.Up.Jitter+p.cfg.Down.Jitter)/2
	s := stream{rtt: rtt, gap: leastResend}
	out := p.pipeTo(to)
	var writer sync.WaitGroup
	writer.Go(func() { out.writeTo(to, w) })
	defer writer.Wait()
	for {
		buf := make([]byte, segmentBytes)
		n, err := from.Read(buf)
		if n > 0 && !p.carryOne(&s, out, w, buf[:n]) {
			from.Close()
			to.Close()
			out.end()
			break
		}
		if err != nil {
			at := p.start.Add(max(s.last, time.Since(p.start)))
			if !p.sched.put(at, nil, func([]byte) { out.end() }) {
				out.end()
			}
			break
		}
	}
}

func (p *Proxy) pipeTo(to net.Conn) *pipe {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.streams[to]
}

// carryOne schedules a segment. It reports false when the connection is over.
func (p *Proxy) carryOne(s *stream, out *pipe, w *way, b []byte) bool {
	if !out.reserve(len(b)) {
		return false
	}
	w.mu.Lock()
	at, resent, ok := s.pass(time.Since(p.start), len(b), w.shaper)
	w.mu.Unlock()
	if resent {
		p.lost.Add(1)
	}
	return ok && p.sched.put(p.start.Add(at), b, out.push)
}

// stream is one direction of a TCP connection: what is lost comes later, and holds up
// all behind it.
type stream struct {
	rtt    time.Duration
	last   time.Duration // when the latest segment arrives
	before time.Duration // when the latest came
	gap    time.Duration // between two of them, smoothed
}

// pass says when a segment arrives and whether it had to be sent again. It is not ok when
// the sender's kernel would have given up.
func (s *stream) pass(now time.Duration, n int, shaper *simnet.Shaper) (at time.Duration, resent, ok bool) {
	s.gap += (now - s.before - s.gap) / 8
	s.before = now
	var room [2]simnet.Arrival
	late := time.Duration(0)
	for tries := range maxResends {
		if arrivals := shaper.Pass(now, n, room[:0]); len(arrivals) > 0 {
			if len(arrivals) == 2 {
				shaper.Arrived(0) // TCP drops the copy
			}
			s.last = max(s.last, arrivals[0].At+late)
			return s.last, tries > 0, true
		}
		late += s.recovery() << min(tries, 6)
	}
	return 0, true, false
}

// recovery is how long a sender takes to know of a loss: a round trip once three later
// segments have arrived, or its resend timer if they would take longer.
func (s *stream) recovery() time.Duration {
	return min(s.rtt+3*s.gap, max(leastResend, 2*s.rtt))
}
