package blackbox

import (
	"fmt"
	"os"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/internal/promise"
)

// T63: the server's wall clock jumps by an hour and more, forward and back, and by a second, and that of its
// clients the other way. Nobody is cut off, ticks go on as the true time does, everybody is served on and who comes is let in, over all five
// dialects and with TLS. With PARLEY_PR each jump lasts for longer than any dialect's patience.
func TestTheWallClockJumps(t *testing.T) {
	promise.Keeps(t, "T63", "blackbox", 1)
	const each, rate = 2, 20
	wait := uint64(rate / 2)
	if os.Getenv("PARLEY_PR") != "" || os.Getenv("PARLEY_SOAK") != "" {
		wait = 11 * rate
	}
	config := loadConfig{TickRate: rate, OwnClock: true}
	l := startLoaded(t, config)
	if !l.say(loadFigures).OwnClock {
		t.Skip("there is no way to give a process a wall clock of its own here")
	}
	clock := time.NewTicker(time.Second / rate)
	defer clock.Stop()
	jump, forget, _ := ownWallClock()
	defer forget()
	// come has so many come that there are total of each dialect, more than once where it must: a server whose ticks are late lets nobody in.
	come := func(total int) (leave func()) {
		t.Helper()
		defer patient.End().Stop()
		for seed := uint64(1); ; seed++ {
			crowd := crowdOf(t, l, config, each)
			joined := make(chan struct{}, 5*each)
			crowd.Seed, crowd.Joined = seed<<8+uint64(total), func() { joined <- struct{}{} }
			stop := play(t, crowd)
			for range 5 * each {
				patient.Value(joined) // or failed to, as the results say
			}
			f := l.say(loadFigures)
			for until := f.Ticks + 2*rate; f.Ticks < until && (f.Players != 4*total || f.Spectators != total); f = l.say(loadFigures) {
				<-clock.C
			}
			all := f.Players == 4*total && f.Spectators == total
			end := func() {
				t.Helper()
				for _, r := range stop() {
					if all && (r.Errors > 0 || r.Connected != r.Bots || r.Updates == 0) {
						t.Errorf("%s: %d of %d connected, %d failed: %s", r.Dialect, r.Connected, r.Bots, r.Errors, r.Error)
					} else if !all {
						t.Logf("try %d, %s: %d of %d connected, %d failed: %s", seed, r.Dialect, r.Connected, r.Bots, r.Errors, r.Error)
					}
				}
			}
			if all {
				return end
			}
			if end(); seed == 20 {
				t.Fatalf("%d players and %d spectators came, want %d and %d", f.Players, f.Spectators, 4*total, total)
			}
			for f := l.say(loadFigures); f.Players > 4*(total-each) || f.Spectators > total-each; f = l.say(loadFigures) {
				<-clock.C // until who came is gone again
			}
		}
	}
	leave := come(each)
	for _, to := range []time.Duration{time.Hour, -time.Hour, time.Second} {
		before := l.say(loadFigures)
		jump(-to)
		now := l.say(fmt.Sprint(loadJump, " ", to))
		if apart := time.Until(time.UnixMilli(now.Wall)); (apart - 2*to).Abs() > 10*time.Second+to.Abs()/2 {
			t.Fatalf("the wall clocks are %v apart, want %v", apart, 2*to)
		}
		for now.Ticks < before.Ticks+wait {
			<-clock.C
			now = l.say(loadFigures)
		}
		come(2 * each)() // and goes
		now = l.say(loadFigures)
		most := uint64(now.Up/(time.Second/rate)) + 1
		if now.Ticks+now.Skips > most {
			t.Errorf("after a jump to %v: %d ticks ran and %d were let go in %v, where there was time for %d", to, now.Ticks, now.Skips, now.Up, most)
		}
		if now.Requests == before.Requests || now.ReplicaBytes == before.ReplicaBytes {
			t.Errorf("after a jump to %v nothing moves", to)
		}
		t.Logf("at %v: %d ticks, %d fewer than there was time for since the start, %d requests, %d players", to, now.Ticks-before.Ticks, int64(most-now.Ticks-now.Skips), now.Requests-before.Requests, now.Players)
	}
	leave()
}
