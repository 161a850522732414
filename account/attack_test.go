package account_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/account"
	"parley/internal/kit/chance"
	"parley/internal/patient"
	"parley/internal/promise"
)

// tally makes calls and counts their results.
type tally struct {
	mu      sync.Mutex
	results map[account.Result]int
	errs    map[error]int
	group   sync.WaitGroup
}

// add makes a call without waiting for its answer.
func (c *tally) add(call func(done func(account.Answer)) error) {
	c.group.Add(1)
	err := call(func(a account.Answer) {
		defer c.group.Done()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.results == nil {
			c.results = map[account.Result]int{}
		}
		c.results[a.Result]++
		if a.Session != nil {
			a.Session.Logout()
		}
	})
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.errs == nil {
			c.errs = map[error]int{}
		}
		c.errs[err]++
		c.group.Done()
	}
}

// wait returns the results when all answers have come.
func (c *tally) wait() map[account.Result]int {
	patient.Done(c.group.Wait)
	return c.results
}

// T44: a log-in that fails takes the same work and gets the same answer, whatever the reason. What that is in time
// BenchmarkLoginTiming shows.
func TestFailuresCannotBeToldApart(t *testing.T) {
	promise.Keeps(t, "T44", "account", 1)
	d := newDesk(t, account.Config{HideUnknown: true, Failures: -1})
	d.make("ann", "banned", "empty", "garbled")
	d.want("ban", d.ban("banned", time.Time{}), account.OK)
	for name, hash := range map[string]string{"empty": "", "garbled": "$argon2id$v=19$m=99999999"} {
		r, err := d.store.Find(t.Context(), name)
		if err == nil {
			err = d.store.SetPassword(t.Context(), r.ID, hash)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ name, who, password string }{
		{"an unknown name", "nobody", password},
		{"a wrong password", "ann", "wrong password"},
		{"a banned account", "banned", "wrong password"},
		{"an account without a password", "empty", password},
		{"an account without a password, and none given", "empty", ""},
		{"an account whose hash cannot be read", "garbled", password},
		{"no password", "ann", ""},
		{"no password for an unknown name", "nobody", ""},
	} {
		before, looks := d.Stats(), d.store.called("Find")+d.store.called("Known")
		a := d.login(home, tt.who, tt.password)
		if a != (account.Answer{Result: account.WrongPassword}) {
			t.Errorf("%s: %+v", tt.name, a)
		}
		if n := d.Stats().Hashes - before.Hashes; n != 1 {
			t.Errorf("%s: %d hashes, want 1", tt.name, n)
		}
		if n := d.store.called("Find") + d.store.called("Known") - looks; n != 2 {
			t.Errorf("%s: %d looks into the store, want 2", tt.name, n)
		}
	}
	if got := d.Stats().BadHashes; got != 1 {
		t.Errorf("%d hashes could not be read, want 1", got)
	}
}

// T45: "1,000 concurrent logins with maximal passwords: length cap before hashing, hash concurrency <= cores".
func TestAThousandLogInsAtOnce(t *testing.T) {
	cores := runtime.GOMAXPROCS(0)
	d := newDesk(t, account.Config{Failures: -1, HashAtOnce: cores + 7, Queue: 2048}) // all may come before the first is looked at
	d.make("ann")
	before := d.Stats().Hashes
	var longest, tooLong tally
	for i := range promise.Keeps(t, "T45", "account", 1000) {
		longest.add(func(f func(account.Answer)) error {
			return d.Login(stranger(i), "ann", strings.Repeat("x", 128), f)
		})
		tooLong.add(func(f func(account.Answer)) error {
			return d.Login(stranger(i), "ann", strings.Repeat("x", 129+i*64), f)
		})
	}
	if got := longest.wait(); got[account.WrongPassword] != 1000 {
		t.Errorf("the longest passwords: %v", got)
	}
	if got := tooLong.wait(); got[account.WrongPassword] != 1000 {
		t.Errorf("longer ones: %v", got)
	}
	s := d.Stats()
	if s.Hashes-before != 1000 || s.MaxHashing > cores || s.Hashing != 0 {
		t.Errorf("%d hashes, %d at once on %d cores", s.Hashes-before, s.MaxHashing, cores)
	}
}

// T45: malformed bodies, 10^5 of them. Nothing panics, each is answered, and the sums are right.
func TestMalformedRequests(t *testing.T) {
	rng := chance.Rand(t, 0xacc)
	d := newDesk(t, account.Config{})
	d.make("ann")
	long := strings.Repeat("a\u0301", 32<<10)
	text := func(rng *rand.Rand) string {
		switch rng.IntN(8) {
		case 0:
			return ""
		case 1:
			return "ann"
		case 2:
			return long[:rng.IntN(len(long))]
		case 3:
			return password
		}
		b := make([]byte, rng.IntN(40))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return string(b)
	}
	addresses := []netip.Addr{operator, home, netip.MustParseAddr("::1"), netip.MustParseAddr("fe80::1%eth0"), netip.MustParseAddr("::ffff:10.0.0.1")}
	var calls tally
	n := promise.Keeps(t, "T45", "account", promise.Tier(20_000, 100_000, 100_000))
	for i := range n {
		from := addresses[rng.IntN(len(addresses))]
		if rng.IntN(2) == 0 {
			from = stranger(rng.IntN(1 << 20))
		}
		name, one, two := text(rng), text(rng), text(rng)
		calls.add(func(f func(account.Answer)) error {
			switch rng.IntN(9) {
			case 0:
				return d.Register(from, name, one, f)
			case 1:
				return d.ChangePassword(from, name, one, two, f)
			case 2:
				return d.Delete(from, name, one+"x", f)
			case 3:
				return d.Ban(name+"x", time.Time{}, one, f)
			case 4:
				return d.SetPassword(name+"x", one, f)
			}
			return d.Login(from, name, one, f)
		})
		if i%256 == 0 {
			calls.wait()
		}
	}
	got := calls.wait()
	sum := 0
	for _, n := range got {
		sum += n
	}
	if sum != n || got[account.Failed]+got[0] > 0 || len(calls.errs) > 0 {
		t.Errorf("%d calls: %v, %v", n, got, calls.errs)
	}
	for result, n := range d.Stats().Results {
		if result != account.OK && uint64(got[result]) != n {
			t.Errorf("%d were told %v, and %d are counted", got[result], result, n)
		}
	}
}

// T46: 10^4 tries at one account, from one address, from many, and the owner who enters all the same.
func TestBruteForce(t *testing.T) {
	tries := promise.Keeps(t, "T46", "account", promise.Tier(2_000, 10_000, 10_000))
	for _, tt := range []struct {
		name     string
		from     func(i int) netip.Addr
		who      func(i int) string
		perMin   int // tries that are hashed in a minute
		stranger account.Result
	}{
		{"one address at one account", func(int) netip.Addr { return stranger(0) }, func(int) string { return "ann" }, 5, account.TooMany},
		{"one address at all accounts", func(int) netip.Addr { return stranger(0) }, func(i int) string { return fmt.Sprint("player", i) }, 5, account.OK},
		{"a thousand addresses at one account", func(i int) netip.Addr { return stranger(i % 1000) }, func(int) string { return "ann" }, 5, account.TooMany},
		{"one customer's addresses of IPv6", func(i int) netip.Addr {
			return netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 0, 0, 0, byte(i), byte(i >> 8), byte(i)})
		}, func(i int) string { return fmt.Sprint("player", i) }, 5, account.OK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, account.Config{})
				d.make("ann")
				d.visit(home, "ann")
				for minute := range 3 {
					before := d.Stats().Hashes
					var guesses tally
					for i := range tries {
						guesses.add(func(f func(account.Answer)) error { return d.Login(tt.from(i), tt.who(i), fmt.Sprint("guess ", i), f) })
						if i%500 == 0 {
							guesses.wait()
						}
					}
					got := guesses.wait()
					if hashed := d.Stats().Hashes - before; hashed != uint64(tt.perMin) || got[account.TooMany] != tries-tt.perMin {
						t.Errorf("minute %d: %d of %d tries were hashed, want %d: %v", minute, hashed, tries, tt.perMin, got)
					}
					d.visit(home, "ann") // from a known address
					a := d.login(stranger(5000), "ann", password)
					d.want("the owner from elsewhere", a, tt.stranger)
					if a.Session != nil {
						a.Session.Logout()
					}
					time.Sleep(time.Minute)
				}
				d.visit(stranger(5001), "ann") // when it is over, from everywhere
			})
		})
	}
}

