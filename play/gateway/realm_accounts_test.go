package gateway

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"parley/account"
	"parley/account/storetest"
	"parley/internal/patient"
	"parley/protocol/realm"
	"parley/protocol/realm/core"
)

// downStore is a store whose methods fail when it is down.
type downStore struct {
	storetest.Memory
	down bool
}

func (s *downStore) Find(ctx context.Context, key string) (account.Record, error) {
	if s.down {
		return account.Record{}, errors.New("down")
	}
	return s.Memory.Find(ctx, key)
}

func askRegister(a *Accounts, name, password string) core.RegisterCode {
	answers := make(chan core.RegisterCode, 1)
	a.Register(netip.MustParseAddrPort("192.0.2.1:5"), name, password, func(c core.RegisterCode) { answers <- c })
	return patient.Value(answers)
}

func askLogin(a *Accounts, name, password string) core.LoginCode {
	answers := make(chan core.LoginCode, 1)
	a.Login(netip.MustParseAddrPort("192.0.2.1:5"), name, password, func(c core.LoginCode) { answers <- c })
	return patient.Value(answers)
}

// Players are told of too many tries when they have tried too often, and never because the server cannot look now.
func TestAccountsThatCannotBeUsedNow(t *testing.T) {
	store := new(downStore)
	service := account.New(store, account.Config{Recheck: -1, Registrations: 1, Failures: 1})
	a := NewAccounts(service)
	if got := askRegister(a, "ann", "password"); got != realm.RegisterOK {
		t.Fatal(got)
	}
	if got := askRegister(a, "bob", "password"); got != core.RegisterTooManyTries {
		t.Errorf("a second registration in a minute: %v", got)
	}
	if got := askLogin(a, "ann", "password"); got != realm.LoginOK {
		t.Error(got)
	}
	if got := askLogin(a, "Ann", "password"); got != core.LoginAlreadyConnected || a.Key("Ann") != a.Key("ann") {
		t.Error(got)
	}
	a.Logout("ann")
	service.Close()

	store.down = true
	service = account.New(store, account.Config{Recheck: -1})
	a = NewAccounts(service)
	if got := askLogin(a, "ann", "password"); got != core.LoginPlayerLimitReached {
		t.Errorf("a log-in with a store that is down: %v", got)
	}
	if got := askRegister(a, "cyd", "password"); got != core.RegisterDisabled {
		t.Errorf("a registration with a store that is down: %v", got)
	}
	if service.Trouble() == nil {
		t.Error("there is no trouble")
	}
	service.Close()
	if got := askLogin(a, "ann", "password"); got != core.LoginPlayerLimitReached {
		t.Errorf("a log-in with a service that is closed: %v", got)
	}
	if got := askRegister(a, "cyd", "password"); got != core.RegisterDisabled {
		t.Errorf("a registration with a service that is closed: %v", got)
	}
}

// A room that is not there is answered as an unknown name is, which depends on the configuration.
func TestTheAnswerToAnUnknownRoom(t *testing.T) {
	for hide, want := range map[bool]core.LoginCode{false: core.LoginUnknownPseudo, true: core.LoginWrongPassword} {
		service := account.New(new(storetest.Memory), account.Config{Recheck: -1, HideUnknown: hide})
		a := NewAccounts(service)
		if got, unknown := a.Unknown(), askLogin(a, "nobody", "password"); got != want || unknown != want {
			t.Errorf("hidden %t: %v, and %v for a name", hide, got, unknown)
		}
		service.Close()
	}
}

// Several log-ins of a banned account at once are all told so, and the end of one is not that of the others.
func TestBannedLogInsAtOnce(t *testing.T) {
	service := account.New(new(storetest.Memory), account.Config{Recheck: -1})
	defer service.Close()
	a := NewAccounts(service)
	if got := askRegister(a, "ann", "password"); got != realm.RegisterOK {
		t.Fatal(got)
	}
	done := make(chan account.Answer, 1)
	if err := service.Ban("ann", time.Time{}, "", func(x account.Answer) { done <- x }); err != nil {
		t.Fatal(err)
	}
	patient.Value(done)
	for range 2 {
		if got := askLogin(a, "ann", "password"); got != realm.LoginOK || !a.isBanned("ann") {
			t.Error(got)
		}
	}
	a.Logout("ann")
	if !a.isBanned("ann") {
		t.Error("the second is let in")
	}
	a.Logout("ann")
	if a.isBanned("ann") {
		t.Error("a log-in that is over is remembered")
	}
}
