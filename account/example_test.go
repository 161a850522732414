package account_test

import (
	"fmt"
	"net/netip"

	"parley/account"
	"parley/account/storetest"
)

// A player registers, logs in, and is told to wait while the account is in.
func Example() {
	accounts := account.New(&storetest.Memory{}, account.Config{}) // in earnest, sqlite.Open or postgres.Open
	defer accounts.Close()
	from := netip.MustParseAddr("192.0.2.1")

	// The calls return at once; a server would hand the answers to the goroutine that owns the connection.
	answers := make(chan account.Answer)
	answer := func(a account.Answer) { answers <- a }

	accounts.Register(from, "Ann", "correct horse", answer)
	fmt.Println("register:", (<-answers).Result)

	accounts.Login(from, "ann", "correct horse", answer)
	in := <-answers
	fmt.Println("log in:", in.Result, in.Account.Name)

	accounts.Login(from, "ANN", "correct horse", answer)
	fmt.Println("again:", (<-answers).Result)

	in.Session.Logout()
	accounts.Login(from, "Ann", "wrong password", answer)
	fmt.Println("guess:", (<-answers).Result)
	// Output:
	// register: ok
	// log in: ok Ann
	// again: already in
	// guess: wrong password
}