// Without it, tries that are made at once would all be hashed before the first has failed.
func TestTriesAtOnceCountBeforeTheyFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, account.Config{HashAtOnce: 8})
		d.make("ann")
		before := d.Stats().Hashes
		var guesses tally
		for i := range 1000 {
			guesses.add(func(f func(account.Answer)) error { return d.Login(stranger(i%7), "ann", fmt.Sprint("guess ", i), f) })
		}
		got := guesses.wait()
		if n := d.Stats().Hashes - before; n != 5 || got[account.WrongPassword] != 5 || got[account.TooMany] != 995 {
			t.Errorf("%d were hashed: %v", n, got)
		}
	})
}

// Thirty players behind one address who log in at the same moment all get in: a try that is under way is waited for, and
// not taken for a failure.
func TestManyPlayersOfOneAddress(t *testing.T) {
	d := newDesk(t, account.Config{})
	var calls tally
	for i := range 30 {
		name := fmt.Sprint("player", i)
		d.make(name)
		calls.add(func(f func(account.Answer)) error { return d.Login(home, name, password, f) })
	}
	if got := calls.wait(); got[account.OK] != 30 {
		t.Errorf("got %v", got)
	}
}

// "Names and addresses are counted apart", by the minute, and what does not fail does not count.
func TestThrottleOfLogIns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, account.Config{})
		d.make("ann", "bob", "clara")
		fail := func(from netip.Addr, who string, want account.Result) {
			t.Helper()
			d.want(who, d.login(from, who, "wrong password"), want)
		}
		for range 20 {
			d.visit(stranger(1), "ann")
		}
		for i := range 5 {
			fail(stranger(2), []string{"ann", "bob", "no such", "nobody", "bob"}[i], []account.Result{account.WrongPassword,
				account.WrongPassword, account.Unknown, account.Unknown, account.WrongPassword}[i])
			time.Sleep(10 * time.Second)
		}
		fail(stranger(2), "clara", account.TooMany)
		d.want("the right password", d.login(stranger(2), "clara", password), account.TooMany)
		d.want("from elsewhere", d.login(stranger(3), "clara", password), account.OK)
		time.Sleep(10*time.Second - time.Nanosecond)
		fail(stranger(2), "clara", account.TooMany)
		time.Sleep(time.Nanosecond) // the first failure is a minute old
		fail(stranger(2), "clara", account.WrongPassword)
		fail(stranger(2), "clara", account.TooMany)
	})
}

