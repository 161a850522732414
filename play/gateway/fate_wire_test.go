package gateway

import (
	"testing"
	"time"

	"parley/internal/kit/chance"
	"parley/internal/patient"
	"parley/play/message"
	"parley/protocol/duplex"
	"parley/world"
)

// A client that sends no stamps is told no fates, in whichever dialect.
func TestWithoutStampsThereAreNoFates(t *testing.T) {
	for _, d := range []aimDialect{aimReplica, aimRelay, aimDuplex} {
		t.Run(d.name, func(t *testing.T) {
			kinds := map[byte]int{}
			h := must(New(Config{Game: aimGame(4, &aimCount{})}))
			a := d.enter(t, chance.Seed(t, 1), 50*time.Millisecond, h, func(b []byte) { kinds[b[0]]++ })
			if err := a.net.Run(10 * time.Second); err != nil {
				t.Fatal(err)
			}
			if a.newest != 0 || kinds[message.RelayTick] > 0 || h.stats.StampedInput > 0 {
				t.Errorf("it was told the fate of tick %d; %v", a.newest, kinds)
			}
		})
	}
}

// Relay's records come behind a fate in place of the plain ones, in as many packages as they need. Each has the fate, and the first
// of a tick has the own entity first, though it stands still.
func TestRelayTellsRecordsWithFates(t *testing.T) {
	var packages, plain, first int
	var last uint32
	var a *aimer
	h := must(New(Config{Game: aimGame(40, &aimCount{})}))
	d := aimRelay
	d.inOrder = true
	a = d.enter(t, chance.Seed(t, 1), 50*time.Millisecond, h, func(b []byte) {
		switch {
		case b[0] == message.RelayEntities && last > 0:
			plain++
		case b[0] == message.RelayTick:
			packages++
			f, rest, ok := message.ParseFate(b[1:], message.Big)
			if !ok || f.Tick < last {
				t.Fatalf("%x behind tick %d", b[:min(len(b), 20)], last)
			}
			if f.Tick > last {
				for r := range message.Records(rest, message.Big) {
					if r.Entity == a.own {
						first++
					}
					break
				}
			}
			last = f.Tick
		}
	})
	from := h.Sim().Tick()
	a.play(t, 10*time.Second)
	ticks := int(h.Sim().Tick() - from)
	// Two or three ticks are under way, or were before the first stamp.
	if plain > 0 || first < ticks-6 || packages < 2*first || a.wrong > 0 || a.told < 41*(ticks-6) {
		t.Errorf("%d ticks: %d packages, %d plain; the own entity is first in %d; %d of %d bodies are wrong", ticks, packages, plain, first, a.wrong, a.told)
	}
}

// Over duplex without a feed stamps come on main, and there are no fates: nobody waits for them, and nothing is counted as unsent.
func TestDuplexWithoutAFeedIsToldNoFates(t *testing.T) {
	d := aimDuplex
	d.noFeed = true
	h := must(New(Config{Game: aimGame(4, &aimCount{})}))
	a := d.enter(t, chance.Seed(t, 1), 50*time.Millisecond, h, nil)
	a.play(t, 10*time.Second)
	h.look()
	if st := h.Stats(); a.newest != 0 || st.StampedInput < 100 || st.LateInput != st.StampedInput || st.UnsentOutput > 0 || st.UnreadInput > 0 {
		t.Errorf("it was told the fate of tick %d; %d stamps, %d late, %d unsent, %d unread", a.newest, st.StampedInput, st.LateInput, st.UnsentOutput, st.UnreadInput)
	}
}

// Query 70 is an act with a stamp. Its reply comes with its tick. A repeated number is ignored, and says so.
func TestDuplexAnswersStampedActs(t *testing.T) {
	h := newArena(t, Config{})
	d := must(NewDuplex(h, DuplexConfig{Addr: loopback}))
	p := playDuplex(t, h, d)
	until(t, h, "it is in", func() bool { _, ok := p.Element(p.Player()); return ok })
	throw := h.Schema().ActionNamed("throw")
	for i, tt := range []struct {
		number uint32
		want   uint8
	}{{1, message.DuplexOK}, {1, uint8(world.Ignored)}, {2, uint8(world.Denied)}} {
		data := message.AppendDuplexAct(nil, throw, message.Stamp{Number: tt.number}, []world.Value{world.FloatValue(world.F32, 1), world.UintValue(world.Entity, 0)})
		status := make(chan uint8, 1)
		go func() {
			got, _, err := p.Query(t.Context(), duplex.Main, message.DuplexStamped, data)
			if err != nil {
				got = message.DuplexRefused
			}
			status <- got
		}()
		until(t, h, "a reply", func() bool { return len(status) == 1 })
		if got := patient.Value(status); got != tt.want {
			t.Errorf("act %d: status %d, want %d", i, got, tt.want)
		}
	}
}
