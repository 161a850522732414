package account_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/account"
	"parley/account/sqlite"
	"parley/internal/patient"
	"parley/internal/promise"
)

// victimVariable names the file of accounts in the environment of a process that is to be killed.
const victimVariable = "PARLEY_ACCOUNT_VICTIM"

func isVictim() bool { return os.Getenv(victimVariable) != "" }

func init() { crashMain = runVictim }

// runVictim registers accounts as fast as it can and prints the name of each that was answered OK, until it is
// killed.
func runVictim() {
	store, err := sqlite.Open(os.Getenv(victimVariable))
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	s := account.New(store, account.Cheap(account.Config{HashAtOnce: 8}))
	fmt.Println("ready")
	inFlight := make(chan struct{}, 32)
	for i := 0; ; i++ {
		inFlight <- struct{}{}
		name := fmt.Sprintf("player-%d-%d", os.Getpid(), i)
		err := s.Register(operator, name, password, func(a account.Answer) {
			// One write a line, and no buffer that could keep what was answered from us.
			switch {
			case a.Result == account.OK:
				os.Stdout.WriteString("ok " + name + "\n")
			case errors.Is(a.Err, context.DeadlineExceeded): // a disk or a machine that stood still: nobody was told ok
			default:
				fmt.Println("error", a.Result, a.Err)
			}
			patient.Value(inFlight)
		})
		if err != nil {
			fmt.Println("error", err)
		}
	}
}

// T48: "Registration answered ok survives kill -9 of the process at any of 200 moments." There are 200 in the gate, and 20
// in every run.
func TestRegistrationSurvivesKill(t *testing.T) {
	const files = 4 // side by side, as most of the time is spent waiting for the disk
	moments := promise.Keeps(t, "T48", "account", tier(20, 200, 200))
	var group sync.WaitGroup
	var total atomic.Int64
	for i := range files {
		rng := rand.New(rand.NewPCG(newRand(t).Uint64(), uint64(i)))
		path := filepath.Join(t.TempDir(), sqlite.FileName)
		group.Go(func() {
			for range moments*(i+1)/files - moments*i/files {
				// 32 registrations are under way at all times.
				answered := killed(t, path, rng.IntN(300), time.Duration(rng.IntN(5000))*time.Microsecond)
				total.Add(int64(len(answered)))
				if err := areThere(t, path, answered); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	patient.Done(group.Wait)
	t.Logf("%d accounts survived %d kills", total.Load(), moments)
	if total.Load() == 0 {
		t.Error("no account was registered, so nothing was tested")
	}
}

// areThere returns an error if one of the accounts is not in the file, or cannot log in.
func areThere(t *testing.T, path string, names []string) error {
	store, err := sqlite.Open(path)
	if err != nil {
		return err
	}
	defer store.Close()
	s := account.New(store, account.Cheap(account.Config{}))
	defer s.Close()
	for i, name := range names {
		if r, err := store.Find(t.Context(), name); err != nil || r.Name != name {
			return fmt.Errorf("%q was answered ok and is gone: %w", name, err)
		}
		if i%64 != 0 {
			continue
		}
		var got account.Answer
		for try := 0; try == 0 || errors.Is(got.Err, context.DeadlineExceeded) && try < 10; try++ { // as above
			answers := make(chan account.Answer, 1)
			if err := s.Login(operator, name, password, func(a account.Answer) { answers <- a }); err != nil {
				return err
			}
			got = patient.Value(answers)
		}
		if got.Result != account.OK {
			return fmt.Errorf("the log-in of %q was answered %v, %w", name, got.Result, got.Err)
		}
	}
	return nil
}

// killed runs a victim, kills it some time after so many answers, and returns all that it was answered.
func killed(t *testing.T, path string, answers int, after time.Duration) (answered []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victimVariable+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return nil
	}
	timer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() }) // if it does nothing
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			break // a line without its end is not an answer
		}
		switch word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); word {
		case "ready":
		case "ok":
			answered = append(answered, rest)
		default:
			t.Errorf("the victim says %s", strconv.Quote(line))
		}
		if len(answered) == answers {
			timer.Reset(after)
			answers = -1
		}
	}
	timer.Stop()
	patient.Exit(cmd)
	return answered
}
