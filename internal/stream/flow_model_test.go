package stream

import (
	"net/netip"
	"time"

	"parley/internal/kit/tcp"
	"parley/simnet"
)

// wire is the way to a player.
type wire struct {
	rate  int           // bytes a second; 0: no limit
	delay time.Duration // each way
	most  time.Duration // jitter
	loss  float64
}

func (w wire) profile(rate int) simnet.Profile {
	return simnet.Profile{Delay: w.delay, Jitter: w.most, Loss: w.loss, Rate: 8 * rate}
}

var (
	serverAddr = netip.MustParseAddrPort("10.0.0.1:1")
	playerAddr = netip.MustParseAddrPort("10.0.0.2:2")
)

// watched is a player of 20 ticks a second, whose world needs so many bytes a tick, behind a modelled TCP. It answers probes at once.
type watched struct {
	flow         Flow
	net          *simnet.Network
	pipe, player *tcp.Pipe
	host         *simnet.Host
	needs, own   int
	written      uint64
	looks        int
	narrow       int // ticks
	ticks        int

	waits time.Duration // the sum, of segments on their way down
	sent  int           // of them
	taken int           // bytes that the link has carried
}

func newWatched(seed uint64, w wire, needs int) *watched {
	p := &watched{net: simnet.New(seed), pipe: tcp.NewPipe(playerAddr, tcp.Cubic), player: tcp.NewPipe(serverAddr, tcp.Cubic), needs: needs, own: 60}
	p.host = p.net.Add(serverAddr, p.pipe)
	peer := p.net.Add(playerAddr, p.player)
	down := p.net.NewLink(w.profile(w.rate))
	p.net.Route(p.host, peer, down)
	p.net.Route(peer, p.host, p.net.NewLink(w.profile(0)))
	peer.AfterTurn(func(now time.Time) {
		for _, b := range p.player.Read() {
			if b == probe {
				p.player.Write(now, []byte{0})
			}
		}
	})
	p.net.Filter(func(s simnet.Packet) (v simnet.Verdict) {
		if s.From == p.host {
			p.waits += down.Backlog()
			p.taken += len(s.Bytes)
			p.sent++
		}
		return v
	})
	p.net.After(0, "tick", p.tick)
	return p
}

// probe is a byte that the player answers.
const probe = 1

// run plays for a time.
func (p *watched) run(d time.Duration) {
	if err := p.net.Run(d); err != nil {
		panic(err)
	}
}

func (p *watched) write(b []byte) {
	p.written += uint64(len(b))
	p.pipe.Write(p.host.Now(), b)
	p.host.Poke()
}

func (p *watched) acked() uint64 { return p.pipe.Info(p.host.Now()).Acked }

func (p *watched) tick() {
	i := p.pipe.Info(p.host.Now())
	at := time.Duration(p.ticks)*50*time.Millisecond + 1
	if p.flow.Begin(at, p.written, 0) {
		p.looks++
		p.flow.Look(at, Arrivals{Acked: i.Acked, Ago: i.LastAck, RTT: i.RTT, Least: i.Least, Resent: i.Resent, Unsent: i.Unsent, Full: i.Full, Sacked: i.Sacked, Heard: i.Heard})
	}
	pace := p.flow.Pace(at, max(i.Unsent-maxUnsent, 0))
	if rate, changed := p.flow.Limit(); changed {
		p.pipe.Limit(rate)
	}
	p.ticks++
	if pace.Budget < p.needs {
		p.narrow++
	}
	b := make([]byte, max(p.own, min(p.needs, pace.Budget)))
	if pace.Probe {
		b = append(b, probe)
	}
	if len(b) > 0 {
		p.flow.Stamp(at)
		p.write(b)
	}
	p.net.After(50*time.Millisecond, "tick", p.tick)
}
