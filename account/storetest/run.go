package storetest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"parley/account"
	"parley/internal/promise"
)

// Run tests a store against the promises of account.Store. Each test calls open, which returns an
// empty store and has t close it.
func Run(t *testing.T, open func(t *testing.T) account.Store) {
	for _, tt := range []struct {
		name string
		test func(*testing.T, account.Store)
	}{
		{"an account is found as it was made", testFind},
		{"a key belongs to one account", testTaken},
		{"a number is given once", testNumbers},
		{"names that fold alike are one", testFolding},
		{"a password is replaced", testPassword},
		{"a ban is set and lifted", testBan},
		{"the newest addresses are known", testKnown},
		{"old addresses are forgotten", testForget},
		{"what is deleted is gone", testDelete},
		{"what is not there is not found", testMissing},
		{"accounts are listed by key", testList},
		{"banned and deleted accounts are ousted", testOusted},
		{"text that cannot be kept is refused", testBadText},
		{"hostile names are only names", testHostile},
		{"64 writers at once", testWriters},
		{"one of many gets a name", testRace},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, open(t)) })
	}
	t.Run("random calls are answered as by the model", func(t *testing.T) { testModel(t, open) })
}

// Sequences returns how many random sequences of calls are compared with the model.
func Sequences() int { return promise.Tier(100, 10_000, 10_000) }

var (
	ctx   = context.Background()
	start = time.Date(2030, 1, 2, 3, 4, 5, 678_901_000, time.UTC)
)

// at is a time that every store can keep.
func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func newRecord(name string) account.Record {
	return account.Record{Account: account.Account{Name: name, Created: start}, Key: name, Hash: "hash of " + name}
}

func create(t *testing.T, s account.Store, r account.Record) account.Record {
	t.Helper()
	made, err := s.Create(ctx, r)
	if err != nil {
		t.Fatalf("create %q: %v", r.Name, err)
	}
	return made
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
}

func wantFound(t *testing.T, s account.Store, want account.Record) {
	t.Helper()
	got, err := s.Find(ctx, want.Key)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("find %q: got %+v, %v\nwant %+v", want.Key, got, err, want)
	}
}

func testFind(t *testing.T, s account.Store) {
	full := newRecord("Ann")
	full.Key, full.LastLogin = "ann", at(5)
	full.Ban = account.Ban{Since: at(6), Until: at(7), Reason: "for 'fun' \n€"}
	for _, r := range []account.Record{newRecord("bob"), full} {
		made := create(t, s, r)
		r.ID = made.ID
		if !reflect.DeepEqual(made, r) || made.ID <= 0 {
			t.Errorf("made %+v\nof   %+v", made, r)
		}
		wantFound(t, s, made)
	}
	_, err := s.Find(ctx, "Ann")
	wantErr(t, "a key in another case", err, account.ErrNotFound)

	odd := newRecord("clara")
	odd.Created = start.Add(999 * time.Nanosecond).In(time.FixedZone("", 3600))
	made := create(t, s, odd)
	if made.Created != start {
		t.Errorf("%v became %v", odd.Created, made.Created)
	}
	wantFound(t, s, made)
}

func testTaken(t *testing.T, s account.Store) {
	ann := create(t, s, newRecord("ann"))
	other := newRecord("ann")
	other.Name, other.Hash = "Ann", "other"
	_, err := s.Create(ctx, other)
	wantErr(t, "create again", err, account.ErrTaken)
	wantFound(t, s, ann)
	if err := s.Delete(ctx, ann.ID); err != nil {
		t.Fatal(err)
	}
	wantFound(t, s, create(t, s, other))
}

