package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"parley/account"
	"parley/account/storetest"
	"parley/internal/kit/chance"
	"parley/internal/promise"
)

// victimVariable names the file in the environment of a process that is to be killed.
const victimVariable = "PARLEY_SQLITE_VICTIM"

// victims is how many write at once in one.
const victims = 16

// Step n of a victim's account makes it, changes its password, or deletes it.
func victimHash(n int) string {
	if n%10 == 0 {
		return "" // there is none
	}
	return fmt.Sprint("hash ", n)
}

func runVictim() {
	s, err := Open(os.Getenv(victimVariable))
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	os.Stdout.WriteString("ready\n")
	for v := range victims - 1 {
		go writeForEver(s, v)
	}
	writeForEver(s, victims-1)
}

// writeForEver takes one step after the other and prints each that was answered.
func writeForEver(s *Store, v int) {
	ctx := context.Background()
	key := fmt.Sprint("victim", v)
	n := 0
	r, err := s.Find(ctx, key)
	if err == nil {
		fmt.Sscanf(r.Hash, "hash %d", &n) // goes on where the last one was killed
	}
	for {
		n++
		switch {
		case n%10 == 0:
			err = s.Delete(ctx, r.ID)
		case n%10 == 1:
			r, err = s.Create(ctx, account.Record{Account: account.Account{Name: key}, Key: key, Hash: victimHash(n)})
		default:
			err = s.SetPassword(ctx, r.ID, victimHash(n))
		}
		if err != nil {
			fmt.Println("error", n, err)
			os.Exit(1)
		}
		fmt.Fprintf(os.Stdout, "%d %d\n", v, n) // one write, without a buffer
	}
}

// T48: "kill -9 at 200 random points under write load: integrity_check ok, 0 acknowledged writes lost". There are 200 in the
// gate, and 20 in every run.
func TestKill(t *testing.T) {
	points := promise.Keeps(t, "T48", "sqlite", promise.Tier(10, 200, 200))
	storetest.KillOften(t, chance.Seed(t, 48), 3, points, func(path string, rng *rand.Rand) (int, error) {
		last, n := kill(t, path, rng.IntN(800), time.Duration(rng.IntN(5000))*time.Microsecond)
		return n, isSound(path, last)
	})
}

// isSound returns an error if the file is broken, or a step that was answered is not in it.
func isSound(path string, last [victims]int) error {
	s, err := Open(path)
	if err != nil {
		return err
	}
	var sound string
	if err := s.reads.QueryRow("PRAGMA integrity_check").Scan(&sound); err != nil || sound != "ok" {
		return fmt.Errorf("the file is not sound: %s, %w", sound, err)
	}
	for v, step := range last {
		if step == 0 {
			continue
		}
		r, err := s.Find(context.Background(), fmt.Sprint("victim", v))
		if err != nil && !errors.Is(err, account.ErrNotFound) {
			return err
		}
		// The step after the last that was answered may be done or not. Whoever was killed after a deletion begins at 1
		// again.
		if r.Hash != victimHash(step) && r.Hash != victimHash(step+1) {
			return fmt.Errorf("step %d of account %d was answered, and it has %q", step, v, r.Hash)
		}
	}
	return s.Close()
}

// kill runs a victim, kills it some time after so many answers, and returns the last step that was answered for each
// account, and how many in all.
func kill(t *testing.T, path string, answers int, after time.Duration) (last [victims]int, n int) {
	t.Helper()
	storetest.Kill(t, victimVariable, path, answers, after, func(line string) bool {
		v, step := 0, 0
		if _, err := fmt.Sscanf(line, "%d %d", &v, &step); err != nil {
			return false
		}
		last[v] = step
		n++
		return true
	})
	return last, n
}
