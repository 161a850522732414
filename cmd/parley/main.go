// Command parley is multiplayer networking on the command line: one world,
// five dialects. "parley help" shows what this build can do.
package main

import (
	"os"

	"parley/program"
)

func main() {
	os.Exit(program.Run(os.Args[1:], program.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
