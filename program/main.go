package program

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"

	"parley/arena"
	"parley/world"
)

// Main is the whole program of a game: it runs the command line of this process, and exits with its status.
func Main(g world.Game) {
	a := &app{name: calledAs(os.Args), game: g, codecs: builtIn()}
	os.Exit(a.run(os.Args[1:], streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

// app is the program of one game.
type app struct {
	name   string // as it was called, for what it says of itself
	game   world.Game
	codecs []codec

	authorities *x509.CertPool // that vouch for servers. nil: the system's
}

// calledAs returns the name by which a user calls the program again.
func calledAs(args []string) string {
	if len(args) == 0 || args[0] == "" {
		return "parley"
	}
	return strings.TrimSuffix(filepath.Base(args[0]), ".exe")
}

// title is the game in a sentence.
func (a *app) title() string {
	switch {
	case a.isArena():
		return "the arena"
	case a.game.Name == "":
		return "the game"
	}
	return a.game.Name
}

// isArena reports whether the game is the arena. That is the one game of which this package knows more than the game itself says:
// there are clients of realm that were made for it (profile.go).
func (a *app) isArena() bool {
	schema, err := a.game.Schema()
	ours, _ := arena.Game().Schema()
	return err == nil && schema.Fingerprint() == ours.Fingerprint() // the name of the game is in it
}

// hasBodies reports whether anything in the game is somewhere.
func (a *app) hasBodies() bool {
	schema, err := a.game.Schema()
	if err != nil {
		return false
	}
	for _, k := range schema.Kinds {
		if k.HasBody {
			return true
		}
	}
	return false
}
