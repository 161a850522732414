package core

import (
	"fmt"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/simnet"
)

// RTT is that of the path, within a millisecond, at both ends, whoever sends how much, while confirmations are gathered, and
// beside the probes of a server that asks for budgets.
func TestTheRoundTripIsThePaths(t *testing.T) {
	for _, path := range []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond} {
		for _, tt := range []struct {
			name    string
			every   [2]time.Duration // one reliable package of each end; 0: one at the beginning
			budgets bool
		}{
			{"both send at 20 Hz", [2]time.Duration{50 * time.Millisecond, 50 * time.Millisecond}, false},
			{"both send at 60 Hz and 7 Hz", [2]time.Duration{16 * time.Millisecond, 143 * time.Millisecond}, false},
			{"one sends", [2]time.Duration{33 * time.Millisecond, 0}, false},
			{"a server with budgets", [2]time.Duration{100 * time.Millisecond, 0}, true},
		} {
			t.Run(fmt.Sprintf("%v, %s", path, tt.name), func(t *testing.T) {
				kit.Seeds(t, 3, func(t *testing.T, seed uint64) {
					d := newDuo(t, seed, Rules{}, 0, simnet.Profile{Delay: path / 2})
					for i := range d.ends {
						if err := d.send(i, Unordered, "hello"); err != nil {
							t.Fatal(err)
						}
					}
					at := [2]time.Duration{}
					for now := time.Duration(0); now < 8*time.Second; now += time.Millisecond {
						for i, every := range tt.every {
							if every > 0 && now-at[i] >= every {
								at[i] = now
								if err := d.send(i, Unordered, "something"); err != nil {
									t.Fatal(err)
								}
							}
						}
						if tt.budgets && now%(50*time.Millisecond) == 0 {
							d.ends[1].budget(d.hosts[1].Now())
							if err := d.send(1, Unreliable, "what is seen of the world, which has some more bytes than what is said"); err != nil {
								t.Fatal(err)
							}
						}
						if now%(100*time.Millisecond) == 0 {
							for i, e := range d.ends {
								rtt := e.RTT()
								d.hosts[i].Poke()
								if wrong := max(rtt-path, path-rtt); now > 4*time.Second && wrong > time.Millisecond {
									t.Fatalf("after %v, end %d has a round trip of %v on a path of %v", now, i, rtt, path)
								}
							}
						}
						d.run(time.Millisecond)
					}
					for i, e := range d.ends {
						st := e.Stats()
						if n := st.Probes; n < 5 || n > 9 && !tt.budgets {
							t.Errorf("end %d has measured %d times in 8 s", i, n)
						}
						if err := st.Check(); err != nil {
							t.Error(err)
						}
					}
				})
			})
		}
	}
}

// RTT follows a path that becomes longer and shorter, within a few seconds.
func TestTheRoundTripFollowsThePath(t *testing.T) {
	d := newDuo(t, 1, Rules{}, 0, simnet.Profile{Delay: 20 * time.Millisecond})
	talk := func(span time.Duration) {
		for range span / (50 * time.Millisecond) {
			for i := range d.ends {
				d.ends[i].RTT()
				if err := d.send(i, Unordered, "something"); err != nil {
					t.Fatal(err)
				}
			}
			d.run(50 * time.Millisecond)
		}
	}
	for _, delay := range []time.Duration{20, 60, 5} {
		delay *= time.Millisecond
		d.net.Default(simnet.Profile{Delay: delay})
		talk(7 * time.Second)
		for i, e := range d.ends {
			if rtt := e.RTT(); rtt < 2*delay-time.Millisecond || rtt > 2*delay+time.Millisecond {
				t.Errorf("end %d has a round trip of %v, want %v", i, rtt, 2*delay)
			}
		}
	}
}

// Nobody is asked for a round trip that nobody wants to know, and where delays are fixed nothing is confirmed at once.
func TestNothingIsMeasuredThatNobodyAsksFor(t *testing.T) {
	for _, rules := range []Rules{{}, {ResendAfter: 220 * time.Millisecond}} {
		d := newDuo(t, 1, rules, 0, simnet.Profile{Delay: 10 * time.Millisecond})
		for range 100 {
			for i := range d.ends {
				if rules.ResendAfter > 0 {
					d.ends[i].RTT()
				}
				if err := d.send(i, Unordered, "something"); err != nil {
					t.Fatal(err)
				}
			}
			d.run(50 * time.Millisecond)
		}
		for i, e := range d.ends {
			if n := e.Stats().Probes; n != 0 {
				t.Errorf("%+v: end %d has measured %d times", rules, i, n)
			}
		}
	}
}

// A flood of empty repeats is confirmed together: at most one datagram for each promptAfterMS.
func TestAFloodOfRepeatsIsConfirmedTogether(t *testing.T) {
	h := newHall(t, Config{})
	a := near(1)
	h.in(a, pack(Unordered, true, 0, "x"))
	h.wait(50 * time.Millisecond)
	delete(h.out, a)
	for range 1000 {
		h.in(a, pack(SemiOrdered, true, 0, ""))
		h.wait(100 * time.Microsecond)
	}
	if n := len(h.out[a]); n < 20 || n > 60 {
		t.Errorf("1,000 repeats in 100 ms are confirmed with %d datagrams", n)
	}
}
