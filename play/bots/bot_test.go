package bots

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"parley"
	"parley/arena"
	"parley/internal/patient"
	"parley/world"
)

// A bot stays for what it said last, but not for ever.
func TestABotWaitsForWhatIsUnderWay(t *testing.T) {
	for _, tt := range []struct {
		name   string
		notice Notice
		tally  Tally
		asked  bool
		want   time.Duration
	}{
		{"nothing is under way", Notice{}, Tally{Said: 2, Heard: 2}, false, 0},
		{"its line comes back", Notice{Kind: Said, Text: "hello [1]"}, Tally{Said: 1}, false, 300 * time.Millisecond},
		{"another's line does not count", Notice{Kind: Said, Text: "hello [2]"}, Tally{Said: 1}, false, settleTime},
		{"its direction is not seen", Notice{Kind: Said, Text: "hello [1]"}, Tally{Said: 1}, true, settleTime},
		{"the server goes", Notice{Kind: Ended, Text: "closed"}, Tally{Said: 1}, false, 300 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &Bot{Tally: tt.tally, player: new(Player), mark: "[1]", news: make(chan struct{}, 1), over: make(chan struct{})}
				begin := time.Now()
				if tt.asked {
					b.since = begin
				}
				time.AfterFunc(300*time.Millisecond, func() { b.notice(tt.notice) })
				b.settle()
				if got := time.Since(begin); got != tt.want {
					t.Errorf("it waited for %v, want %v", got, tt.want)
				}
				time.Sleep(settleTime)
			})
		})
	}
}

// A bot that is stopped when it has just asked for a direction still sees it.
func TestWhatABotDidLastIsSeen(t *testing.T) {
	defer func(d time.Duration) { settleTime = d }(settleTime)
	settleTime = time.Minute
	s, err := parley.Start(arena.Game(), parley.Config{
		Relay: "127.0.0.1:0", Replica: parley.Off, Stamp: parley.Off, Duplex: parley.Off, Realm: parley.Off,
		TickRate: 4, Log: slog.New(slog.DiscardHandler), // a tick takes long enough to be caught in the middle
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sim, err := world.New(arena.Game(), world.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	b := &Bot{Dialect: "relay"}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.Run(ctx, s.Addrs()[0].Addr.String(), Config{Schema: sim.Schema()}, 1)
	}()
	asked := func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return !b.since.IsZero()
	}
	for !asked() {
		select {
		case <-done:
			t.Fatal(b.Tally.Error)
		case <-time.After(time.Millisecond): // look again
		}
	}
	stop()
	patient.Value(done)
	if asked() || b.Tally.Seen == 0 || b.Tally.Error != "" {
		t.Errorf("%+v", b.Tally)
	}
}
