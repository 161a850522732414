package account_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/account"
	"parley/account/sqlite"
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
			if a.Result == account.OK {
				os.Stdout.WriteString("ok " + name + "\n")
			} else {
				fmt.Println("error", a.Result, a.Err)
			}
			<-inFlight
		})
		if err != nil {
			fmt.Println("error", err)
		}
	}
}

// T48: "Registration answered ok survives kill -9 of the process at any of 200 moments."
func TestRegistrationSurvivesKill(t *testing.T) {
	if testing.Short() {
		t.Log("3 moments in place of 20")
	}
	rng := newRand(t)
	moments, total := rounds(20, 200), 0
	if testing.Short() {
		moments = 3
	}
	path := filepath.Join(t.TempDir(), sqlite.FileName)
	for range moments {
		// 32 registrations are under way at all times.
		answered := killed(t, path, rng.IntN(300), time.Duration(rng.IntN(5000))*time.Microsecond)
		total += len(answered)
		store, err := sqlite.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		s := account.New(store, account.Cheap(account.Config{}))
		d := &desk{Service: s, t: t}
		for i, name := range answered {
			if r, err := store.Find(t.Context(), name); err != nil || r.Name != name {
				t.Errorf("%q was answered ok and is gone: %v", name, err)
			}
			if i%64 == 0 {
				d.want("log in of "+name, d.login(operator, name, password), account.OK)
			}
		}
		s.Close()
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d accounts survived %d kills", total, moments)
	if total == 0 {
		t.Error("no account was registered, so nothing was tested")
	}
}

// killed runs a victim, kills it some time after so many answers, and returns all that it was answered.
func killed(t *testing.T, path string, answers int, after time.Duration) (answered []string) {
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
	cmd.Wait()
	return answered
}
