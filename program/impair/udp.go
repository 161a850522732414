package impair

import (
	"bytes"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"parley/simnet"
)

// flow is a UDP client: its own socket towards the server, and the two ways.
type flow struct {
	client   netip.AddrPort
	conn     *net.UDPConn
	up, down *way
	used     atomic.Int64 // when something last came, in nanoseconds since the start
}

// readClients takes what clients send.
func (p *Proxy) readClients() {
	buf := make([]byte, maxDatagram)
	for {
		n, from, err := p.udp.ReadFromUDPAddrPort(buf)
		if err != nil {
			if p.isClosed() {
				return
			}
			continue // an ICMP error of an earlier send; the socket is whole
		}
		if f := p.flowOf(canon(from)); f != nil {
			p.pass(f, f.up, buf[:n], func(b []byte) { f.conn.Write(b) })
		}
	}
}

// readServer takes what the server sends to one client.
func (p *Proxy) readServer(f *flow) {
	buf := make([]byte, maxDatagram)
	for {
		n, err := f.conn.Read(buf)
		if err != nil {
			if p.isGone(f) {
				return
			}
			continue // the server was not there when we sent: clients find out by silence
		}
		p.pass(f, f.down, buf[:n], func(b []byte) { p.udp.WriteToUDPAddrPort(b, f.client) })
	}
}

// pass schedules what becomes of a datagram.
func (p *Proxy) pass(f *flow, w *way, b []byte, send func([]byte)) {
	now := time.Since(p.start)
	f.used.Store(int64(now))
	var room [2]simnet.Arrival
	w.mu.Lock()
	arrivals := w.shaper.Pass(now, len(b), room[:0])
	for _, a := range arrivals {
		data := bytes.Clone(b)
		if a.Corrupt {
			w.shaper.Flip(data)
		}
		n := len(data)
		taken := p.sched.put(p.start.Add(a.At), data, func(b []byte) {
			w.arrived(n) // before the send: the receiver may look at the counter at once
			send(b)
		})
		if !taken {
			p.overflow.Add(1)
			w.shaper.Arrived(0)
		}
	}
	w.mu.Unlock()
}

// flowOf returns the flow of a client, a new one if there is none; nil if there can
// be none.
func (p *Proxy) flowOf(client netip.AddrPort) *flow {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.flows[client]; f != nil {
		return f
	}
	if p.closed || len(p.flows) >= maxFlows {
		p.refused.Add(1)
		return nil
	}
	conn, err := net.DialUDP("udp", nil, p.target)
	if err != nil {
		p.refused.Add(1)
		return nil
	}
	f := &flow{client: client, conn: conn}
	f.up, f.down = p.shapers(p.cfg.Up, p.cfg.Down)
	p.flows[client] = f
	p.wg.Go(func() { p.readServer(f) })
	return f
}

// forgetIdle lets go of clients that are silent, until the proxy is closed.
func (p *Proxy) forgetIdle() {
	tick := time.NewTicker(idleAfter / 4)
	defer tick.Stop()
	for {
		select {
		case <-p.sched.done:
			return
		case <-tick.C:
			p.forget(time.Since(p.start) - idleAfter)
		}
	}
}

// forget lets go of clients that were last heard before then.
func (p *Proxy) forget(then time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for addr, f := range p.flows {
		if time.Duration(f.used.Load()) < then {
			delete(p.flows, addr)
			p.past[0], p.past[1] = sum(p.past[0], f.up.stats()), sum(p.past[1], f.down.stats())
			f.conn.Close()
		}
	}
}

func (p *Proxy) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

func (p *Proxy) isGone(f *flow) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed || p.flows[f.client] != f
}
