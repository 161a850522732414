package account_test

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"parley/account"
	"parley/internal/patient"
)

// crashMain is what this program does as the victim of the crash test.
var crashMain func()

func TestRegister(t *testing.T) {
	d := newDesk(t, account.Config{})
	for _, tt := range []struct {
		name, who, password string
		want                account.Result
	}{
		{"a new name", "Ann", password, account.OK},
		{"the same name", "Ann", password, account.Taken},
		{"the same name in another case", "aNN", password, account.Taken},
		{"the same name in wide letters", "Ａｎｎ", password, account.Taken},
		{"another name", "anna", password, account.OK},
		{"a name that is too short", "an", password, account.BadName},
		{"a name with a blank", "ann bee", password, account.BadName},
		{"the name of the server", "server", password, account.BadName},
		{"one that looks like it", "ѕеrvеr", password, account.BadName},
		{"a password of 7 bytes", "bob", "1234567", account.BadPassword},
		{"a password of 8 bytes", "bob", "12345678", account.OK},
		{"a password of 128 bytes", "clara", strings.Repeat("x", 128), account.OK},
		{"a password of 129 bytes", "dora", strings.Repeat("x", 129), account.BadPassword},
		{"a password of 8 bytes in 4 letters", "emil", "éééé", account.OK},
	} {
		d.want(tt.name, d.register(operator, tt.who, tt.password), tt.want)
	}
	a := d.login(home, "ANN", password)
	d.want("log in", a, account.OK)
	if a.Account.Name != "Ann" || a.Account.ID == 0 || a.Account.Created.IsZero() || a.Session.Account() != a.Account {
		t.Errorf("got %+v", a)
	}
	for result, want := range map[account.Result]uint64{account.OK: 6, account.Taken: 3, account.BadName: 4, account.BadPassword: 2} {
		if got := d.Stats().Results[result]; got != want {
			t.Errorf("%d answers were %v, want %d", got, result, want)
		}
	}
	if got := d.Stats().Hashes; got != 6 {
		t.Errorf("%d hashes, want one for each that was made or logged in", got)
	}
}

func TestRegistrationCanBeDisabled(t *testing.T) {
	d := newDesk(t, account.Config{NoRegistration: true})
	d.want("a player", d.register(home, "ann", password), account.Disabled)
	d.want("the operator", d.register(operator, "ann", password), account.OK)
}

func TestOneSessionAnAccount(t *testing.T) {
	d := newDesk(t, account.Config{Failures: -1})
	d.make("ann", "bob")
	first := d.login(home, "ann", password)
	d.want("the first", first, account.OK)
	d.want("the second", d.login(home, "Ann", password), account.AlreadyIn)
	d.want("with a wrong password", d.login(home, "ann", "wrong password"), account.WrongPassword)
	d.want("another account", d.login(home, "bob", password), account.OK)
	first.Session.Logout()
	if first.Session.End() != account.EndLogout {
		t.Errorf("ended by %v", first.Session.End())
	}
	again := d.login(home, "ann", password)
	d.want("after the log-out", again, account.OK)
	first.Session.Logout() // of a session that is over: not of the one that is
	d.want("after a second log-out", d.login(home, "ann", password), account.AlreadyIn)
	again.Session.Logout()

	var mu sync.Mutex
	results := map[account.Result]int{}
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() {
			a := d.login(home, "ann", password)
			mu.Lock()
			defer mu.Unlock()
			results[a.Result]++
		})
	}
	patient.Done(group.Wait)
	if results[account.OK] != 1 || results[account.AlreadyIn] != 99 {
		t.Errorf("of 100 at once: %v", results)
	}
	d.wantEnded()
}

func TestFullHouse(t *testing.T) {
	d := newDesk(t, account.Config{MaxSessions: 2})
	d.make("ann", "bob", "clara")
	ann := d.login(home, "ann", password)
	d.want("the first", ann, account.OK)
	d.want("the second", d.login(home, "bob", password), account.OK)
	d.want("the third", d.login(home, "clara", password), account.Full)
	d.want("one that is in", d.login(home, "bob", password), account.AlreadyIn)
	d.want("with a wrong password", d.login(home, "clara", "wrong password"), account.WrongPassword)
	ann.Session.Logout()
	d.want("when one has left", d.login(home, "clara", password), account.OK)
}

