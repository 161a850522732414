package account_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"parley/account"
	"parley/account/sqlite"
	"parley/account/storetest"
	"parley/internal/kit/chance"
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
	moments := promise.Keeps(t, "T48", "account", promise.Tier(10, 200, 200))
	storetest.KillOften(t, chance.Rand(t, 0xacc).Uint64(), 4, moments, func(path string, rng *rand.Rand) (int, error) {
		// 32 registrations are under way at all times.
		answered := killed(t, path, rng.IntN(300), time.Duration(rng.IntN(5000))*time.Microsecond)
		return len(answered), areThere(t, path, answered)
	})
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
	storetest.Kill(t, victimVariable, path, answers, after, func(line string) bool {
		name, ok := strings.CutPrefix(line, "ok ")
		if ok {
			answered = append(answered, name)
		}
		return ok
	})
	return answered
}
