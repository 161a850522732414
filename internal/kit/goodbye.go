package kit

import (
	"testing"
	"time"

	"parley/simnet"
)

// Goodbye has a client leave. It is itself done after a round trip, but its server's program is told a second after the
// goodbye came, no sooner and no later: for so long the server doubts it, as it may be forged. A goodbye that is repeated
// meanwhile, because its acknowledgement was lost, changes nothing.
func Goodbye(t *testing.T, d Dialect) {
	way := Lan().Delay
	for _, repeats := range []int{0, 3} {
		var p *pair
		left, lost := false, 0
		p = newPair(t, d, 3, func(_ int, b []byte) simnet.Verdict {
			drop := left && d.Ack(b) && lost < repeats
			if drop {
				lost++
			}
			return simnet.Verdict{Drop: drop}
		})
		p.Pass(2 * time.Second)
		begun := p.Now()
		left = true
		p.client.End(p.host.Now())
		p.host.Poke()
		p.Pass(3 * time.Second)
		done, told := p.endedAt.Sub(begun), p.toldAt.Sub(begun)
		if lost != repeats || done < 2*way || repeats == 0 && done != 2*way || told != way+time.Second || p.server.Len() != 0 {
			t.Errorf("%d repeats: the client was done after %v and the server told after %v; %d are left", lost, done, told, p.server.Len())
		}
		if p.ended != reasonClosed || p.told.Reason != reasonPeer || !p.told.Remote {
			t.Errorf("the client ended with %q, and the server was told %+v", p.ended, p.told)
		}
	}
}
