package sqlite

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"parley/account"
)

// victimVariable names the file in the environment of a process that is to be killed.
const victimVariable = "PARLEY_SQLITE_VICTIM"

// victims is how many write at once in one.
const victims = 16

var seedFlag = flag.Uint64("seed", 48, "seed of the moments at which a process is killed")

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

// T48: "kill -9 at 200 random points under write load: integrity_check ok, 0 acknowledged writes lost".
func TestKill(t *testing.T) {
	points := 20
	switch {
	case os.Getenv("PARLEY_SOAK") != "":
		points = 200
	case testing.Short():
		points = 3
	}
	t.Logf("seed=%d", *seedFlag)
	rng := rand.New(rand.NewPCG(*seedFlag, 0))
	path := filepath.Join(t.TempDir(), FileName)
	total := 0
	for range points {
		last, n := kill(t, path, rng.IntN(800), time.Duration(rng.IntN(5000))*time.Microsecond)
		total += n
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := pragma(t, s.reads, "integrity_check"); got != "ok" {
			t.Errorf("the file is not sound: %s", got)
		}
		for v, step := range last {
			if step == 0 {
				continue
			}
			r, err := s.Find(t.Context(), fmt.Sprint("victim", v))
			if err != nil && !errors.Is(err, account.ErrNotFound) {
				t.Fatal(err)
			}
			// The step after the last that was answered may be done or not.
			if r.Hash != victimHash(step) && r.Hash != victimHash(step+1) {
				t.Errorf("step %d of account %d was answered, and it has %q", step, v, r.Hash)
			}
		}
		// Whoever was killed after a deletion begins at 1 again.
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d writes were answered before %d kills", total, points)
	if total == 0 {
		t.Error("nothing was written, so nothing was tested")
	}
}

// kill runs a victim, kills it some time after so many answers, and returns the last step that was answered for each
// account, and how many in all.
func kill(t *testing.T, path string, answers int, after time.Duration) (last [victims]int, n int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), victimVariable+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() }) // if it does nothing
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			break
		}
		v, step := 0, 0
		if _, err := fmt.Sscanf(line, "%d %d\n", &v, &step); err == nil {
			last[v] = step
			n++
		} else if line != "ready\n" {
			t.Errorf("the victim says %q", line)
		}
		if n == answers {
			timer.Reset(after)
			answers = -1
		}
	}
	timer.Stop()
	cmd.Wait()
	return last, n
}
