package main

import (
	"net/netip"
	"strings"
	"sync"

	"parley/protocol/realm"
	"parley/protocol/realm/core"
)

// accounts are names and passwords in memory. They are a toy: passwords are kept as they are,
// and anybody may try as often as they like.
type accounts struct {
	mu        sync.Mutex
	passwords map[string]string // by name in lower case
	present   map[string]bool
}

func newAccounts() *accounts {
	return &accounts{passwords: map[string]string{}, present: map[string]bool{}}
}

// Register makes an account. It is quick, so it answers at once; one that hashes passwords
// would do so elsewhere and answer later.
func (a *accounts) Register(_ netip.AddrPort, name, password string, answer func(core.RegisterCode)) {
	answer(a.register(strings.ToLower(name), password))
}

func (a *accounts) register(name, password string) core.RegisterCode {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch _, taken := a.passwords[name]; {
	case len(name) < 3 || len(name) > 32 || strings.ContainsFunc(name, notInNames):
		return core.RegisterInvalidPseudo
	case len(password) < 8 || len(password) > 128:
		return core.RegisterInvalidPassword
	case taken:
		return core.RegisterUsedPseudo
	}
	a.passwords[name] = password
	return realm.RegisterOK
}

func notInNames(r rune) bool {
	return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789_-", r)
}

// Login lets a name in once at a time.
func (a *accounts) Login(_ netip.AddrPort, name, password string, answer func(core.LoginCode)) {
	answer(a.login(strings.ToLower(name), password))
}

func (a *accounts) login(name, password string) core.LoginCode {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch right, known := a.passwords[name]; {
	case !known:
		return core.LoginUnknownPseudo
	case right != password:
		return core.LoginWrongPassword
	case a.present[name]:
		return core.LoginAlreadyConnected
	}
	a.present[name] = true
	return realm.LoginOK
}

// Key is the name by which an account is found.
func (a *accounts) Key(name string) string { return strings.ToLower(name) }

// Logout says that a name has left.
func (a *accounts) Logout(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.present, strings.ToLower(name))
}
