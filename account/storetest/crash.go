package storetest

import (
	"bufio"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/internal/patient"
)

// KillOften calls once for so many moments, each with the file of a process that it kills, and so many files side by side, as
// most of the time is spent waiting for the disk. once returns how many answers the process had, and an error if one of them is
// not true any more.
func KillOften(t *testing.T, seed uint64, files, moments int, once func(path string, rng *rand.Rand) (answers int, err error)) {
	t.Helper()
	var group sync.WaitGroup
	var total atomic.Int64
	for i := range files {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		path := filepath.Join(t.TempDir(), "accounts.db")
		group.Go(func() {
			for range moments*(i+1)/files - moments*i/files {
				answers, err := once(path, rng)
				total.Add(int64(answers))
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	patient.Done(group.Wait)
	t.Logf("%d answers survived %d kills", total.Load(), moments)
	if total.Load() == 0 {
		t.Error("nothing was answered, so nothing was tested")
	}
}

// Kill runs this program as a victim, with the path in an environment variable, and kills it some time after so many answers.
// take is given each line that the victim prints after "ready", and reports whether it is an answer.
func Kill(t *testing.T, variable, path string, answers int, after time.Duration, take func(line string) bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), variable+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return
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
		switch line = strings.TrimSuffix(line, "\n"); {
		case line == "ready":
		case take(line):
			answers--
		default:
			t.Errorf("the victim says %q", line)
		}
		if answers == 0 {
			timer.Reset(after)
			answers = -1
		}
	}
	timer.Stop()
	patient.Exit(cmd)
}
