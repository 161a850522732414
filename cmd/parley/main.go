// Command parley is multiplayer networking on the command line: one world,
// five dialects. "parley help" shows what this build can do.
package main

import (
	"os"

	"parley/internal/cli"
)

func main() {
	os.Exit(cli.Run(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
