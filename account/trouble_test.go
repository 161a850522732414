package account_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"parley/account"
	"parley/account/storetest"
	"parley/internal/patient"
)

var errDisk = errors.New("the disk is on fire")

// ledger is a log, by line.
type ledger struct{ bytes.Buffer }

type ledgerLine struct {
	Level, Msg string
	Time       time.Time
	Failures   int
	Err        string
}

func (l *ledger) logger() *slog.Logger { return slog.New(slog.NewJSONHandler(l, nil)) }

func (l *ledger) lines(t *testing.T) (all []ledgerLine) {
	t.Helper()
	for dec := json.NewDecoder(bytes.NewReader(l.Bytes())); dec.More(); {
		var line ledgerLine
		if err := dec.Decode(&line); err != nil {
			t.Fatal(err)
		}
		all = append(all, line)
	}
	return all
}

// A store that cannot be read is trouble until it can be, whether or not anybody logs in meanwhile.
func TestTroubleWithReading(t *testing.T) {
	for _, busy := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t, account.Config{Failures: -1})
			d.make("ann")
			if err := d.Trouble(); err != nil {
				t.Errorf("at first: %v", err)
			}
			d.store.fail("Find", errDisk)
			if busy {
				a := d.login(home, "ann", password)
				d.want("log in", a, account.Failed)
			} else {
				time.Sleep(11 * time.Second)
			}
			if err := d.Trouble(); !errors.Is(err, errDisk) {
				t.Errorf("busy %t: trouble is %v", busy, err)
			}
			d.store.fail("Find", nil)
			if busy {
				d.want("log in", d.login(home, "ann", password), account.OK)
			} else {
				time.Sleep(11 * time.Second)
			}
			if err := d.Trouble(); err != nil {
				t.Errorf("busy %t: trouble is still %v", busy, err)
			}
			if got := d.Stats().StoreFailed; got == 0 {
				t.Error("no failure was counted")
			}
		})
	}
}

// A disk that is full is trouble although accounts can be found, until a write goes well or a minute has passed.
func TestTroubleWithWriting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, account.Config{Failures: -1, Registrations: -1})
		d.make("ann")
		d.store.fail("Create", errDisk)
		d.want("register", d.register(home, "bob", password), account.Failed)
		d.want("log in by an unknown name", d.login(home, "nobody", password), account.Unknown)
		if err := d.Trouble(); !errors.Is(err, errDisk) {
			t.Errorf("trouble is %v", err)
		}
		d.store.fail("Create", nil)
		d.want("register", d.register(home, "bob", password), account.OK)
		if err := d.Trouble(); err != nil {
			t.Errorf("after a write: %v", err)
		}
		d.store.fail("Create", errDisk)
		d.want("register", d.register(home, "cyd", password), account.Failed)
		time.Sleep(59 * time.Second)
		if err := d.Trouble(); !errors.Is(err, errDisk) {
			t.Errorf("within the minute: %v", err)
		}
		time.Sleep(2 * time.Second)
		if err := d.Trouble(); err != nil {
			t.Errorf("after a minute: %v", err)
		}
	})
}

// Answers that are no failures of the store are no trouble.
func TestNoTrouble(t *testing.T) {
	d := newDesk(t, account.Config{Failures: -1, Registrations: -1})
	d.make("ann")
	d.want("a taken name", d.register(home, "ann", password), account.Taken)
	d.want("an unknown name", d.login(home, "nobody", password), account.Unknown)
	d.want("a wrong password", d.login(home, "ann", "wrong password"), account.WrongPassword)
	d.want("a ban of nobody", d.ban("nobody", time.Time{}), account.Unknown)
	if err := d.Trouble(); err != nil || d.Stats().StoreFailed != 0 {
		t.Errorf("%v, %d failures", err, d.Stats().StoreFailed)
	}
}

