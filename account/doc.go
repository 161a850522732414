// Package account registers players, lets them in once each, and keeps out those who should not get in: accounts,
// passwords, sessions, bans and throttles. docs/accounts.md tells operators of it.
//
// # Usage
//
//	store, err := sqlite.Open("accounts.db") // or postgres.Open
//	…
//	accounts := account.New(store, account.Config{})
//	err = accounts.Login(from, name, password, func(a account.Answer) {
//		// Some time later, in a goroutine of the Service: hand it to the one that owns the connection.
//		if a.Result == account.OK {
//			defer a.Session.Logout()
//			fmt.Println("welcome,", a.Account.Name)
//		}
//	})
//	// err is nil, or the callback will not be called.
//
// # Life of a log-in
//
//	login.go     Login: name.go folds the name, what cannot be right is answered, the rest queues
//	lane.go      the queues: addresses take turns, the greediest loses when there is no room
//	login.go     a reader finds the account in the store, and whether it is known from this address
//	throttle.go  may it be tried? counts by name and by address, of bounded size
//	password.go  a hasher spends 19 MiB and 35 ms, also if there is no such account
//	session.go   the account's only place, and what ends a session
//	store.go     the log-in is put on record
//	service.go   the teller calls back, in order
//
// Registering takes the same way (register.go); what only the operator may is in operator.go. Package sqlite and
// package postgres are stores, package storetest has their tests and one in memory.
//
// # Never in the tick's way
//
// A call takes a lock that is never held for long, and returns. Store and hashes are the work of a few
// goroutines: as many hash at once as Config.HashAtOnce says, half of the cores by default, so that the other half stays for
// the game. What waits is bounded, and so is what is unanswered.
//
// # Limits
//
// See limits.go, where each says which attack it stops. The throttles take up to 12 MiB if 16,384
// names and as many addresses have failed within one minute (TestThrottleIsBounded).
//
// # Security
//
// A log-in costs one hash whether the name exists or not, and whether the account is banned or has no
// password, so neither time nor the result (with Config.HideUnknown) tells names apart. That an account is
// banned, or in already, is told to who knows its password only. Tries under way count as failures until they
// are not, so a thousand at once get no further than five in a row. Who guesses at a name from many addresses
// locks out other strangers for a minute, not the owner: an address that entered within 30 days is not held
// to the name's count, and has a queue of its own.
//
// # What it does not do
//
// Register does tell which names are taken; it allows three tries a minute. Names that look alike in two
// scripts are two names. Passwords are bytes and not normalised. One session an account is kept by
// one Service, in memory: servers that share a database each have their own. Nothing here encrypts: passwords come over
// whatever the dialect has, and realm has TLS.
package account
