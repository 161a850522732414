package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/account"
	"parley/internal/patient"
	"parley/internal/promise"
)

// stopWriter has the writer wait inside a transaction until the function that it returns is called.
func stopWriter(t *testing.T, s *Store) (release func()) {
	t.Helper()
	inside, leave := make(chan struct{}), make(chan struct{})
	go s.writer.do(context.Background(), func(*pen) error {
		close(inside)
		patient.Value(leave)
		return nil
	})
	patient.Value(inside)
	return func() { close(leave) }
}

// queue has writes wait for the writer, and returns their answers.
func queue(t *testing.T, s *Store, writes ...func(*pen) error) []chan error {
	t.Helper()
	var answers []chan error
	for _, f := range writes {
		x := &write{f, make(chan error, 1)}
		s.writer.queue <- x
		answers = append(answers, x.done)
	}
	return answers
}

func insert(name string) func(*pen) error {
	return func(p *pen) error {
		return p.change("INSERT INTO accounts (name, key, password, created_at) VALUES (?, ?, '', 0)", name, name)
	}
}

// countCommits returns how many transactions there were since it was called.
func countCommits(t *testing.T, s *Store) func() int {
	t.Helper()
	before := s.writer.commits.Load()
	return func() int { return int(s.writer.commits.Load() - before) }
}

func TestGroupCommit(t *testing.T) {
	s := openNew(t)
	commits := countCommits(t, s)
	release := stopWriter(t, s)
	var writes []func(*pen) error
	for i := range maxBatch + 10 {
		writes = append(writes, insert(fmt.Sprint("player", i)))
	}
	answers := queue(t, s, writes...)
	release()
	for i, c := range answers {
		if err := patient.Value(c); err != nil {
			t.Errorf("write %d: %v", i, err)
		}
	}
	if got := commits(); got != 3 {
		t.Errorf("%d writes that waited for one took %d transactions, want 2 and the one", len(writes), got)
	}
}

