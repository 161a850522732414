package blackbox

import (
	"io"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"parley/internal/patient"
)

// terminal is a join of the program, with somebody at its keyboard.
type terminal struct {
	cmd  *exec.Cmd
	keys io.WriteCloser
	out  *noise
}

func openTerminal(t *testing.T, args ...string) *terminal {
	t.Helper()
	x := &terminal{cmd: exec.CommandContext(t.Context(), program, append([]string{"join"}, args...)...), out: new(noise)}
	x.cmd.Stdout, x.cmd.Stderr, x.cmd.Env = x.out, x.out, cleanEnv()
	var err error
	if x.keys, err = x.cmd.StdinPipe(); err == nil {
		err = x.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// waits waits for a text on the screen.
func (x *terminal) waits(t *testing.T, text string) {
	t.Helper()
	patient.Until(t, text, func() bool { return strings.Contains(x.out.String(), text) })
}

// Two who say `parley join --match duel` in two terminals find each other, over whichever dialect each likes, and nobody else is
// with them.
func TestTwoTerminalsFindEachOther(t *testing.T) {
	s := serve(t)
	play := "http://" + s.addrs["play"]
	joins := []*terminal{
		openTerminal(t, "--match", "duel", "--name", "ann", "--play", play),
		openTerminal(t, "relay", "--match", "duel", "--name", "bob", "--play", play),
	}
	room := regexp.MustCompile(`found a match: room (match-[a-z0-9]{26})\n`)
	var rooms []string
	for _, x := range joins {
		x.waits(t, "joined ")
		found := room.FindStringSubmatch(x.out.String())
		if found == nil {
			t.Fatalf("no match is found: %s", x.out)
		}
		rooms = append(rooms, found[1])
	}
	if rooms[0] != rooms[1] {
		t.Errorf("they are in the rooms %v", rooms)
	}
	if status, out, errs := run(t, "join", "replica", s.addrs["replica"], "--room", rooms[0]); status != 1 || !strings.Contains(out+errs, "room needs a ticket") {
		t.Errorf("a stranger is told %q, status %d", out+errs, status)
	}
	io.WriteString(joins[0].keys, "say hello\n")
	joins[1].waits(t, "ann: hello")
	for _, x := range joins {
		io.WriteString(x.keys, "quit\n")
		if err := patient.Exit(x.cmd); err != nil {
			t.Errorf("%v: %s", err, x.out)
		}
	}
}
