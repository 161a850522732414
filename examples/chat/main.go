// Command chat is a chat room over the replica dialect: a server, and a client
// for the terminal.
//
//	go run ./examples/chat serve [ADDR]        # :7000 if not given
//	go run ./examples/chat join ADDR NAME      # says the lines of standard input
//
// The wire carries named messages, all of them ordered:
//
//	client: name    the name, once, first
//	client: chat    text
//	server: chat    name size u8, name, text
//	server: note    text: who came and who left
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
		fmt.Fprintln(os.Stderr, "chat:", err)
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
	return errors.New("usage: chat serve [ADDR] | join ADDR NAME")
}