func testNumbers(t *testing.T, s account.Store) {
	seen := map[account.ID]bool{}
	for i := range 20 {
		r := create(t, s, newRecord(fmt.Sprint("player", i%3)))
		if seen[r.ID] {
			t.Fatalf("the number %d was given again", r.ID)
		}
		seen[r.ID] = true
		if err := s.Delete(ctx, r.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// T47: "name folding (case, NFKC) unique".
func testFolding(t *testing.T, s account.Store) {
	for _, alike := range [][]string{
		{"Straße", "STRASSE", "strasse"},
		{"ann", "ANN", "Ａｎｎ"},
		{"éloïse", "E\u0301LOI\u0308SE"},
		{"ΣΊΣΥΦΟΣ", "σίσυφος", "σίσυφοσ"},
		{"oﬃce", "OFFICE"},
		{"ѪЖДЯ_1", "ѫждя_1"},
	} {
		for i, text := range alike {
			n, err := account.ParseName(text)
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			r := newRecord(n.Shown)
			r.Key = n.Key
			_, err = s.Create(ctx, r)
			if i == 0 && err != nil || i > 0 && !errors.Is(err, account.ErrTaken) {
				t.Errorf("create %q as number %d of %q: %v", text, i+1, alike, err)
			}
			if got, err := s.Find(ctx, n.Key); err != nil || got.Key != n.Key {
				t.Errorf("find %q: %+v, %v", text, got, err)
			}
		}
	}
}

func testPassword(t *testing.T, s account.Store) {
	ann, bob := create(t, s, newRecord("ann")), create(t, s, newRecord("bob"))
	for _, hash := range []string{"new", "$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$a2V5", ""} {
		if err := s.SetPassword(ctx, ann.ID, hash); err != nil {
			t.Fatal(err)
		}
		ann.Hash = hash
		wantFound(t, s, ann)
	}
	wantFound(t, s, bob)
}

func testBan(t *testing.T, s account.Store) {
	ann, bob := create(t, s, newRecord("ann")), create(t, s, newRecord("bob"))
	for _, b := range []account.Ban{
		{Since: at(1), Until: at(2), Reason: "rude"},
		{Since: at(3)},
		{Since: at(3), Until: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)},
		{},
	} {
		if err := s.SetBan(ctx, ann.ID, b); err != nil {
			t.Fatal(err)
		}
		ann.Ban = b
		wantFound(t, s, ann)
	}
	if err := s.SetBan(ctx, ann.ID, account.Ban{Reason: "of no ban", Until: at(9)}); err != nil {
		t.Fatal(err)
	}
	wantFound(t, s, ann)
	wantFound(t, s, bob)
}

// place is one of many addresses.
func place(n int) netip.Prefix {
	return account.Source(netip.AddrFrom4([4]byte{192, 0, byte(n >> 8), byte(n)}))
}

func enter(t *testing.T, s account.Store, id account.ID, v account.Visit) {
	t.Helper()
	if err := s.Enter(ctx, id, v); err != nil {
		t.Fatalf("enter: %v", err)
	}
}

func wantKnown(t *testing.T, s account.Store, id account.ID, from netip.Prefix, want time.Time) {
	t.Helper()
	if got, err := s.Known(ctx, id, from); err != nil || got != want {
		t.Errorf("%d was known from %v at %v, %v; want %v", id, from, got, err, want)
	}
}

func testKnown(t *testing.T, s account.Store) {
	ann, bob := create(t, s, newRecord("ann")), create(t, s, newRecord("bob"))
	for i := range account.MaxKnown + 4 {
		enter(t, s, ann.ID, account.Visit{At: at(i), From: place(i)})
	}
	enter(t, s, ann.ID, account.Visit{At: at(100), From: place(5)})
	enter(t, s, ann.ID, account.Visit{At: at(101)})
	six := netip.MustParsePrefix("2001:db8:0:ff00::/56")
	enter(t, s, bob.ID, account.Visit{At: at(50), From: six})
	for i := range account.MaxKnown + 4 {
		want := at(i)
		switch {
		case i == 5:
			want = at(100)
		case i < 4:
			want = time.Time{}
		}
		wantKnown(t, s, ann.ID, place(i), want)
	}
	wantKnown(t, s, bob.ID, six, at(50))
	wantKnown(t, s, bob.ID, place(5), time.Time{})
	ann.LastLogin, bob.LastLogin = at(101), at(50)
	wantFound(t, s, ann)
	wantFound(t, s, bob)

	if err := s.SetPassword(ctx, ann.ID, ann.Hash); err != nil {
		t.Fatal(err)
	}
	wantKnown(t, s, ann.ID, place(5), time.Time{})
	wantKnown(t, s, bob.ID, six, at(50))
}

func testForget(t *testing.T, s account.Store) {
	ann, bob := create(t, s, newRecord("ann")), create(t, s, newRecord("bob"))
	enter(t, s, ann.ID, account.Visit{At: at(0), From: place(1)})
	enter(t, s, ann.ID, account.Visit{At: at(10), From: place(2)})
	enter(t, s, bob.ID, account.Visit{At: at(20), From: place(1), Forget: at(10)})
	wantKnown(t, s, ann.ID, place(1), time.Time{})
	wantKnown(t, s, ann.ID, place(2), at(10))
	wantKnown(t, s, bob.ID, place(1), at(20))
}

func testDelete(t *testing.T, s account.Store) {
	ann, bob := create(t, s, newRecord("ann")), create(t, s, newRecord("bob"))
	enter(t, s, ann.ID, account.Visit{At: at(0), From: place(1)})
	if err := s.Delete(ctx, ann.ID); err != nil {
		t.Fatal(err)
	}
	_, err := s.Find(ctx, ann.Key)
	wantErr(t, "find", err, account.ErrNotFound)
	wantKnown(t, s, ann.ID, place(1), time.Time{})
	wantErr(t, "delete again", s.Delete(ctx, ann.ID), account.ErrNotFound)
	wantFound(t, s, bob)
}

func testMissing(t *testing.T, s account.Store) {
	bob := create(t, s, newRecord("bob"))
	for _, id := range []account.ID{0, -1, bob.ID + 1, 1 << 62} {
		wantErr(t, "set password", s.SetPassword(ctx, id, "x"), account.ErrNotFound)
		wantErr(t, "set ban", s.SetBan(ctx, id, account.Ban{Since: at(0)}), account.ErrNotFound)
		wantErr(t, "enter", s.Enter(ctx, id, account.Visit{At: at(0), From: place(1)}), account.ErrNotFound)
		wantErr(t, "delete", s.Delete(ctx, id), account.ErrNotFound)
		wantKnown(t, s, id, place(1), time.Time{})
	}
	wantFound(t, s, bob)
}

func testList(t *testing.T, s account.Store) {
	keys := []string{"", "-b", "10", "9", "Z", "_", "a", "aa", "b", "é", "ж", "𝒳"}
	for _, i := range []int{4, 11, 0, 3, 7, 9, 1, 10, 2, 5, 6, 8} {
		create(t, s, newRecord(keys[i]))
	}
	for _, limit := range []int{1, 5, 100, account.MaxList + 1} {
		got := []string{""} // comes after no key, so it is never listed
		for after := ""; ; after = got[len(got)-1] {
			page, err := s.List(ctx, after, limit)
			if err != nil || len(page) > limit {
				t.Fatalf("list after %q: %d accounts, %v", after, len(page), err)
			}
			for _, r := range page {
				got = append(got, r.Key)
			}
			if len(page) < limit {
				break
			}
		}
		if !slices.Equal(got, keys) {
			t.Errorf("by %d: %q, want %q", limit, got, keys)
		}
	}
	for _, limit := range []int{0, -1} {
		if page, err := s.List(ctx, "", limit); err != nil || len(page) != 0 {
			t.Errorf("list of %d: %d accounts, %v", limit, len(page), err)
		}
	}
}

func testOusted(t *testing.T, s account.Store) {
	ann, bob, clara := newRecord("ann"), newRecord("bob"), newRecord("clara")
	bob.Ban = account.Ban{Since: at(1), Until: at(5), Reason: "for a while"}
	clara.Ban = account.Ban{Since: at(1)}
	ann, bob, clara = create(t, s, ann), create(t, s, bob), create(t, s, clara)
	ids := []account.ID{clara.ID, 1 << 40, bob.ID, ann.ID, bob.ID, 0}
	for _, tt := range []struct {
		now    time.Time
		banned []account.ID
	}{
		{at(5).Add(-1), []account.ID{bob.ID, clara.ID}},
		{at(5), []account.ID{clara.ID}},
	} {
		banned, deleted, err := s.Ousted(ctx, ids, tt.now)
		if want := []account.ID{0, 1 << 40}; err != nil || !slices.Equal(banned, tt.banned) || !slices.Equal(deleted, want) {
			t.Errorf("at %v banned %v and deleted %v, %v; want %v and %v", tt.now, banned, deleted, err, tt.banned, want)
		}
	}
	if banned, deleted, err := s.Ousted(ctx, nil, at(5)); err != nil || len(banned)+len(deleted) != 0 {
		t.Errorf("of none: %v, %v, %v", banned, deleted, err)
	}
}

func testBadText(t *testing.T, s account.Store) {
	ann := create(t, s, newRecord("ann"))
	for _, bad := range []string{"a\x00b", "\x00", "\xff", "a\xc3", "\xed\xa0\x80"} {
		for i := range 4 {
			r := newRecord("bob")
			*[]*string{&r.Name, &r.Key, &r.Hash, &r.Ban.Reason}[i] = bad
			_, err := s.Create(ctx, r)
			wantErr(t, "create", err, account.ErrBadText)
		}
		_, err := s.Find(ctx, bad)
		wantErr(t, "find", err, account.ErrNotFound)
		_, err = s.List(ctx, bad, 10)
		wantErr(t, "list", err, account.ErrBadText)
		wantErr(t, "set password", s.SetPassword(ctx, ann.ID, bad), account.ErrBadText)
		wantErr(t, "set ban", s.SetBan(ctx, ann.ID, account.Ban{Since: at(0), Reason: bad}), account.ErrBadText)
	}
	wantFound(t, s, ann)
}