// A write that spoils the transaction is the only one that fails.
func TestAWriteFailsAlone(t *testing.T) {
	s := openNew(t)
	release := stopWriter(t, s)
	broken := errors.New("broken")
	answers := queue(t, s,
		insert("ann"),
		func(p *pen) error { return errors.Join(insert("half")(p), broken) },
		insert("bob"),
		func(p *pen) error { return p.change("ROLLBACK") }, // as SQLite does itself after some errors
		func(*pen) error { return account.ErrNotFound },
		insert("clara"),
	)
	release()
	for i, want := range []error{nil, broken, nil, nil, account.ErrNotFound, nil} {
		if err := patient.Value(answers[i]); i == 3 && err == nil || i != 3 && !errors.Is(err, want) {
			t.Errorf("write %d: %v, want %v", i, err, want)
		}
	}
	all, err := s.List(t.Context(), "", 10)
	if err != nil || len(all) != 3 || all[0].Key != "ann" || all[1].Key != "bob" || all[2].Key != "clara" {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestACallerMayLeave(t *testing.T) {
	s := openNew(t)
	release := stopWriter(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := s.Create(ctx, record("ann"))
		left <- err
	}()
	cancel()
	if err := patient.Value(left); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	release()
	mustCreate(t, s, "bob")
}

func TestCloseDoesWhatWasAsked(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	release := stopWriter(t, s)
	answers := queue(t, s, insert("ann"), insert("bob"))
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	patient.Value(s.writer.stop)
	release()
	for _, c := range answers {
		if err := patient.Value(c); err != nil {
			t.Error(err)
		}
	}
	if err := patient.Value(closed); err != nil {
		t.Error(err)
	}
	if _, err := s.Create(t.Context(), record("clara")); !errors.Is(err, errClosed) {
		t.Errorf("after Close: %v", err)
	}
	if all, err := openAt(t, path).List(t.Context(), "", 10); err != nil || len(all) != 2 {
		t.Errorf("%d accounts, %v", len(all), err)
	}
}

// T48: "disk full". The pages that the file may have are bounded, which SQLite reports just as a full disk.
func TestDiskFull(t *testing.T) {
	promise.Keeps(t, "T48", "sqlite", 1)
	s := openNew(t)
	err := s.writer.do(t.Context(), func(p *pen) error { return p.change("PRAGMA max_page_count = 25") })
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	made, refused := map[string]account.ID{}, 0
	var group sync.WaitGroup
	for w := range 16 {
		group.Go(func() {
			for i := range 20 {
				name := fmt.Sprintf("player-%d-%d", w, i)
				r := record(name)
				r.Hash = strings.Repeat("x", 300)
				r, err := s.Create(context.Background(), r)
				mu.Lock()
				if err == nil {
					made[name] = r.ID
				} else {
					refused++
				}
				mu.Unlock()
				if err != nil && !strings.Contains(err.Error(), "full") {
					t.Errorf("create: %v", err)
				}
			}
		})
	}
	patient.Done(group.Wait)
	t.Logf("%d made, %d refused", len(made), refused)
	if len(made) == 0 || refused == 0 {
		t.Fatalf("%d were made and %d refused", len(made), refused)
	}
	wantExactly(t, s, made)

	// What is there can be read, changed and deleted, and then there is room again.
	for name, id := range made {
		if err := s.Delete(t.Context(), id); err != nil {
			t.Errorf("delete: %v", err)
		}
		delete(made, name)
		if len(made) < 10 {
			break
		}
	}
	for i := range 5 {
		made[fmt.Sprint("later", i)] = mustCreate(t, s, fmt.Sprint("later", i)).ID
	}
	wantExactly(t, s, made)
}

// wantExactly wants a sound file with these accounts and no other.
func wantExactly(t *testing.T, s *Store, made map[string]account.ID) {
	t.Helper()
	if got := pragma(t, s.reads, "integrity_check"); got != "ok" {
		t.Errorf("the file is not sound: %s", got)
	}
	all, err := s.List(t.Context(), "", account.MaxList)
	if err != nil || len(all) != len(made) {
		t.Errorf("%d accounts, want %d: %v", len(all), len(made), err)
	}
	for _, r := range all {
		if made[r.Key] != r.ID {
			t.Errorf("%q has the number %d, want %d", r.Key, r.ID, made[r.Key])
		}
	}
}

// T48: SQLITE_BUSY. Another process locks the file for longer than we wait; what fails is not done, and what is
// answered is.
func TestBusy(t *testing.T) {
	promise.Keeps(t, "T48", "sqlite", 1)
	path := filepath.Join(t.TempDir(), FileName)
	s, err := open(path, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	other, err := sql.Open("sqlite", dataSource(path, time.Second, false))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	exec := func(q string) {
		if _, err := other.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	rng := rand.New(rand.NewPCG(48, 0))
	made, busy := map[string]account.ID{}, 0
	n := 500
	if testing.Short() {
		n = 200
	}
	for i := range n {
		locked := rng.IntN(100) == 0
		if locked {
			exec("BEGIN IMMEDIATE")
		}
		name := fmt.Sprint("player", i)
		r, err := s.Create(t.Context(), record(name))
		switch {
		case locked && err == nil:
			t.Errorf("create: done while the file was locked")
		case locked && !strings.Contains(err.Error(), "SQLITE_BUSY"):
			t.Errorf("create: %v", err)
		case locked:
			busy++
			if _, err := s.Find(t.Context(), name); !errors.Is(err, account.ErrNotFound) {
				t.Errorf("find while the file is locked: %v", err)
			}
		case err != nil:
			t.Errorf("create: %v", err)
		default:
			made[name] = r.ID
		}
		if locked {
			exec("COMMIT")
		}
	}
	if busy == 0 {
		t.Error("the file was never locked")
	}
	wantExactly(t, s, made)
}
