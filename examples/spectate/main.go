// Command spectate shows a small pond to everyone who looks: a boat, a duck and a frog that
// move, and ripples that come and go. It uses the stamp dialect alone, which is for
// watching: a server sends what there is to see, and clients only acknowledge.
//
//	go run ./examples/spectate serve 127.0.0.1:7000
//	go run ./examples/spectate watch 127.0.0.1:7000       # prints what it sees
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
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "spectate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 2 && args[0] == "serve":
		return serve(ctx, args[1], func(addr string) { fmt.Println("serving on", addr) })
	case len(args) == 2 && args[0] == "watch":
		return watch(ctx, args[1], func(s sight) { fmt.Println(s) })
	}
	return errors.New("usage: spectate serve ADDR | watch ADDR")
}
