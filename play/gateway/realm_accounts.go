package gateway

import (
	"net/netip"
	"sync"

	"parley/account"
	"parley/protocol/realm"
	"parley/protocol/realm/core"
)

// Accounts logs realm's players in with the accounts of a Service.
type Accounts struct {
	service *account.Service

	mu       sync.Mutex
	sessions map[string]*account.Session // by the name of the log-in
	banned   map[string]bool             // who is to be told so instead of entering
}

// NewAccounts returns the accounts of a service.
func NewAccounts(s *account.Service) *Accounts {
	return &Accounts{service: s, sessions: map[string]*account.Session{}, banned: map[string]bool{}}
}

var registerCodes = map[account.Result]core.RegisterCode{
	account.OK: realm.RegisterOK, account.Taken: core.RegisterUsedPseudo, account.BadName: core.RegisterInvalidPseudo,
	account.BadPassword: core.RegisterInvalidPassword, account.Disabled: core.RegisterDisabled,
}

// Register makes an account.
func (a *Accounts) Register(from netip.AddrPort, name, password string, answer func(core.RegisterCode)) {
	err := a.service.Register(from.Addr(), name, password, func(r account.Answer) {
		code, ok := registerCodes[r.Result]
		if !ok { // too many tries, too busy, or the store failed: later
			code = core.RegisterTooManyTries
		}
		answer(code)
	})
	if err != nil {
		answer(core.RegisterTooManyTries)
	}
}

var loginCodes = map[account.Result]core.LoginCode{
	account.OK: realm.LoginOK, account.Unknown: core.LoginUnknownPseudo, account.WrongPassword: core.LoginWrongPassword,
	account.AlreadyIn: core.LoginAlreadyConnected, account.Full: core.LoginPlayerLimitReached,
	account.Banned: realm.LoginOK, // who is banned is told so by exit 5, in place of entering
}

// Login begins a session.
func (a *Accounts) Login(from netip.AddrPort, name, password string, answer func(core.LoginCode)) {
	err := a.service.Login(from.Addr(), name, password, func(r account.Answer) {
		code, ok := loginCodes[r.Result]
		if !ok {
			code = core.LoginTooManyTries
		}
		a.mu.Lock()
		switch r.Result {
		case account.OK:
			a.sessions[name] = r.Session
		case account.Banned:
			a.banned[name] = true
		}
		a.mu.Unlock()
		answer(code)
	})
	if err != nil {
		answer(core.LoginTooManyTries)
	}
}

// Logout ends a session.
func (a *Accounts) Logout(name string) {
	a.mu.Lock()
	session := a.sessions[name]
	delete(a.sessions, name)
	delete(a.banned, name)
	a.mu.Unlock()
	if session != nil {
		session.Logout()
	}
}

// isBanned reports whether who logs in by that name is to be told that it is banned.
func (a *Accounts) isBanned(name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.banned[name]
}

// nameOf returns by which name a session was begun.
func (a *Accounts) nameOf(s *account.Session) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, x := range a.sessions {
		if x == s {
			return name
		}
	}
	return ""
}
