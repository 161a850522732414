package impair

import (
	"context"
	"net"
	"sync"
	"time"
)

// pair is a client's connection, the proxy's own to the server, and what is under way between
// the two.
type pair struct {
	client, server     net.Conn
	toServer, toClient *pipe
	up, down           *way
}

// listenStreams opens the socket for TCP clients.
func (p *Proxy) listenStreams(addr string) (net.Listener, error) {
	config := net.ListenConfig{Control: shortBuffer(bufferBytes(p.cfg.Up))}
	config.SetMultipathTCP(false) // some kernels do not let it have a segment size
	return config.Listen(context.Background(), "tcp", addr)
}

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
	dialer := net.Dialer{Control: shortBuffer(bufferBytes(p.cfg.Down))}
	server, err := dialer.Dial("tcp", p.target.String())
	if err != nil {
		p.refused.Add(1)
		return
	}
	defer server.Close()
	x := p.join(client, server)
	if x == nil {
		return
	}
	defer p.part(x)
	var both sync.WaitGroup
	both.Go(func() { p.carry(client, server, x.toServer, x.up, allowedQueue(p.cfg.Up)) })
	both.Go(func() { p.carry(server, client, x.toClient, x.down, allowedQueue(p.cfg.Down)) })
	both.Wait()
}

// join makes a pair of connections known, so that Close can cut them; nil if there can be no
// more.
func (p *Proxy) join(client, server net.Conn) *pair {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.pairs) >= maxFlows {
		p.refused.Add(1)
		return nil
	}
	x := &pair{client: client, server: server, toServer: newPipe(), toClient: newPipe()}
	x.up, x.down = p.shapers(ofStream(p.cfg.Up), ofStream(p.cfg.Down))
	p.pairs[x] = struct{}{}
	return x
}

func (p *Proxy) part(x *pair) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pairs, x)
	p.past[0], p.past[1] = sum(p.past[0], x.up.stats()), sum(p.past[1], x.down.stats())
}

// cut ends both connections at once.
func (x *pair) cut() {
	x.client.Close()
	x.server.Close()
	x.toServer.cut()
	x.toClient.cut()
}

// carry moves one direction of a stream, segment by segment, and its end. While more than
// allowed waits for the rate it does not read, so that the sender's kernel holds the
// sender back: a stream has no drops that would tell it to.
func (p *Proxy) carry(from, to net.Conn, out *pipe, w *way, allowed time.Duration) {
	rtt := p.cfg.Up.Delay + p.cfg.Down.Delay + (p.cfg.Up.Jitter+p.cfg.Down.Jitter)/2
	s := stream{rtt: rtt, gap: leastResend}
	var writer sync.WaitGroup
	writer.Go(func() { out.writeTo(to, w) })
	defer writer.Wait()
	for p.awaitRoom(w, out, allowed) {
		buf := make([]byte, segmentBytes)
		n, err := from.Read(buf)
		if n > 0 && !p.carryOne(&s, out, w, buf[:n]) {
			break
		}
		if err != nil {
			at := p.start.Add(max(s.last, time.Since(p.start)))
			if !p.sched.hold(at, nil, func([]byte) { out.end() }) {
				out.cut()
			}
			return
		}
	}
	from.Close()
	to.Close()
	out.cut()
}

// awaitRoom waits until no more than allowed waits for the rate. It reports false when the receiver is gone.
func (p *Proxy) awaitRoom(w *way, out *pipe, allowed time.Duration) bool {
	wait := w.backlog(time.Since(p.start)) - allowed
	if wait <= 0 {
		return true
	}
	p.held.Add(1)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-out.gone:
		return false
	}
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
	return ok && p.sched.hold(p.start.Add(at), b, out.push)
}

// backlog returns how long what comes now would wait for the rate.
func (w *way) backlog(now time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shaper.Backlog(now)
}