// The log says once a minute that the store fails, and how often since the last line, and once that it works again.
func TestTroubleIsLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(ledger)
		d := newDesk(t, account.Config{Failures: -1, Recheck: -1, Log: log.logger()})
		d.make("ann")
		d.store.fail("Find", errDisk)
		const minutes, each = 10, 30
		for range minutes * each {
			d.want("log in", d.login(home, "ann", password), account.Failed)
			time.Sleep(time.Minute / each)
		}
		d.store.fail("Find", nil)
		d.want("log in", d.login(home, "ann", password), account.OK)
		synctest.Wait()
		lines := log.lines(t)
		if len(lines) != minutes+1 {
			t.Fatalf("%d lines in %d minutes:\n%s", len(lines), minutes, log)
		}
		sum := 0
		for i, line := range lines {
			sum += line.Failures
			if last := i == minutes; last != (line.Level == "INFO") || !last && line.Err != errDisk.Error() {
				t.Errorf("line %d: %+v", i, line)
			}
		}
		if sum != minutes*each || d.Stats().StoreFailed != minutes*each {
			t.Errorf("%d and %d failures were told of, want %d", sum, d.Stats().StoreFailed, minutes*each)
		}
	})
}

// A store that fails now and then fills no log.
func TestAStoreThatFlapsFillsNoLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(ledger)
		d := newDesk(t, account.Config{Failures: -1, Recheck: -1, Log: log.logger()})
		for range 600 {
			d.store.fail("Find", errDisk)
			d.login(home, "ann", password)
			d.store.fail("Find", nil)
			d.login(home, "ann", password)
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if lines := log.lines(t); len(lines) > 2*10 || len(lines) < 10 {
			t.Errorf("%d lines in 10 minutes", len(lines))
		}
	})
}

// Everybody who waits for a store that does not answer is told so: they are Failed if the store was asked for them, and Busy
// if it was not. Who waits for a look is told within twice the time that the store has for one request, and who waits for a hash
// within the minute that realm gives a log-in.
func TestASlowStoreKeepsNobodyWaiting(t *testing.T) {
	for _, method := range []string{"Find", "Known", "Create"} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t, account.Config{Failures: -1, Registrations: -1, Recheck: -1})
			d.make("ann")
			release := d.store.hold(method)
			defer release()
			began := time.Now()
			answers := make(chan account.Result, 1000)
			for i := range cap(answers) {
				done := func(a account.Answer) { answers <- a.Result }
				var err error
				if method == "Create" {
					err = d.Register(stranger(i), "player-"+time.Duration(i).String(), password, done)
				} else {
					err = d.Login(stranger(i), "ann", password, done)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			got := map[account.Result]int{}
			var last time.Time
			for range cap(answers) {
				got[<-answers]++
				last = time.Now()
			}
			t.Logf("%s: %v after %v", method, got, last.Sub(began))
			within := 20 * time.Second
			if method == "Create" {
				within = 55 * time.Second
			}
			if last.Sub(began) > within || got[account.Failed]+got[account.Busy] != cap(answers) || got[account.Failed] == 0 {
				t.Errorf("%s is stopped: %v after %v", method, got, last.Sub(began))
			}
			if err := d.Trouble(); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("trouble is %v", err)
			}
		})
	}
}

// stuck is a store that hangs, whatever its context says.
type stuck struct {
	storetest.Memory
	until chan struct{}
}

func (s *stuck) Find(ctx context.Context, key string) (account.Record, error) {
	patient.Value(s.until)
	return s.Memory.Find(ctx, key)
}

// A store that hangs and does not heed its deadline is trouble too.
func TestTroubleWithAStoreThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &stuck{until: make(chan struct{})}
		s := account.New(store, account.Cheap(account.Config{}))
		time.Sleep(19 * time.Second)
		if err := s.Trouble(); err != nil {
			t.Errorf("before its time is over: %v", err)
		}
		time.Sleep(2 * time.Second)
		if err := s.Trouble(); err == nil {
			t.Error("nobody has noticed")
		}
		close(store.until)
		synctest.Wait()
		if err := s.Trouble(); err != nil {
			t.Errorf("when it answers again: %v", err)
		}
		s.Close()
	})
}
