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
	banned   map[string]int              // log-ins that are to be told so instead of entering
}

// NewAccounts returns the accounts of a service.
func NewAccounts(s *account.Service) *Accounts {
	return &Accounts{service: s, sessions: map[string]*account.Session{}, banned: map[string]int{}}
}

// Key returns the form in which names are compared.
func (a *Accounts) Key(name string) string { return account.NameKey(name) }

// Unknown returns the answer to a log-in by a name that no account has. A room that does not exist or does not admit the
// account is answered alike.
func (a *Accounts) Unknown() core.LoginCode { return loginCodes[a.service.UnknownName()] }

var registerCodes = map[account.Result]core.RegisterCode{
	account.OK: realm.RegisterOK, account.Taken: core.RegisterUsedPseudo, account.BadName: core.RegisterInvalidPseudo,
	account.BadPassword: core.RegisterInvalidPassword, account.Disabled: core.RegisterDisabled, account.TooMany: core.RegisterTooManyTries,
}

// The document has no code for "try again later". These are the answers if the store fails or the service has too much to do:
// the server registers nobody now, and lets nobody in now. "Too many tries" would blame a player who did nothing wrong.
const (
	registerLater = core.RegisterDisabled
	loginLater    = core.LoginPlayerLimitReached
)

// Register makes an account.
func (a *Accounts) Register(from netip.AddrPort, name, password string, answer func(core.RegisterCode)) {
	err := a.service.Register(from.Addr(), name, password, func(r account.Answer) {
		code, ok := registerCodes[r.Result]
		if !ok {
			code = registerLater
		}
		answer(code)
	})
	if err != nil {
		answer(registerLater)
	}
}

var loginCodes = map[account.Result]core.LoginCode{
	account.OK: realm.LoginOK, account.Unknown: core.LoginUnknownPseudo, account.WrongPassword: core.LoginWrongPassword,
	account.TooMany: core.LoginTooManyTries, account.AlreadyIn: core.LoginAlreadyConnected, account.Full: core.LoginPlayerLimitReached,
	account.Banned: realm.LoginOK, // who is banned is told so by exit 5, in place of entering
}

// Login begins a session.
func (a *Accounts) Login(from netip.AddrPort, name, password string, answer func(core.LoginCode)) {
	err := a.service.Login(from.Addr(), name, password, func(r account.Answer) {
		code, ok := loginCodes[r.Result]
		if !ok {
			code = loginLater
		}
		a.mu.Lock()
		switch r.Result {
		case account.OK:
			a.sessions[name] = r.Session
		case account.Banned:
			a.banned[name]++
		}
		a.mu.Unlock()
		answer(code)
	})
	if err != nil {
		answer(loginLater)
	}
}

// Logout ends a session.
func (a *Accounts) Logout(name string) {
	a.mu.Lock()
	session := a.sessions[name]
	delete(a.sessions, name)
	if session == nil { // it was one of the banned
		if a.banned[name]--; a.banned[name] <= 0 {
			delete(a.banned, name)
		}
	}
	a.mu.Unlock()
	if session != nil {
		session.Logout()
	}
}

// isBanned reports whether who logs in by that name is to be told that it is banned.
func (a *Accounts) isBanned(name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.banned[name] > 0
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
