package main

import (
	"context"
	"encoding/binary"
	"log/slog"
	"math"
	"sync"
	"testing"
	"time"

	"parley"
	"parley/internal/patient"
	"parley/protocol/relay"
	"parley/world"
)

// sailor plays over relay: what it sends to the server, and hears from it, begins with a byte
// that says what it is (docs/gateway.md).
type sailor struct {
	*relay.Client
	mu   sync.Mutex
	you  uint16
	seen map[uint16][]byte // kind and fields, by entity
	news chan struct{}
}

func sail(t *testing.T, addr string) *sailor {
	t.Helper()
	c, err := relay.Dial(t.Context(), addr, relay.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := &sailor{Client: c, seen: map[uint16][]byte{}, news: make(chan struct{}, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ev := range c.Events() {
			if ev.Kind == relay.EventPackage && ev.Package.Server {
				s.hear(ev.Package.Payload[0], ev.Package.Payload[1:])
			}
		}
	}()
	t.Cleanup(func() {
		c.Close(context.Background())
		patient.Value(done)
	})
	s.steer(t, 0, 0)
	return s
}

func (s *sailor) hear(what byte, b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch what {
	case 0: // entity u16, kind u8, size u8, fields; size 0 is gone
		for len(b) >= 4 {
			id, size := binary.BigEndian.Uint16(b), int(b[3])
			if size == 0 {
				delete(s.seen, id)
			} else {
				s.seen[id] = append([]byte{b[2]}, b[4:4+size]...)
			}
			b = b[4+size:]
		}
	case 3:
		s.you = binary.BigEndian.Uint16(b)
	}
	select {
	case s.news <- struct{}{}:
	default:
	}
}

func (s *sailor) send(t *testing.T, b []byte) {
	t.Helper()
	if err := s.Send(relay.SemiOrdered, relay.ToServer, b); err != nil {
		t.Fatal(err)
	}
}

func (s *sailor) steer(t *testing.T, angle, norm float32) {
	b := binary.BigEndian.AppendUint32([]byte{0}, math.Float32bits(angle))
	s.send(t, binary.BigEndian.AppendUint32(b, math.Float32bits(norm)))
}

func (s *sailor) fire(t *testing.T, angle float32) {
	s.send(t, binary.BigEndian.AppendUint32([]byte{1, 0, 0}, math.Float32bits(angle)))
}

// ship reads a ship: x and y f64, angle and norm f32, sprite u16, health i16.
func (s *sailor) ship(id uint16) (x, y float64, health int16, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.seen[id]
	if len(b) != 1+8+8+4+4+2+2 || b[0] != 1 {
		return 0, 0, 0, false
	}
	x, y = math.Float64frombits(binary.BigEndian.Uint64(b[1:])), math.Float64frombits(binary.BigEndian.Uint64(b[9:]))
	return x, y, int16(binary.BigEndian.Uint16(b[27:])), true
}

// until waits for something that must come; do is done again and again meanwhile.
func (s *sailor) until(t *testing.T, what string, cond func() bool, do func()) {
	t.Helper()
	for begin := time.Now(); !cond(); {
		if time.Since(begin) > time.Minute {
			t.Fatalf("%s: it did not happen", what)
		}
		if do != nil {
			do()
		}
		select {
		case <-s.news:
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func TestTwoShipsFight(t *testing.T) {
	server, err := parley.Start(game, parley.Config{
		Relay: "127.0.0.1:0", Replica: parley.Off, Stamp: parley.Off, Duplex: parley.Off, Realm: parley.Off, Sight: -1, Seed: 3,
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	addr := server.Addrs()[0].Addr.String()
	a, b := sail(t, addr), sail(t, addr)
	known := func(s *sailor) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.you != 0
	}
	a.until(t, "both are at sea", func() bool {
		if !known(a) || !known(b) {
			return false
		}
		_, _, _, one := a.ship(a.you)
		_, _, _, two := a.ship(b.you)
		return one && two
	}, nil)

	start, _, _, _ := a.ship(b.you)
	b.steer(t, 0, 3)
	a.until(t, "a sees b sail", func() bool {
		x, _, _, _ := a.ship(b.you)
		return x > start+5
	}, nil)
	b.steer(t, 0, 0)

	// a fires at where it sees b, and comes near until a shot tells.
	a.until(t, "b is hit", func() bool {
		_, _, health, ok := a.ship(b.you)
		return ok && health < 100
	}, func() {
		x, y, _, _ := a.ship(a.you)
		tx, ty, _, _ := a.ship(b.you)
		angle := float32(math.Atan2(ty-y, tx-x))
		a.steer(t, angle, 1)
		a.fire(t, angle)
	})
	if _, _, health, _ := a.ship(a.you); health != 100 {
		t.Errorf("a hit itself: %d", health)
	}
}

// The game alone, without any network: it is one function.
func TestTheSameInputsGiveTheSameSea(t *testing.T) {
	run := func() uint64 {
		sim, err := world.New(game, world.Config{Seed: 9})
		if err != nil {
			t.Fatal(err)
		}
		p, err := sim.Join("ann")
		if err != nil {
			t.Fatal(err)
		}
		fire := sim.Schema().ActionNamed("fire")
		for range 100 {
			sim.Act(p, sim.Tick(), fire, []world.Value{world.FloatValue(world.F32, 1)}, 0)
			sim.Advance()
		}
		return sim.World().Hash()
	}
	if first, second := run(), run(); first != second {
		t.Error("two runs differ")
	}
}
