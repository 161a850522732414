package cluster

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"parley/internal/kit/chance"
	"parley/internal/promise"
)

// T54: "10^6 names with . * > space NUL UTF-8: subject stays in its prefix". Each name is one token of a subject and a key, and is found
// again.
func TestNames(t *testing.T) {
	seed := chance.Seed(t, 54)
	r := rand.New(rand.NewPCG(seed, 0))
	pieces := []string{".", "*", ">", " ", "\x00", "é", "世界", "$KV", "..", "\r\n", "=", "=2E", "_", "-", "/", "\\", "\t", "\xff", "a", "Room7", "parley.log.0.main", "\u202e"}
	for range promise.Keeps(t, "T54", "cluster", promise.Tier(20_000, 1_000_000, 5_000_000)) {
		var b strings.Builder
		for range 1 + r.IntN(6) {
			if r.IntN(4) == 0 {
				b.WriteByte(byte(r.Uint32()))
			} else {
				b.WriteString(pieces[r.IntN(len(pieces))])
			}
		}
		name := b.String()
		got, err := token(name)
		if err != nil {
			t.Fatalf("%q: %v, seed=%d", name, err, seed)
		}
		subject := "parley.log.0." + got
		if !server.IsValidLiteralSubject(subject) || strings.Count(subject, ".") != 3 || strings.ContainsAny(subject, " \t\r\n\x00*>") {
			t.Fatalf("%q becomes subject %q, seed=%d", name, subject, seed)
		}
		if back := nameOf(got); back != name {
			t.Fatalf("%q becomes %q becomes %q, seed=%d", name, got, back, seed)
		}
		if of := nameOf(name); of != "" { // it looks like a token
			if again, err := token(of); err != nil || again != name {
				t.Fatalf("%q is the token of %q, whose token is %q, seed=%d", name, of, again, seed)
			}
		}
	}
}

func TestNamesThatAreNone(t *testing.T) {
	for _, name := range []string{"", strings.Repeat("a", maxName+1)} {
		if got, err := token(name); err == nil {
			t.Errorf("%q becomes %q", name, got)
		}
	}
	for _, token := range []string{"a.b", "=", "=2", "=2e", "=61", "*", ">", "a b", "é"} {
		if got := nameOf(token); got != "" {
			t.Errorf("%q is the token of %q", token, got)
		}
	}
}
