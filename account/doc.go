// Package account registers players and logs them in: accounts, passwords, sessions, bans and throttles. An account has one
// session at a time. docs/accounts.md is the page for operators.
//
// # Usage
//
//	store, err := sqlite.Open("accounts.db") // or postgres.Open
//	…
//	accounts := account.New(store, account.Config{})
//	err = accounts.Login(from, name, password, func(a account.Answer) {
//		// Some time later, in a goroutine of the Service: hand it to the goroutine that owns the connection.
//		if a.Result == account.OK {
//			defer a.Session.Logout()
//			fmt.Println("welcome,", a.Account.Name)
//		}
//	})
//	// If err is not nil, the callback is never called.
//
// # Life of a log-in
//
//	login.go     Login: name.go folds the name; an invalid request is answered, a valid one is queued
//	lane.go      the queues: addresses take turns; when a queue is full, the address with the most requests loses one
//	login.go     a reader finds the account in the store, and whether it is known from this address
//	throttle.go  is the attempt allowed? counts by name and by address, of bounded size
//	password.go  a hasher spends 19 MiB and 35 ms, even if the account does not exist
//	session.go   the account's only session, and what ends it
//	store.go     the log-in is recorded
//	trouble.go   what the store answers is noted: for the log, and for Trouble
//	service.go   one goroutine, the teller, calls back, in order
//
// Registration takes the same path (register.go). Operations for operators only are in operator.go. Packages sqlite and
// postgres are stores. Package storetest has their tests and a store in memory.
//
// # It does not delay the tick
//
// A call takes a lock that is held only briefly, and returns. A few goroutines of the Service use the store and hash
// passwords. Config.HashAtOnce bounds the hashes at one time, by default to half of the cores, so that the other half is
// free for the game. Waiting and unanswered requests are bounded.
//
// # Limits
//
// See limits.go, which names the attack that each limit stops. The throttles take up to 12 MiB if 16,384 names and as many
// addresses have failed within one minute (TestThrottleIsBounded).
//
// # Security
//
// A log-in costs one hash whether or not the name exists, the account is banned, or it has a password. So neither the time
// nor (with Config.HideUnknown) the result reveals which names exist. Only a client with the right password learns that an
// account is banned or already logged in. Attempts under way count as failures until they succeed, so a thousand at once
// get no further than five in a row. An attacker who guesses a name's password from many addresses locks out other unknown
// addresses for a minute, but not the owner: an address that logged in to the name within 30 days is exempt from the
// name's count. Known addresses have a queue of their own.
//
// # What it does not do
//
// Register reveals which names are taken; it allows three attempts a minute. Names that look alike in two scripts are two
// names. Passwords are bytes and are not normalised. A Service allows each account one session, and keeps sessions in
// memory: servers that share a database do not know of each other's sessions. This package does not encrypt: passwords
// arrive over the connection of realm, which uses TLS unless it is turned off.
package account
