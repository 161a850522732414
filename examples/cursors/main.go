// Command cursors is a board on which everybody sees everybody's cursor, over the duplex
// dialect: a server, and a client for the terminal.
//
//	go run ./examples/cursors serve [ADDR]       # :7000 if not given
//	go run ./examples/cursors join ADDR NAME     # lines "X Y" of standard input move the cursor
//
// Moves go over the feed (UDP), where only the newest counts and a lost one is not sent
// again. Main (TCP) carries the arrival and departure of players, and the place where
// each cursor came to rest. schema.go has the wire format.
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
		fmt.Fprintln(os.Stderr, "cursors:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "serve":
		return serve(ctx, ":7000", os.Stdout)
	case len(args) == 2 && args[0] == "serve":
		return serve(ctx, args[1], os.Stdout)
	case len(args) == 3 && args[0] == "join":
		return join(ctx, args[1], args[2], os.Stdin, os.Stdout)
	}
	return errors.New("usage: cursors serve [ADDR] | join ADDR NAME")
}