func TestBan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, account.Config{})
		d.make("ann", "bob")
		in := d.login(home, "ann", password)
		bob := d.login(home, "bob", password)
		d.want("ban", d.ban("ANN", time.Time{}), account.OK)
		if in.Session.End() != account.EndBanned || bob.Session.End() != 0 {
			t.Errorf("ann's session ended by %v, bob's by %v", in.Session.End(), bob.Session.End())
		}
		d.wantEnded(account.EndBanned)
		in.Session.Logout()
		d.wantEnded(account.EndBanned)

		a := d.login(home, "ann", password)
		d.want("the right password", a, account.Banned)
		if a.Account.Ban.Since.IsZero() || a.Session != nil {
			t.Errorf("got %+v", a)
		}
		d.want("the wrong password", d.login(home, "ann", "wrong password"), account.WrongPassword)
		d.want("delete", d.wait(func(f func(account.Answer)) error { return d.Delete(home, "ann", password, f) }), account.Banned)

		d.want("unban", d.wait(func(f func(account.Answer)) error { return d.Unban("ann", f) }), account.OK)
		d.visit(home, "ann")

		d.want("ban for an hour", d.ban("ann", time.Now().Add(time.Hour)), account.OK)
		time.Sleep(time.Hour - time.Second)
		d.want("a second before its end", d.login(home, "ann", password), account.Banned)
		time.Sleep(time.Second)
		d.want("at its end", d.login(home, "ann", password), account.OK)
		d.want("ban of no one", d.ban("nobody", time.Time{}), account.Unknown)
		d.want("ban of what is no name", d.ban("no one", time.Time{}), account.Unknown)
	})
}

func TestPasswordsAreChanged(t *testing.T) {
	const next = "battery staple"
	d := newDesk(t, account.Config{})
	d.make("ann")
	in := d.login(home, "ann", password)
	change := func(name, old, next string) account.Answer {
		return d.wait(func(f func(account.Answer)) error { return d.ChangePassword(home, name, old, next, f) })
	}
	d.want("to one that is too short", change("ann", password, "short"), account.BadPassword)
	d.want("with a wrong one", change("ann", "wrong password", next), account.WrongPassword)
	d.want("of no one", change("bob", password, next), account.Unknown)
	d.want("rightly", change("ann", password, next), account.OK)
	if in.Session.End() != 0 {
		t.Error("the session ended")
	}
	in.Session.Logout()
	d.want("the old one", d.login(home, "ann", password), account.WrongPassword)
	d.want("the new one", d.login(home, "ann", next), account.OK)

	set := func(name, next string) account.Answer {
		return d.wait(func(f func(account.Answer)) error { return d.SetPassword(name, next, f) })
	}
	d.want("set to one that is too short", set("ann", "short"), account.BadPassword)
	d.want("set for no one", set("bob", next), account.Unknown)
	d.want("set", set("ann", password), account.OK)
	d.want("the operator's", d.login(home, "ann", password), account.AlreadyIn)
}

func TestAccountsAreDeleted(t *testing.T) {
	d := newDesk(t, account.Config{})
	d.make("ann", "bob")
	ann, bob := d.login(home, "ann", password), d.login(home, "bob", password)
	remove := func(name, password string) account.Answer {
		return d.wait(func(f func(account.Answer)) error { return d.Delete(home, name, password, f) })
	}
	d.want("with a wrong password", remove("ann", "wrong password"), account.WrongPassword)
	d.want("by its owner", remove("ann", password), account.OK)
	d.want("by the operator", d.wait(func(f func(account.Answer)) error { return d.Remove("bob", f) }), account.OK)
	d.want("again", d.wait(func(f func(account.Answer)) error { return d.Remove("bob", f) }), account.Unknown)
	d.wantEnded(account.EndDeleted, account.EndDeleted)
	if ann.Session.End() != account.EndDeleted || bob.Session.End() != account.EndDeleted {
		t.Error("a session of a deleted account goes on")
	}
	d.want("log in", d.login(home, "ann", password), account.Unknown)
	d.want("the name is free", d.register(operator, "ann", password), account.OK)
	if a := d.login(home, "ann", password); a.Account.ID == ann.Account.ID {
		t.Error("a number was given again")
	}
}

// What another process does to an account, as the command line does, ends its session.
func TestSessionsAreRechecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, account.Config{})
		d.make("ann", "bob", "clara", "dora")
		var in []account.Answer
		for _, name := range []string{"ann", "bob", "clara", "dora"} {
			in = append(in, d.login(home, name, password))
		}
		store := d.store.Store
		if err := errors.Join(
			store.SetBan(t.Context(), in[0].Account.ID, account.Ban{Since: time.Now()}),
			store.SetBan(t.Context(), in[1].Account.ID, account.Ban{Since: time.Now(), Until: time.Now().Add(time.Second)}),
			store.Delete(t.Context(), in[2].Account.ID),
		); err != nil {
			t.Fatal(err)
		}
		d.store.fail("Ousted", errors.New("gone"))
		time.Sleep(11 * time.Second)
		d.wantEnded()
		if got := d.Stats().RecheckFailed; got != 1 {
			t.Errorf("%d failures to look, want 1", got)
		}
		d.store.fail("Ousted", nil)
		time.Sleep(10 * time.Second)
		if got := d.Stats().Sessions; got != 2 {
			t.Errorf("%d sessions, want 2", got)
		}
		for i, want := range []account.EndReason{account.EndBanned, 0, account.EndDeleted, 0} {
			if got := in[i].Session.End(); got != want {
				t.Errorf("session %d ended by %v, want %v", i, got, want)
			}
		}
	})
}

