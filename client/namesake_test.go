package client_test

import (
	"testing"

	"parley/arena"
	"parley/client"
	"parley/test/field"
)

// A player whose name is another's gets a different one. Its own coming is the one that is Own, and not that of its namesake.
func TestANamesakeIsNotOwn(t *testing.T) {
	s := field.Serve(t, arena.Game(), field.Config())
	join(t, url(s, "replica"), client.Config{Name: "ann"})
	for _, dialect := range []string{"replica", "relay", "duplex"} {
		for _, name := range []string{"ann", ""} {
			t.Run(dialect+" "+name, func(t *testing.T) {
				c := join(t, url(s, dialect), client.Config{Name: name})
				own, others := "", 0
				until(t, c, "it is told of its own coming, and of ann", func(f *client.Frame) bool {
					for ev := range f.Events() {
						switch {
						case ev.Kind != client.Here && ev.Kind != client.Joined:
						case !ev.Own:
							others++
						case own != "" && own != ev.Name:
							t.Fatalf("two players are the own one: %q and %q", own, ev.Name)
						default:
							own = ev.Name
						}
					}
					if own == "" || others == 0 || f.Own() == 0 || f.Name(f.Own()) == "" {
						return false
					}
					if want := f.Name(f.Own()); own != want || own == "ann" {
						t.Errorf("the own coming is that of %q, want %q", own, want)
					}
					return true
				})
			})
		}
	}
}
