// Command flags is capture the flag, in a terminal: server and client in one program.
//
//	go run ./examples/flags serve                                 # all flags of parley serve
//	go run ./examples/flags play replica://127.0.0.1:7000 ann     # arrows or wasd run, space tags, q leaves
//
// game.go has the rules, which server and client both run, and play.go what a player sees.
package main

import (
	"fmt"
	"os"

	"parley/program"
)

func main() {
	if len(os.Args) != 4 || os.Args[1] != "play" {
		program.Main(game)
	}
	if err := play(os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "flags:", err)
		os.Exit(1)
	}
}
