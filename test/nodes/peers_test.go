package nodes

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"parley/cluster/clustertest"
	"parley/internal/patient"
	"parley/play/message"
	"parley/program/impair"
	"parley/protocol/relay"
	"parley/simnet"
)

// participant is a client of relay who speaks to the others behind a bad network.
type participant struct {
	*relay.Client
	id   byte
	said []relay.Mode // by number

	mu   sync.Mutex
	got  map[byte][]uint32 // of the others: the reliable ones, as they came
	pong map[byte]bool     // whom it has heard at all
}

// attend has a participant come to a server over a network that loses every tenth datagram and delivers some twice and out of order.
func attend(t *testing.T, s *aServer, id byte) *participant {
	t.Helper()
	bad := simnet.Profile{Delay: 5 * time.Millisecond, Jitter: 5 * time.Millisecond, Loss: .1, Duplicate: .05}
	proxy, err := impair.Start(impair.Config{Listen: "127.0.0.1:0", Target: s.addr("relay"), UDP: true, Up: bad, Down: bad, Seed: uint64(id)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, err := relay.Dial(ctx, proxy.Addr().String(), relay.Config{})
	if err == nil {
		err = c.Send(relay.SemiOrdered, relay.ToServer, message.AppendSteer([]byte{message.RelaySteer}, 0, 0, message.Big))
	}
	if err != nil {
		t.Fatal(err)
	}
	p := &participant{Client: c, id: id, got: map[byte][]uint32{}, pong: map[byte]bool{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ev := range c.Events() {
			p.hear(ev)
		}
	}()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		c.Close(ctx)
		patient.Value(done)
	})
	return p
}

const wordBytes = 5 // who u8, number u32; a number of a package that is not reliable is 0xffffffff

func (p *participant) hear(ev relay.Event) {
	b := ev.Package.Payload
	if ev.Kind != relay.EventPackage || ev.Package.Server || len(b) != wordBytes {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pong[b[0]] = true; ev.Package.Mode != relay.Unreliable {
		p.got[b[0]] = append(p.got[b[0]], binary.BigEndian.Uint32(b[1:]))
	}
}

// say says the next reliable word, when there is room for it.
func (p *participant) say(t *testing.T, mode relay.Mode) {
	t.Helper()
	b := binary.BigEndian.AppendUint32([]byte{p.id}, uint32(len(p.said)))
	p.said = append(p.said, mode)
	patient.Until(t, "there is room", func() bool {
		err := p.Send(mode, relay.ToOthers, b)
		if err != nil && !errors.Is(err, relay.ErrBacklogFull) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// heard returns the words of another, as they came.
func (p *participant) heard(of byte) []uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.got[of])
}

// Participants of relay at two servers, behind a network that loses, doubles and reorders, get each other's reliable packages once, and the
// semi-ordered ones in order. One that leaves has said what it has said, and nothing more.
func TestPackagesBetweenParticipants(t *testing.T) {
	t.Parallel()
	url := clustertest.NATS(t)
	a, b := serve(t, url), serve(t, url)
	all := []*participant{attend(t, a, 1), attend(t, b, 2), attend(t, b, 3)}
	for _, p := range all {
		patient.Until(t, "all hear all", func() bool {
			for _, other := range all {
				_ = other.Send(relay.Unreliable, relay.ToOthers, []byte{other.id, 255, 255, 255, 255}) // it comes again
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			return len(p.pong) == len(all)-1
		})
	}
	const words = 300
	for i := range words {
		for _, p := range all {
			p.say(t, []relay.Mode{relay.Unordered, relay.SemiOrdered}[(i+int(p.id))/2%2])
		}
	}
	check := func(p, of *participant) {
		t.Helper()
		patient.Until(t, "it has heard all", func() bool { return len(p.heard(of.id)) >= len(of.said) })
		had := map[uint32]bool{}
		for _, n := range p.heard(of.id) {
			if had[n] {
				t.Fatalf("%d has heard word %d of %d twice", p.id, n, of.id)
			}
			for before := range n {
				if of.said[n] == relay.SemiOrdered && !had[before] {
					t.Fatalf("%d has heard the semi-ordered word %d of %d before %d", p.id, n, of.id, before)
				}
			}
			had[n] = true
		}
		if len(had) != len(of.said) {
			t.Fatalf("%d has heard %d words of %d, which has said %d", p.id, len(had), of.id, len(of.said))
		}
	}
	for _, p := range all {
		for _, of := range all {
			if p != of {
				check(p, of)
			}
		}
	}

	first := all[0]
	first.say(t, relay.SemiOrdered)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := first.Close(ctx); err != nil {
		t.Fatal(err)
	}
	check(all[1], first)
	patient.Until(t, "it is gone at both", func() bool {
		at, errA := a.Players()
		there, errB := b.Players()
		return errA == nil && errB == nil && len(at) == 2 && len(there) == 2
	})
	again := attend(t, a, 4) // another participant at the server that has none, which begins anew
	patient.Until(t, "it is heard", func() bool {
		_ = again.Send(relay.Unreliable, relay.ToOthers, []byte{again.id, 255, 255, 255, 255})
		all[1].mu.Lock()
		defer all[1].mu.Unlock()
		return all[1].pong[again.id]
	})
	all[1].say(t, relay.SemiOrdered)
	patient.Until(t, "it hears", func() bool { return len(again.heard(2)) == 1 })
	check(all[1], first) // nothing has come since
}