// A ban that comes while a log-in is under way, after the account was read, still holds.
func TestABanDuringTheLogIn(t *testing.T) {
	for _, method := range []string{"Known", "Enter"} {
		t.Run("at "+method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, account.Config{})
				d.make("ann")
				release := d.store.hold(method)
				answers := make(chan account.Answer, 1)
				d.Login(home, "ann", password, func(a account.Answer) { answers <- a })
				synctest.Wait()
				d.want("ban", d.ban("ann", time.Time{}), account.OK)
				release()
				a := <-answers
				d.want("log in", a, account.Banned)
				d.wantEnded() // its session was never told of
				if d.Stats().Sessions != 0 {
					t.Error("a session is left")
				}
			})
		})
	}
}

func TestTheStoreFails(t *testing.T) {
	broken := errors.New("the disk is full")
	d := newDesk(t, account.Config{Failures: -1})
	d.make("ann")
	for _, tt := range []struct {
		method string
		call   func(func(account.Answer)) error
		want   account.Result
	}{
		{"Find", func(f func(account.Answer)) error { return d.Login(home, "ann", password, f) }, account.Failed},
		{"Known", func(f func(account.Answer)) error { return d.Login(home, "ann", password, f) }, account.Failed},
		{"Find", func(f func(account.Answer)) error { return d.Register(home, "bob", password, f) }, account.Failed},
		{"Create", func(f func(account.Answer)) error { return d.Register(home, "bob", password, f) }, account.Failed},
		{"Find", func(f func(account.Answer)) error { return d.Ban("ann", time.Time{}, "", f) }, account.Failed},
		{"SetBan", func(f func(account.Answer)) error { return d.Ban("ann", time.Time{}, "", f) }, account.Failed},
		// Not to note who came in is no reason to keep them out.
		{"Enter", func(f func(account.Answer)) error { return d.Login(home, "ann", password, f) }, account.OK},
	} {
		d.store.fail(tt.method, broken)
		a := d.wait(tt.call)
		d.want(tt.method+" fails", a, tt.want)
		if tt.want == account.Failed && !errors.Is(a.Err, broken) {
			t.Errorf("%s fails: %v", tt.method, a.Err)
		}
		d.store.fail(tt.method, nil)
	}
	if s := d.Stats(); s.NotNoted != 1 || s.Sessions != 1 {
		t.Errorf("got %+v", s)
	}
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, account.Config{})
		d.make("ann", "bob")
		in := d.login(home, "ann", password)
		release := d.store.hold("Find")
		var results []account.Result
		for range 10 {
			d.Login(home, "bob", password, func(a account.Answer) { results = append(results, a.Result) })
		}
		synctest.Wait() // four are being looked for, six wait
		go func() {
			time.Sleep(time.Second)
			release()
		}()
		d.Close()
		count := map[account.Result]int{}
		for _, r := range results {
			count[r]++
		}
		if len(results) != 10 || count[account.Closed] != 10 {
			t.Errorf("answers: %v", results)
		}
		if in.Session.End() != account.EndClosed {
			t.Errorf("the session ended by %v", in.Session.End())
		}
		in.Session.Logout()
		if err := d.Login(home, "bob", password, nil); !errors.Is(err, account.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		d.Close() // again is no harm
		if len(d.ended) != 0 {
			t.Errorf("OnEnd was called: %v", d.ended)
		}
	})
}

func TestResultsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for r := range account.Closed + 1 {
		if seen[r.String()] || r.String() == "" {
			t.Errorf("result %d is %q", r, r)
		}
		seen[r.String()] = true
	}
	if got := (account.Closed + 1).String(); got != "unset" {
		t.Errorf("a result that there is not is %q", got)
	}
	if account.EndClosed.String() != "closed" || account.EndReason(9).String() != "unset" {
		t.Error("an end has a wrong name")
	}
}

func TestReasonsAreCut(t *testing.T) {
	d := newDesk(t, account.Config{})
	d.make("ann")
	for text, want := range map[string]string{
		"rude": "rude", "a\x00b": "a\ufffdb", "\xff": "\ufffd",
		strings.Repeat("é", 300): strings.Repeat("é", 256),
	} {
		a := d.wait(func(f func(account.Answer)) error { return d.Ban("ann", time.Time{}, text, f) })
		if a.Result != account.OK || a.Account.Ban.Reason != want {
			t.Errorf("%q became %q (%v)", text, a.Account.Ban.Reason, a.Result)
		}
	}
}

func TestMain(m *testing.M) {
	if crashMain != nil && isVictim() {
		crashMain()
		return
	}
	if start, err := strconv.ParseInt(os.Getenv(canaryVariable), 10, 64); err == nil {
		watch(time.Unix(0, start))
		return
	}
	goleak.VerifyTestMain(m)
}
