// Command parley is multiplayer networking on the command line: one world,
// five dialects. "parley help" shows what this build can do.
package main

import (
	"parley/arena"
	"parley/program"
)

func main() { program.Main(arena.Game()) }
