package duplex

import (
	"fmt"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"parley/internal/patient"
	"parley/internal/shell/shelltest"
)

const heldMains = 5000

// heldBytes is the bar for what a main may cost that is open and silent, and heldResident that for all that the process
// has more of than before, garbage included.
const (
	heldBytes    = 3 << 10
	heldResident = 8 << 10
)

// The mains of 5,000 players who say nothing cost at most 3 KiB of heap and stacks each, and no goroutine. (The kernel's own memory of a socket is
// not in it.)
func TestFiveThousandMainsAreHeldInLittle(t *testing.T) {
	if testing.Short() || shelltest.Race {
		t.Skip("5,000 connections")
	}
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil || files.Cur < 2*heldMains {
		t.Skipf("a process may have %d files here", files.Cur)
	}
	synced := make(chan struct{}, heldMains)
	h, err := Listen("127.0.0.1:0", Config{Schema: crowdSchema, Resync: -1, WaitingPerAddress: -1}, func(_ *Conn, ev Event) {
		if ev.Kind == EventSynced { // it is in the game, and has all of it
			synced <- struct{}{}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := h.Do(func() {
		m := h.Scene()
		for sid := range int16(100) {
			if err := m.Set(sid, make17(sid)); err != nil {
				t.Error(err)
			}
		}
		m.Flush()
	}); err != nil {
		t.Fatal(err)
	}
	crowds := shelltest.StartHelper(t, loadVariable, "crowd")
	before, rssBefore, goroutines := shelltest.InUse(), shelltest.Resident(), runtime.NumGoroutine()
	var done string
	crowds.Ask(t, fmt.Sprint("hold ", h.Addr(), " ", heldMains), &done)
	if done != "done" {
		t.Fatal(done)
	}
	for range heldMains {
		patient.Value(synced)
	}
	if more := runtime.NumGoroutine() - goroutines; more > 10 {
		t.Errorf("%d goroutines for them", more)
	}
	after, rssAfter := shelltest.InUse(), shelltest.Resident()
	each, rss := (after-before)/heldMains, (rssAfter-rssBefore)/heldMains
	t.Logf("%d B of heap and stacks a main, %d B resident", each, rss)
	if each > heldBytes || rss > heldResident {
		t.Errorf("a main costs %d B, resident %d B, and the bars are %d and %d", each, rss, heldBytes, heldResident)
	}
}

func make17(sid int16) []byte {
	b := make([]byte, crowdData)
	b[0], b[1] = 1, byte(sid)
	return b
}
