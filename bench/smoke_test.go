package main

import (
	"maps"
	"slices"
	"testing"
	"time"
)

// tinyPace is long enough to see that something works.
var tinyPace = pace{
	echo: 300 * time.Millisecond, echoWarm: 100 * time.Millisecond, echoRuns: 1,
	rush: 300 * time.Millisecond, rushWarm: 100 * time.Millisecond,
	crowd: 100 * time.Millisecond, crowds: 1, crowdWarm: 100 * time.Millisecond,
	room: 300 * time.Millisecond, roomWarm: 100 * time.Millisecond,
	feelPlayers: 12, feel: 700 * time.Millisecond, feelWarm: 200 * time.Millisecond, feelRuns: 1,
	narrow: 1500 * time.Millisecond, narrowWarm: 500 * time.Millisecond, narrowRest: time.Second, narrowRuns: 1,
}

// smoke measures one thing with children of its own, and holds the figures against the
// columns of the table.
func smoke(t *testing.T, w work, peer, kase string) map[string]float64 {
	t.Helper()
	p, ok := peerNamed(peer)
	if !ok || !w.takes(p) {
		t.Fatalf("%s takes no %q", w.name, peer)
	}
	if p.Missing != nil && p.Missing() != "" {
		t.Skip(p.Missing())
	}
	figures, err := w.once(&options{pace: tinyPace}, p, kase, 1)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, c := range w.columns {
		known[c.figure] = true
	}
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		if !known[name] {
			t.Errorf("%s is in no column", name)
		}
	}
	return figures
}

// allOf looks that everything that was to come has come: these promise it, or nothing on
// loopback is in their way.
func allOf(t *testing.T, figures map[string]float64) {
	t.Helper()
	if figures["delivered"] != 100 {
		t.Errorf("%v %% were delivered: %v", figures["delivered"], figures)
	}
}

func TestEchoesComeBackOverABadPath(t *testing.T) {
	for _, peer := range []string{"replica ordered", "replica unordered", "relay", "tcp", "quic-go streams", "x/net/quic streams", "enet", "enet channels"} {
		t.Run(peer, func(t *testing.T) {
			t.Parallel()
			figures := smoke(t, echoWork, peer, "10%")
			allOf(t, figures)
			if figures["p50"] < 50 {
				t.Errorf("half of them took less than the path does: %v", figures)
			}
		})
	}
}

func TestARushArrives(t *testing.T) {
	for _, peer := range []string{"replica ordered", "tcp", "tcp buffered", "quic-go stream buffered", "x/net/quic", "x/net/quic buffered", "enet", "enet packed"} {
		t.Run(peer, func(t *testing.T) {
			figures := smoke(t, rushWork, peer, "64 bytes")
			allOf(t, figures)
			if figures["rate"] < 100 || figures["cpu"] < 0 {
				t.Errorf("got %v", figures)
			}
		})
	}
}

func TestACrowdIsServed(t *testing.T) {
	for _, peer := range []string{
		"replica ordered", "relay unreliable", "stamp reported down", "duplex feed", "udp", "udp batched", "udp gathered", "udp batched down", "tcp", "quic-go stream", "enet",
	} {
		if p, _ := peerNamed(peer); testing.Short() && !p.Ours {
			continue
		}
		t.Run(peer, func(t *testing.T) {
			figures := smoke(t, crowdWork, peer, "50")
			if p, _ := peerNamed(peer); p.Reliable {
				allOf(t, figures)
			}
			if figures["delivered"] < 50 || figures["delivered"] > 100 || figures["p50"] <= 0 {
				t.Errorf("got %v", figures)
			}
		})
	}
}

func TestARoomIsSeen(t *testing.T) {
	for peer, bytes := range map[string]float64{"replica entities": 8, "replica entities q": 4} {
		figures := smoke(t, roomWork, peer, "60 Hz")
		if figures["seen"] < 50 || figures["bytes"] < bytes || figures["bytes"] > bytes+4 {
			t.Errorf("%s: got %v", peer, figures)
		}
	}
}

// The clients of either room see places as they were moved to: the one to the bit, the other to an eighth.
func TestAPlaceIsWhatItWas(t *testing.T) {
	for x := float32(0); x < 8192; x += 8192.0 / 65521 {
		var place [8]byte
		putFloat(place[:4], x)
		putFloat(place[4:], x/8)
		got := getSteps(nil, putSteps(nil, place))
		for i, want := range []float32{x, x / 8} {
			if off := getFloat(got[4*i:]) - min(want, 8191.875); off < -1.0/16 || off > 1.0/16 {
				t.Fatalf("%v is seen as %v", want, getFloat(got[4*i:]))
			}
		}
	}
}

// A child that ends, or is asked for what it cannot do, is an error and not a wait.
func TestAChildThatCannotIsAnError(t *testing.T) {
	c, err := start("server")
	if err != nil {
		t.Fatal(err)
	}
	defer c.stop()
	if err := c.ask("dance", nil, nil); err == nil {
		t.Error("it danced")
	}
	if err := c.ask("listen", serveWith{Peer: "nobody"}, nil); err == nil {
		t.Error("nobody listens")
	}
	c.cmd.Process.Kill()
	if err := c.ask("count", nil, nil); err == nil {
		t.Error("it answers after its end")
	}
}

// A player on a narrow link is in the game, and what it sees has an age. How well it is served is for the run to say.
func TestANarrowLinkIsPlayedOver(t *testing.T) {
	for _, peer := range []string{"replica player", "relay player", "duplex player", "realm player", "stamp player", "colyseus"} {
		if p, _ := peerNamed(peer); testing.Short() && !p.Ours {
			continue
		}
		t.Run(peer, func(t *testing.T) {
			if why := netsMissing(); why != "" {
				t.Skip(why)
			}
			t.Parallel()
			figures := smoke(t, narrowWork, peer, "2 Mbit/s")
			if figures["sent"] <= 0 || figures["near50"] < millis(narrowDelay)-1 || figures["oldest"] < figures["near50"] {
				t.Errorf("got %v", figures)
			}
			if _, asks := figures["steps"]; asks == (peer == "stamp player") {
				t.Errorf("a player of %s has steps: %v", peer, asks)
			}
		})
	}
}

// Players in an arena see what they ask for. How soon, and what a loss does, is for the run to say.
func TestStepsAreSeenInAnArena(t *testing.T) {
	for _, peer := range []string{"replica arena", "relay arena", "duplex arena", "realm arena", "enet arena", "enet arena repeated", "colyseus"} {
		if p, _ := peerNamed(peer); testing.Short() && !p.Ours {
			continue
		}
		t.Run(peer, func(t *testing.T) {
			if why := netsMissing(); why != "" {
				t.Skip(why)
			}
			t.Parallel()
			figures := smoke(t, feelWork, peer, "0%")
			if figures["steps"] < 12 || figures["seen"] != 100 || figures["p50"] < 50 || figures["p99"] < figures["p50"] || figures["up"] <= 0 || figures["down"] <= figures["up"] {
				t.Errorf("got %v", figures)
			}
		})
	}
}
