package kit

import (
	"fmt"
	"testing"
	"time"

	"parley/internal/promise"
	"parley/simnet"
)

// pair is a server and a client over a network, with what each saw.
type pair struct {
	Net
	server Server
	client Client
	host   *simnet.Host // of the client
	joined bool         // the client was told that it is connected
	ended  string       // the reason of the client's end
	told   Event        // of the end, at the server

	endedAt, toldAt time.Time
}

func newPair(t testing.TB, d Dialect, seed uint64, filter func(n int, b []byte) simnet.Verdict) *pair {
	p := &pair{Net: NewNet(t, seed, Lan())}
	p.server, p.client = d.Server(p.Now(), seed), d.Client(p.Now(), seed+100)
	n := 0
	p.Filter(func(packet simnet.Packet) simnet.Verdict {
		n++
		return filter(n, packet.Bytes)
	})
	p.Add(ServerAddr, p.server).AfterTurn(func(now time.Time) {
		p.server.Advance(now)
		for ev, ok := p.server.Next(); ok; ev, ok = p.server.Next() {
			p.Log = append(p.Log, fmt.Sprint(ev.Kind, ev.Reason))
			if ev.Kind == Ended {
				p.told, p.toldAt = ev, p.Now()
			}
		}
	})
	p.host = p.Add(ClientAddr, p.client)
	p.host.AfterTurn(func(time.Time) {
		for ev, ok := p.client.Next(); ok; ev, ok = p.client.Next() {
			switch ev.Kind {
			case Connected:
				p.joined = true
			case Ended:
				p.ended, p.endedAt = ev.Reason, p.Now()
			}
		}
	})
	return p
}

func (p *pair) connected() bool { return p.joined && p.client.Open() && p.server.Len() == 1 }

func (p *pair) check(what string) {
	p.T.Helper()
	for _, err := range []error{p.server.Check(), p.client.Check(), p.Stats().Balance()} {
		if err != nil {
			p.T.Errorf("%s: %v", what, err)
		}
	}
}

// Handshake is T24: every subset of the first ten datagrams of a handshake is lost: it connects and lasts, or ends with a
// reason in bounded time, and then the server forgets it. At most ends of the 1,024 do not connect.
func Handshake(t *testing.T, d Dialect, ends int) {
	step := 1
	if testing.Short() {
		step = 16
	}
	promise.Keeps(t, "T24", d.Name, 1<<10/step)
	ended := 0
	for lost := 0; lost < 1<<10; lost += step {
		p := newPair(t, d, uint64(lost), func(n int, _ []byte) simnet.Verdict {
			return simnet.Verdict{Drop: n <= 10 && lost>>(n-1)&1 != 0}
		})
		what := fmt.Sprintf("an end with %010b lost", lost)
		p.Until(what, 20*time.Second, func() bool { return p.connected() || p.ended != "" })
		p.Pass(max(0, 15*time.Second-p.Elapsed()))
		if p.ended != "" {
			ended++
			p.Until(what+": the server forgets the client", 12*time.Second, func() bool { return p.server.Len() == 0 })
		} else if !p.connected() {
			t.Fatalf("%s: it did not last; the server saw %v", what, p.Log)
		}
		p.check(what)
	}
	if ended > ends {
		t.Errorf("%d of 1,024 handshakes did not connect", ended)
	}
	t.Logf("%d of 1,024 handshakes did not connect", ended)
}

// HandshakeCopies is T24 too: each of the first ten datagrams is duplicated, or delayed by 5 s, or both, and the
// connection lasts.
func HandshakeCopies(t *testing.T, d Dialect) {
	promise.Keeps(t, "T24", d.Name, 1)
	for i := 1; i <= 10; i++ {
		for _, v := range []simnet.Verdict{{Copies: 1}, {Copies: 4}, {Delay: 5 * time.Second}, {Delay: 5 * time.Second, Copies: 1}} {
			p := newPair(t, d, uint64(i), func(n int, _ []byte) simnet.Verdict {
				if n == i {
					return v
				}
				return simnet.Verdict{}
			})
			what := fmt.Sprintf("connected with datagram %d under %+v", i, v)
			p.Until(what, 15*time.Second, p.connected)
			p.Pass(12 * time.Second)
			if !p.connected() {
				t.Errorf("%s: later the client ended with %q, and the server saw %v", what, p.ended, p.Log)
			}
			p.check(what)
		}
	}
}
