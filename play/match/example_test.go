package match_test

import (
	"fmt"
	"time"

	"parley/play/match"
)

// Three players wait, two of them for the same.
func Example() {
	now := time.Unix(0, 0)
	q := match.New(match.Config{})
	names := map[match.ID]string{}
	for _, who := range []struct{ name, mode string }{{"ann", "duel"}, {"ben", "race"}, {"cat", "duel"}} {
		id, err := q.Join(now, match.Wish{Mode: who.mode, Players: 2})
		if err != nil {
			panic(err)
		}
		names[id] = who.name
	}
	for g, ok := q.Take(); ok; g, ok = q.Take() {
		if q.Settle(g) { // the room is open
			fmt.Println(g.Mode+":", names[g.IDs[0]], "and", names[g.IDs[1]])
		}
	}
	q.HandleTimeout(now.Add(30 * time.Second))
	for id, ok := q.PollExpired(); ok; id, ok = q.PollExpired() {
		fmt.Println(names[id], "found nobody")
	}
	// Output:
	// duel: ann and cat
	// ben found nobody
}
