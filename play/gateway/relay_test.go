package gateway

import (
	"context"
	"encoding/binary"
	"math"
	"strings"
	"sync"
	"testing"

	"parley/internal/patient"
	"parley/play/message"
	"parley/protocol/relay"
	relaycore "parley/protocol/relay/core"
)

// relayPlayer is a client and what it was told.
type relayPlayer struct {
	*relay.Client
	mu       sync.Mutex
	entities map[uint16][]byte
	you      uint16
	said     []string
	done     [][]byte
	others   []string
}

func playRelay(t *testing.T, d *Relay) *relayPlayer {
	t.Helper()
	c, err := relay.Dial(t.Context(), d.Addr().String(), relay.Config{})
	if err != nil {
		t.Fatal(err)
	}
	p := &relayPlayer{Client: c, entities: map[uint16][]byte{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ev := range c.Events() {
			if ev.Kind == relay.EventPackage {
				p.take(ev.Package)
			}
		}
	}()
	t.Cleanup(func() {
		c.Close(context.Background())
		patient.Value(done)
	})
	return p
}

func (p *relayPlayer) take(pkg relaycore.Package) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := pkg.Payload
	if !pkg.Server {
		p.others = append(p.others, string(b))
		return
	}
	switch b[0] {
	case message.RelayYou:
		p.you, _ = message.ParseRelayYou(b[1:])
	case message.RelaySaid:
		name, text, _ := message.ParseSaid(b[1:])
		p.said = append(p.said, string(name)+": "+string(text))
	case message.RelayDone:
		p.done = append(p.done, append([]byte(nil), b[1:]...))
	case message.RelayEntities:
		for rec := range message.Records(b[1:], message.Big) {
			if len(rec.Fields) == 0 {
				delete(p.entities, rec.Entity)
			} else {
				p.entities[rec.Entity] = append([]byte(nil), rec.Fields...)
			}
		}
	}
}

// is asks something of what the player was told.
func (p *relayPlayer) is(cond func() bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return cond()
}

func TestRelayPlayersShareTheWorld(t *testing.T) {
	h := newArena(t)
	d, err := NewRelay(h, RelayConfig{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Shutdown(t.Context())
	a, b := playRelay(t, d), playRelay(t, d)
	// Somebody joins with the first package.
	for _, p := range []*relayPlayer{a, b} {
		if err := p.Send(relay.Unordered, relay.ToServer, message.AppendSteer([]byte{message.RelaySteer}, 0, 0, message.Big)); err != nil {
			t.Fatal(err)
		}
	}
	until(t, h, "each knows itself and the other", func() bool {
		both := func(p *relayPlayer) bool {
			return p.is(func() bool { return p.you != 0 && len(p.entities) == 2 && p.entities[p.you] != nil })
		}
		return both(a) && both(b)
	})
	place := func(p *relayPlayer, who uint16) (x float64) {
		p.is(func() bool {
			x = math.Float64frombits(binary.BigEndian.Uint64(p.entities[who]))
			return true
		})
		return x
	}
	start := place(b, a.you)
	if err := a.Send(relay.Unordered, relay.ToServer, message.AppendSteer([]byte{message.RelaySteer}, 0, 1, message.Big)); err != nil {
		t.Fatal(err)
	}
	until(t, h, "b sees a walk", func() bool { return math.Abs(place(b, a.you)-start) > 2 })

	if err := a.Send(relay.SemiOrdered, relay.ToServer, []byte("\x02hello")); err != nil {
		t.Fatal(err)
	}
	until(t, h, "b reads it", func() bool {
		return b.is(func() bool { return len(b.said) == 1 && strings.HasSuffix(b.said[0], ": hello") })
	})
	throw := binary.BigEndian.AppendUint32([]byte{message.RelayAct, 0, 0}, math.Float32bits(1))
	if err := a.Send(relay.SemiOrdered, relay.ToServer, append(throw, 0, 0)); err != nil {
		t.Fatal(err)
	}
	until(t, h, "b sees the throw", func() bool {
		return b.is(func() bool { return len(b.done) == 1 && binary.BigEndian.Uint16(b.done[0]) == a.you })
	})
	// What is for the others passes the world by.
	if err := a.Send(relay.SemiOrdered, relay.ToOthers, []byte("\x02just us")); err != nil {
		t.Fatal(err)
	}
	until(t, h, "b gets it", func() bool { return b.is(func() bool { return len(b.others) == 1 && b.others[0] == "\x02just us" }) })
	a.Close(t.Context())
	until(t, h, "b sees it leave", func() bool { return b.is(func() bool { return b.entities[a.you] == nil }) })
}
