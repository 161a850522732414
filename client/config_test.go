package client

import (
	"strings"
	"testing"

	"parley/arena"
)

// An address that is none is told what to write, and its password is not repeated.
func TestWhatIsNoAddress(t *testing.T) {
	for address, want := range map[string]string{
		"":                                  "is no address: write one such as",
		"127.0.0.1:7000":                    "is no address: write one such as",
		"replica://":                        "is no address: write one such as",
		"replica://127.0.0.1/duel":          "has a path: leave out /duel; Config.Room says which room",
		"replica://::1":                     "without brackets",
		"relay://2001:db8::7:7000":          "without brackets",
		"realm://ann:secret@127.0.0.1/duel": "…@127.0.0.1/duel",
	} {
		var c Config
		_, err := c.line(address, arena.Game(), nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want %q", address, err, want)
		}
	}
	for _, address := range []string{"replica://127.0.0.1", "replica://[::1]", "relay://[2001:db8::7]:7000/", "realm://ann:secret@[::1]:9999"} {
		var c Config
		if l, err := c.line(address, arena.Game(), nil); err != nil || len(l.Ways) != 1 {
			t.Errorf("%q: %v", address, err)
		}
	}
}
