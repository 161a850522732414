package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley"
	"parley/account/storetest"
	"parley/arena"
	"parley/client"
	"parley/cluster"
	"parley/cluster/clustertest"
	"parley/internal/patient"
)

// addr is where players of a dialect reach the server.
func (s *aServer) addr(dialect string) string {
	_, addr, _ := strings.Cut(s.url(dialect), "://")
	return addr
}

// A server is drained while its players talk: each is at the other server within three seconds, as the player that it was and with the
// body that it had, over an address that it was told, and every line is read once. realm tells no addresses, as a password would go there: its client has
// both from the beginning.
func TestDrain(t *testing.T) {
	for _, dialect := range []string{"replica", "relay", "duplex", "realm"} {
		t.Run(dialect, func(t *testing.T) {
			url, store := clustertest.NATS(t), new(storetest.Memory)
			a, b := serve(t, url, withRealm(store)), serve(t, url, withRealm(store))
			at, others := a.url(dialect), dialect
			if dialect == "realm" {
				at, others = a.login("ann")+","+b.login("ann"), "relay"
			}
			ann := join(t, "ann", at)
			all := []*player{ann}
			for i := range 8 { // so that some line is said whenever she is away
				all = append(all, join(t, fmt.Sprint("bob", i), b.url(others)))
			}
			for _, p := range all {
				patient.Until(t, "all see all", func() bool { others, _, ok := p.look(); return ok && others == len(all)-1 })
			}
			patient.Until(t, "her client has its token", func() bool { _, hold := ann.Session(); return hold > 0 || dialect == "realm" })
			was := idOf(t, b, "ann")
			_, before, _ := ann.look()

			stood := patient.Stood(t)
			drained := make(chan error, 1)
			go func() {
				ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
				defer cancel()
				drained <- a.Drain(ctx, func(over string) []string { return []string{b.addr(dialect)} })
			}()
			lines, enough := 0, 0 // of all
			var gone, back time.Time
			begin := time.Now()
			patient.Until(t, "ann is at the other server", func() bool {
				if at, knows := findAt(t, a, "ann"); gone.IsZero() && knows && !at {
					gone = time.Now()
				}
				if back.IsZero() && isAt(t, b, "ann") {
					back, enough = time.Now(), lines+2*len(all)
				}
				if time.Since(begin) > time.Duration(lines)*30*time.Millisecond && (lines < enough || enough == 0) { // within the rate of a player
					speaker := all[lines%len(all)]
					if err := speaker.Say(fmt.Sprint("line ", lines)); err != nil {
						t.Fatal(err)
					}
					lines++
				}
				for _, p := range all {
					p.look()
				}
				return lines == enough
			})
			if err := patient.Value(drained); err != nil {
				t.Fatal(err)
			}
			for _, p := range all {
				patient.Until(t, p.name+" has read all", func() bool {
					p.look()
					for i := range lines {
						if p.said[fmt.Sprintf("%s: line %d", all[i%len(all)].name, i)] == 0 {
							return false
						}
					}
					return true
				})
				for line, times := range p.said {
					if times != 1 && line != "server: server closing" {
						t.Errorf("%s has read %q %d times", p.name, line, times)
					}
				}
			}
			if is := idOf(t, b, "ann"); is != was {
				t.Errorf("ann was player %d and is %d", was, is)
			}
			if _, now, ok := ann.look(); !ok || now.X != before.X || now.Y != before.Y {
				t.Errorf("her body was at %v, %v and is at %v, %v", before.X, before.Y, now.X, now.Y)
			}
			if away := back.Sub(gone); away > 3*time.Second+stood() {
				t.Errorf("she was away for %v; the longest pause of the machine is %v", away, stood())
			}
			if isAt(t, a, "ann") {
				t.Error("she is at the drained server")
			}
			t.Logf("%d lines; away for %v", lines, back.Sub(gone))
			if _, err := client.Dial(t.Context(), a.url(others), arena.Game(), client.Config{Name: "eve"}); err == nil {
				t.Error("the drained server lets a newcomer in")
			}
		})
	}
}

// isAt reports whether a player is connected to a server.
func isAt(t *testing.T, s *aServer, name string) bool {
	t.Helper()
	at, _ := findAt(t, s, name)
	return at
}

// findAt is isAt, and whether all servers have said who is at them: one that is too busy has not.
func findAt(t *testing.T, s *aServer, name string) (at, knows bool) {
	t.Helper()
	list, err := s.Players()
	if err != nil && !errors.Is(err, parley.ErrSilent) {
		t.Fatal(err)
	}
	return slices.ContainsFunc(list, func(p parley.Player) bool {
		return p.Name == name && !p.Away && p.Node == cluster.NodeName(s.node.ID())
	}), err == nil
}