// An address is known for 30 days, and no more when the password has changed.
func TestKnownAddresses(t *testing.T) {
	const next = "battery staple"
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, account.Config{Recheck: -1})
		d.make("ann")
		attack := func() {
			for i := range 5 {
				d.login(stranger(i), "ann", "wrong password")
			}
		}
		d.visit(home, "ann")
		time.Sleep(30*24*time.Hour - time.Minute)
		attack()
		d.visit(home, "ann") // known by a minute; and known anew
		time.Sleep(30 * 24 * time.Hour)
		attack()
		d.want("after 30 days", d.login(home, "ann", password), account.TooMany)
		time.Sleep(time.Minute)
		d.visit(home, "ann")

		other := stranger(77)
		d.visit(other, "ann")
		d.want("change", d.wait(func(f func(account.Answer)) error { return d.ChangePassword(home, "ann", password, next, f) }), account.OK)
		attack()
		d.want("where it was changed", d.login(home, "ann", next), account.OK)
		d.want("elsewhere", d.login(other, "ann", next), account.TooMany)
	})
}

func TestThrottleOfRegistrations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, account.Config{})
		want := func(from netip.Addr, name, password string, want account.Result) {
			t.Helper()
			d.want(name, d.register(from, name, password), want)
		}
		want(home, "one", password, account.OK)
		want(home, "??", password, account.BadName)
		want(home, "two", "short", account.BadPassword)
		want(home, "one", password, account.Taken)
		want(home, "two", password, account.OK)
		want(home, "three", password, account.TooMany)
		want(stranger(1), "three", password, account.OK)
		want(operator, "four", password, account.OK)
		time.Sleep(time.Minute)
		want(home, "five", password, account.OK)
	})
}

