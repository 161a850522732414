package storetest

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"parley/account"
)

// pieces are what statements are broken with.
var pieces = []string{
	"'", `"`, "''", "`", ";", "--", "/*", "*/", "$1", "$2", "?", "?1", ":name", "@x", "\\", "\x00", "\n", "%", "_", "(", ")", "{}", "[]",
	"' OR '1'='1", "'; DROP TABLE accounts; --", "Robert'); DELETE FROM accounts;--", "$$", "E'\\''", "\u00a0", "\u202e", "😀", "ﬃ", "\xff", "NULL", "a", "B", "0",
}

// T48: "names with quotes/NUL/`$1` 10^5: no SQL change".
func testHostile(t *testing.T, s account.Store) {
	const seed = 0x7e57
	t.Logf("seed=%d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	guard := create(t, s, newRecord("guard"))
	made := map[string]bool{guard.Key: true}
	for range count(1000, 100_000) {
		var b strings.Builder
		for range 1 + rng.IntN(6) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		name := b.String()
		r := newRecord(name)
		r.Ban = account.Ban{Since: at(1), Reason: name}
		got, err := s.Create(ctx, r)
		switch {
		case account.CheckText(name) != nil:
			wantErr(t, "create", err, account.ErrBadText)
			continue
		case made[name]:
			wantErr(t, "create again", err, account.ErrTaken)
			continue
		case err != nil:
			t.Fatalf("create %q: %v", name, err)
		}
		r.ID = got.ID
		wantFound(t, s, r)
		// Half of them go, so that the table does not grow too long.
		if made[name] = rng.IntN(2) == 0; !made[name] {
			if err := s.Delete(ctx, got.ID); err != nil {
				t.Fatalf("delete %q: %v", name, err)
			}
			if _, err := s.Find(ctx, name); !errors.Is(err, account.ErrNotFound) {
				t.Fatalf("find %q after its end: %v", name, err)
			}
		}
		if t.Failed() {
			return
		}
	}
	wantFound(t, s, guard)
	want := 0
	for _, there := range made {
		if there {
			want++
		}
	}
	if got := len(listAll(t, s)); got != want {
		t.Errorf("%d accounts, want %d", got, want)
	}
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
