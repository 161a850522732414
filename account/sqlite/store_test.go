package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/account"
	"parley/account/storetest"
	"parley/internal/patient"
	"parley/internal/promise"
)

func TestMain(m *testing.M) {
	if os.Getenv(victimVariable) != "" {
		runVictim()
		return
	}
	goleak.VerifyTestMain(m)
}

// openAt opens a file, and has the test close it.
func openAt(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func openNew(t testing.TB) *Store {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), FileName))
}

func record(name string) account.Record {
	return account.Record{Account: account.Account{Name: name, Created: time.Now()}, Key: name, Hash: "hash"}
}

func mustCreate(t testing.TB, s *Store, name string) account.Record {
	t.Helper()
	r, err := s.Create(t.Context(), record(name))
	if err != nil {
		t.Fatalf("create %q: %v", name, err)
	}
	return r
}

// T47.
func TestStore(t *testing.T) {
	promise.Keeps(t, "T47", "sqlite", storetest.Sequences())
	storetest.Run(t, func(t *testing.T) account.Store { return openNew(t) })
}

// pragma reads a setting of a connection.
func pragma(t testing.TB, c interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, name string) string {
	t.Helper()
	var v string
	if err := c.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// What durability rests on.
func TestSettings(t *testing.T) {
	s := openNew(t)
	for name, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000"} {
		if got := pragma(t, s.reads, name); got != want {
			t.Errorf("%s of a reader is %s, want %s", name, got, want)
		}
		err := s.writer.do(t.Context(), func(p *pen) error {
			if got := pragma(t, p, name); got != want {
				t.Errorf("%s of the writer is %s, want %s", name, got, want)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if _, err := s.reads.ExecContext(t.Context(), "DELETE FROM accounts"); err == nil {
		t.Error("a reader may write")
	}
}

func TestTheFileIsItsOwnersOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no modes")
	}
	dir := t.TempDir()
	s := openAt(t, filepath.Join(dir, FileName))
	mustCreate(t, s, "ann")
	files, err := os.ReadDir(dir)
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", f.Name(), info.Mode(), err)
		}
	}
}

func TestOddPaths(t *testing.T) {
	names := []string{"a b.db", "50%20.db", "a#b.db", "é.db", "a&_pragma=synchronous(OFF).db"}
	if runtime.GOOS != "windows" {
		names = append(names, "a?b=c.db", `a"b.db`, "a'b.db")
	}
	for _, name := range names {
		path := filepath.Join(t.TempDir(), name)
		s := openAt(t, path)
		mustCreate(t, s, "ann")
		if got := pragma(t, s.reads, "synchronous"); got != "2" {
			t.Errorf("%q: synchronous is %s", name, got)
		}
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%q: the file is %v, %v", name, info, err)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("this is no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(dir, "no", "where.db"), text} {
		if s, err := Open(path); err == nil || !strings.Contains(err.Error(), "account: open "+path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, %v", path, s, err)
		}
	}
}

// Eight open a new file at once, as a server and a command line may. Without several tries in migrate some fail, in most of a few
// rounds.
func TestManyOpenANewFile(t *testing.T) {
	for range 3 {
		manyOpen(t)
	}
}

func manyOpen(t *testing.T) {
	t.Helper()
	path := filepath.Join(t.TempDir(), FileName)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			s, err := open(path, time.Minute) // eight times what a slow disk takes may be more than what a server waits
			if err == nil {
				_, err = s.Create(context.Background(), record(fmt.Sprint("player", i)))
				err = errors.Join(err, s.Close())
			}
			if err != nil {
				t.Errorf("number %d: %v", i, err)
			}
		})
	}
	patient.Done(group.Wait)
	if all, err := openAt(t, path).List(t.Context(), "", 100); err != nil || len(all) != 8 {
		t.Errorf("%d accounts, %v", len(all), err)
	}
}

// What one process wrote, another that had the file open before can read.
func TestTwoStoresOfOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	one, two := openAt(t, path), openAt(t, path)
	for i := range 20 {
		name := fmt.Sprint("player", i)
		mustCreate(t, one, name)
		if _, err := two.Create(t.Context(), record(name)); !errors.Is(err, account.ErrTaken) {
			t.Fatalf("create again: %v", err)
		}
		if r, err := two.Find(t.Context(), name); err != nil || r.Name != name {
			t.Fatalf("find: %+v, %v", r, err)
		}
		one, two = two, one
	}
}

func TestNothingIsLostOverARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	var last account.ID
	for i := range 5 {
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for j := range i {
			if _, err := s.Find(t.Context(), fmt.Sprint("player", j)); err != nil {
				t.Errorf("restart %d: player%d: %v", i, j, err)
			}
		}
		r := mustCreate(t, s, fmt.Sprint("player", i))
		if r.ID <= last {
			t.Errorf("the number %d came after %d", r.ID, last)
		}
		last = r.ID
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path + "-wal"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the log was not tidied away: %v", err)
		}
	}
}

// A server asks about all of its sessions again and again: what that allocates does not depend on how many are in, if none is to go.
func TestAskingWhoIsOustedReadsNoAccount(t *testing.T) {
	s := openNew(t)
	var ids []account.ID
	for i := range 200 {
		ids = append(ids, mustCreate(t, s, fmt.Sprintf("player-%d", i)).ID)
	}
	now := time.Now()
	ask := func(ids []account.ID) float64 {
		return testing.AllocsPerRun(10, func() {
			if banned, deleted, err := s.Ousted(t.Context(), ids, now); err != nil || len(banned)+len(deleted) > 0 {
				t.Fatalf("banned %v and deleted %v, %v", banned, deleted, err)
			}
		})
	}
	few, many := ask(ids[:10]), ask(ids)
	t.Logf("%v allocations for 10, %v for %d", few, many, len(ids))
	if many > few+10 { // the text of the question grows
		t.Errorf("%v allocations to ask about 10, %v about %d", few, many, len(ids))
	}
}
