package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"parley/account"
	"parley/internal/patient"
	"parley/internal/promise"
)

// writers is how many write at once.
const writers = 64

// T47: 64 writers, each with accounts of its own, whose last writes all stand.
func testWriters(t *testing.T, s account.Store) {
	rounds := promise.Tier(20, 20, 200)
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			if err := writeOwn(s, w, rounds); err != nil {
				t.Errorf("writer %d: %v", w, err)
			}
		})
	}
	patient.Done(group.Wait)
	all := listAll(t, s)
	if len(all) != writers {
		t.Errorf("%d accounts, want %d", len(all), writers)
	}
	for _, r := range all {
		if r.Hash != fmt.Sprint("hash ", rounds-1) || r.Ban.Reason != fmt.Sprint("ban ", rounds-1) || r.LastLogin != at(rounds-1) {
			t.Errorf("after %d rounds: %+v", rounds, r)
		}
	}
}

// writeOwn makes an account, changes it, and deletes the one of the round before.
func writeOwn(s account.Store, w, rounds int) error {
	last := account.ID(0)
	for i := range rounds {
		made, err := s.Create(ctx, newRecord(fmt.Sprintf("player-%d-%d", w, i)))
		if err != nil {
			return err
		}
		err = errors.Join(
			s.SetPassword(ctx, made.ID, fmt.Sprint("hash ", i)),
			s.SetBan(ctx, made.ID, account.Ban{Since: at(i), Reason: fmt.Sprint("ban ", i)}),
			// Each forgets the old addresses of all others.
			s.Enter(ctx, made.ID, account.Visit{At: at(-20), From: place(rounds)}),
			s.Enter(ctx, made.ID, account.Visit{At: at(i), From: place(i), Forget: at(-10)}),
		)
		if last != 0 {
			err = errors.Join(err, s.Delete(ctx, last))
		}
		if err != nil {
			return err
		}
		if seen, err := s.Known(ctx, made.ID, place(i)); err != nil || seen != at(i) {
			return fmt.Errorf("round %d: known at %v, %v", i, seen, err)
		}
		last = made.ID
	}
	return nil
}

// T47: of 64 that want the same name, one gets it.
func testRace(t *testing.T, s account.Store) {
	for i := range promise.Tier(10, 10, 200) {
		var won atomic.Int32
		var group sync.WaitGroup
		begin := make(chan struct{})
		for range writers {
			group.Go(func() {
				patient.Value(begin)
				switch _, err := s.Create(ctx, newRecord(fmt.Sprint("wanted-", i))); {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, account.ErrTaken):
					t.Errorf("create: %v", err)
				}
			})
		}
		close(begin)
		patient.Done(group.Wait)
		if won.Load() != 1 {
			t.Fatalf("%d of %d got the name", won.Load(), writers)
		}
	}
}
