// Command tictactoe is a game for two over a relay room. The server seats the players and passes on
// what they send to each other; it does not know the rules. Each player has the whole board and
// applies the same moves in the same order, and each move carries a hash of the board after it: if
// the two boards ever differ, both players notice. This is lockstep in its smallest form.
//
//	go run ./examples/tictactoe serve 127.0.0.1:7003
//	go run ./examples/tictactoe play 127.0.0.1:7003    in two other terminals
//
// Squares are numbered 1 to 9, from the top left.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "tictactoe:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 2 && args[0] == "serve":
		return serve(ctx, args[1], os.Stdout)
	case len(args) == 2 && args[0] == "play":
		return playAt(ctx, args[1], os.Stdin, os.Stdout)
	}
	return errors.New("usage: tictactoe serve ADDR | tictactoe play ADDR")
}

// playAt plays one game with a person, who writes squares to in.
func playAt(ctx context.Context, addr string, in io.Reader, out io.Writer) error {
	squares := bufio.NewScanner(in)
	p := &player{
		show: func(b board) { fmt.Fprintln(out, &b) },
		choose: func(b board, me mark) (int, error) {
			for {
				fmt.Fprintf(out, "you are %s, your square: ", me)
				if !squares.Scan() {
					return 0, errors.New("you left the table")
				}
				n, err := strconv.Atoi(strings.TrimSpace(squares.Text()))
				if err == nil {
					err = b.play(n - 1) // on a copy: may it be played?
				}
				if err == nil {
					return n - 1, nil
				}
				fmt.Fprintln(out, err)
			}
		},
	}
	fmt.Fprintln(out, "waiting for the other player")
	winner, err := p.play(ctx, addr)
	switch {
	case err != nil:
		return err
	case winner == nobody:
		fmt.Fprintln(out, "nobody wins")
	case winner == p.mark:
		fmt.Fprintln(out, "you win")
	default:
		fmt.Fprintln(out, "you lose")
	}
	return nil
}
