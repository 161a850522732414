package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"parley/account"
	"parley/internal/patient"
	"parley/internal/promise"
)

// pieces are what statements are broken with.
var pieces = []string{
	"'", `"`, "''", "`", ";", "--", "/*", "*/", "$1", "$2", "?", "?1", ":name", "@x", "\\", "\x00", "\n", "%", "_", "(", ")", "{}", "[]",
	"' OR '1'='1", "'; DROP TABLE accounts; --", "Robert'); DELETE FROM accounts;--", "$$", "E'\\''", "\u00a0", "\u202e", "😀", "ﬃ", "\xff", "NULL", "a", "B", "0",
}

// T48: "names with quotes/NUL/`$1` 10^5: no SQL change". There are 10^5 in the gate, and 1,000 in every run, by several
// at once, so that they share transactions.
func testHostile(t *testing.T, s account.Store) {
	const seed, hands = 0x7e57, 64
	t.Logf("seed=%d", seed)
	guard := create(t, s, newRecord("guard"))
	names := promise.Tier(1000, 100_000, 100_000)
	var group sync.WaitGroup
	var kept atomic.Int64
	for hand := range hands {
		rng := rand.New(rand.NewPCG(seed, uint64(hand)))
		group.Go(func() {
			n, err := writeHostile(s, rng, fmt.Sprint("#", hand), max(1, names/hands))
			if err != nil {
				t.Error(err)
			}
			kept.Add(int64(n))
		})
	}
	patient.Done(group.Wait)
	wantFound(t, s, guard)
	if got, want := len(listAll(t, s)), int(kept.Load())+1; got != want {
		t.Errorf("%d accounts, want %d", got, want)
	}
}

// writeHostile makes accounts with names that end alike, and returns how many it has left.
func writeHostile(s account.Store, rng *rand.Rand, end string, names int) (kept int, err error) {
	made := map[string]bool{}
	for range names {
		var b strings.Builder
		for range 1 + rng.IntN(6) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		name := b.String() + end
		r := newRecord(name)
		r.Ban = account.Ban{Since: at(1), Reason: name}
		got, err := s.Create(ctx, r)
		switch {
		case account.CheckText(name) != nil:
			if !errors.Is(err, account.ErrBadText) {
				return kept, fmt.Errorf("create %q: %w", name, err)
			}
			continue
		case made[name]:
			if !errors.Is(err, account.ErrTaken) {
				return kept, fmt.Errorf("create %q again: %w", name, err)
			}
			continue
		case err != nil:
			return kept, fmt.Errorf("create %q: %w", name, err)
		}
		r.ID = got.ID
		if found, err := s.Find(ctx, name); err != nil || !reflect.DeepEqual(found, r) {
			return kept, fmt.Errorf("find %q: got %+v, want %+v: %w", name, found, r, err)
		}
		// Of ten, nine go, so that the table does not grow too long.
		if made[name] = rng.IntN(10) == 0; made[name] {
			kept++
			continue
		}
		if err := s.Delete(ctx, got.ID); err != nil {
			return kept, fmt.Errorf("delete %q: %w", name, err)
		}
		if _, err := s.Find(ctx, name); !errors.Is(err, account.ErrNotFound) {
			return kept, fmt.Errorf("find %q after its end: %w", name, err)
		}
	}
	return kept, nil
}

// listAll returns all accounts but the one with the empty key.
func listAll(t *testing.T, s account.Store) []account.Record {
	t.Helper()
	var all []account.Record
	for after := ""; ; after = all[len(all)-1].Key {
		page, err := s.List(ctx, after, account.MaxList)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page...)
		if len(page) < account.MaxList {
			return all
		}
	}
}