// A flood of strangers that fills the queue does not keep out who is known.
func TestAFullQueueHasRoomForTheKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, account.Config{Queue: 16, HashAtOnce: 1})
		d.make("ann", "bob")
		d.visit(home, "ann")
		d.visit(stranger(999), "bob")

		release := d.store.hold("Create") // stops the only hasher
		var first, flood tally
		first.add(func(f func(account.Answer)) error { return d.Register(operator, "clara", password, f) })
		for i := range 40 {
			synctest.Wait()
			flood.add(func(f func(account.Answer)) error { return d.Login(stranger(i), fmt.Sprint("nobody", i), password, f) })
		}
		synctest.Wait()
		var known, unknown tally
		known.add(func(f func(account.Answer)) error { return d.Login(home, "ann", password, f) })
		unknown.add(func(f func(account.Answer)) error { return d.Login(stranger(1000), "bob", password, f) })
		synctest.Wait()
		release()
		if got := known.wait(); got[account.OK] != 1 {
			t.Errorf("who is known: %v", got)
		}
		if got := unknown.wait(); got[account.Busy] != 1 {
			t.Errorf("a stranger: %v", got)
		}
		if got := flood.wait(); got[account.Unknown] != 16 || got[account.Busy] != 24 {
			t.Errorf("the flood: %v", got)
		}
		first.wait()
	})
}

// The tick that calls never waits: neither for the store, nor for hashes, nor for a callback that does not return. If a call
// did wait here, synctest would find everyone asleep.
func TestCallsNeverWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, method := range []string{"Find", "Create", "Enter"} {
			d := newDesk(t, account.Config{Failures: -1, Registrations: -1, Recheck: -1})
			d.make("ann")
			release := d.store.hold(method)
			stuck := make(chan struct{})
			d.Register(home, "no name", password, func(account.Answer) { <-stuck })
			synctest.Wait()
			var calls tally
			const n = 10_000
			for i := range n {
				calls.add(func(f func(account.Answer)) error {
					if i%2 == 0 {
						return d.Register(stranger(i), fmt.Sprint("player", i), password, f)
					}
					return d.Login(stranger(i), "ann", password, f)
				})
				if i%100 == 0 {
					synctest.Wait() // as far as they get
				}
			}
			calls.mu.Lock()
			if calls.errs[account.ErrBusy] != n+1-4*1024 {
				t.Errorf("%s is stopped: %v", method, calls.errs)
			}
			calls.mu.Unlock()
			if got := d.Stats(); got.Waiting > 3*1024 || got.Unanswered != 4*1024 {
				t.Errorf("%s is stopped: %+v", method, got)
			}
			close(stuck)
			release()
			sum := 0
			for _, n := range calls.wait() {
				sum += n
			}
			if sum != 4*1024-1 {
				t.Errorf("%s is stopped: %d answers", method, sum)
			}
		}
	})
}

// A store that does not answer is given up after a while, and the request with it.
func TestAStoreThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, account.Config{Recheck: -1})
		release := d.store.hold("Find")
		defer release()
		began := time.Now()
		a := d.login(home, "ann", password)
		if a.Result != account.Failed || !errors.Is(a.Err, context.DeadlineExceeded) || time.Since(began) != 10*time.Second {
			t.Errorf("after %v: %+v", time.Since(began), a)
		}
	})
}
