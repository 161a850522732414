// Command tavern is a room with accounts over the realm dialect: guests register once, log in
// and talk.
//
//	go run ./examples/tavern serve [ADDR]                       # :7000 if not given
//	go run ./examples/tavern register ADDR PRINT NAME PASSWORD
//	go run ./examples/tavern join ADDR PRINT NAME PASSWORD      # says the lines of standard input
//
// serve prints PRINT, the fingerprint of its certificate, by which guests recognise the
// server. It keeps the certificate in the directory tavern-data. Accounts are kept in memory
// here, without any limits. A real server uses package account.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "tavern:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "serve":
		return serve(ctx, ":7000", "tavern-data", os.Stdout)
	case len(args) == 2 && args[0] == "serve":
		return serve(ctx, args[1], "tavern-data", os.Stdout)
	case len(args) == 5 && args[0] == "register":
		return register(ctx, guest{args[1], args[2], args[3], args[4]}, os.Stdout)
	case len(args) == 5 && args[0] == "join":
		return join(ctx, guest{args[1], args[2], args[3], args[4]}, os.Stdin, os.Stdout)
	}
	return errors.New("usage: tavern serve [ADDR] | register ADDR PRINT NAME PASSWORD | join ADDR PRINT NAME PASSWORD")
}
