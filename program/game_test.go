package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	front "parley"
	"parley/internal/patient"
	"parley/play/line"
)

// pond is the built program of another game.
type pond struct {
	binary, dir, ready string
	addrs              map[string]string
}

// pondProgram builds the program of testdata/pond, once for all tests: a program takes seconds to link. TestMain removes its folder.
var pondProgram = sync.OnceValues(func() (binary string, err error) {
	if pondFolder, err = os.MkdirTemp("", "pond"); err != nil {
		return "", err
	}
	binary = filepath.Join(pondFolder, "pond")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	// The tests run in checkouts whose history git may refuse to read.
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", binary, "./testdata/pond").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
})

var pondFolder string

// newPond returns the program of testdata/pond with a folder of its own.
func newPond(t *testing.T) *pond {
	t.Helper()
	binary, err := pondProgram()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return &pond{binary: binary, dir: dir, ready: filepath.Join(dir, "ready.json")}
}

func (p *pond) command(stdin string, args ...string) *exec.Cmd {
	cmd := exec.Command(p.binary, args...)
	cmd.Dir, cmd.Stdin = p.dir, strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+filepath.Join(p.dir, "settings"))
	return cmd
}

// runs runs a command to its end.
func (p *pond) runs(t *testing.T, stdin string, line string) result {
	t.Helper()
	defer patient.End().Stop()
	var out, errOut bytes.Buffer
	cmd := p.command(stdin, strings.Fields(line)...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// serve starts the server, and returns what stops it and tells what it said.
func (p *pond) serve(t *testing.T, more ...string) (stop func() string) {
	t.Helper()
	const any = "127.0.0.1:0"
	args := append([]string{"serve", "--ready-file", p.ready, "--replica", any, "--stamp", any, "--relay", any, "--duplex", any, "--realm", any,
		"--realm-time", any, "--web", any, "--play", any, "--registrations", "-1"}, more...)
	cmd := p.command("", args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	end := func() string {
		defer patient.End().Stop()
		cmd.Process.Signal(os.Interrupt)
		<-ended
		return out.String()
	}
	t.Cleanup(func() {
		defer patient.End().Stop()
		cmd.Process.Kill()
		<-ended
	})
	text, err := awaitFile(t.Context(), p.ready)
	if err != nil {
		t.Fatalf("%v: %s", err, end())
	}
	if err := json.Unmarshal(text, &p.addrs); err != nil {
		t.Fatal(err)
	}
	return end
}

// join has a player of the game at a terminal.
func (p *pond) join(t *testing.T, first string, args ...string) *terminalUser {
	t.Helper()
	return joinBy(t, 20, first, func(s streams) int { return p.process(t, s, append([]string{"join"}, args...)) })
}

// process runs a command to its end, whatever becomes of its standard input.
func (p *pond) process(t *testing.T, s streams, args []string) int {
	cmd := p.command("", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, s.Out, s.Err
	in, err := cmd.StdinPipe() // unlike Stdin, it does not keep Run from ending
	if err != nil {
		t.Error(err)
		return -1
	}
	go io.Copy(in, s.In)
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Error(err)
		return -1
	}
	return cmd.ProcessState.ExitCode()
}

// "a game's main is one line and gets everything that our program has."
func TestTheProgramOfAnotherGame(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted here")
	}
	t.Parallel() // it waits for most of its time
	p := newPond(t)
	if got := p.runs(t, "", "schema"); got.status != exitOK || !strings.Contains(got.out, "pond") || !strings.Contains(got.out, "kind 1: frog") {
		t.Errorf("schema: %+v", got)
	}
	stop := p.serve(t, "--record", "pond.rec", "--tick-rate", "40")
	for _, dialect := range []string{"replica", "relay", "duplex", "realm"} {
		args, first := []string{dialect, p.addrs[dialect], "--tick-rate", "40"}, ""
		if dialect == "realm" {
			args, first = append(args, "--name", "ann", "--password-stdin"), "correct horse"
		}
		u := p.join(t, first, args...)
		u.types("hop 3")
		u.waits("at (3.", "who") // realm has whole cells
		u.waits("@ you, F frog\n", "map")
		u.waits("hop CELLS", "help")
		u.types("hop a")
		u.waits("a whole number of type i8", "")
		u.types("walk 0 1")
		u.waits("the speed is at most 0.5", "")
		u.quits()
	}
	watcher := p.join(t, "", "stamp", p.addrs["stamp"])
	watcher.waits("pond ", "who")
	watcher.quits()
	bots := p.runs(t, "", "bots --for 3s --json --ready-file "+p.ready)
	var results []struct {
		Dialect       string
		Steered, Seen int
	}
	if err := json.Unmarshal([]byte(bots.out), &results); bots.status != exitOK || err != nil || len(results) != 5 {
		t.Errorf("bots: %+v, %v", bots, err)
	}
	for _, r := range results { // frogs walk at half a cell a tick, and are refused at more
		if r.Steered > 0 && r.Seen == 0 {
			t.Errorf("no bot of %s has seen itself walk", r.Dialect)
		}
	}
	for line, want := range map[string]string{
		"rooms --server http://" + p.addrs["web"]:                 "main",
		"players --json --server http://" + p.addrs["web"]:        "players",
		"say --server http://" + p.addrs["web"] + " hello":        "",
		"rooms open b --mode x --server http://" + p.addrs["web"]: "b ",
		"account list": "bot-1-0",
	} {
		if got := p.runs(t, "", line); got.status != exitOK || !strings.Contains(got.out, want) {
			t.Errorf("%s: %+v", line, got)
		}
	}
	if text := stop(); !strings.Contains(text, "pond serves pond (seed ") {
		t.Errorf("it says %s", text)
	}
	if got := p.runs(t, "", "replay pond.rec"); got.status != exitOK || !strings.Contains(got.out, "pond, seed") || !strings.Contains(got.out, "each as recorded") {
		t.Errorf("replay: %+v", got)
	}
	if got := parley("", "replay "+filepath.Join(p.dir, "pond.rec")); got.status != exitFailed || !strings.Contains(got.err, "pond") {
		t.Errorf("the arena replays it: %+v", got)
	}
}

// strays joins at the server of another game, with somebody at the terminal who waits, and returns what it says and its status.
func strays(t *testing.T, dialect string, run func(args []string, s streams) int, addr string) (said string, status int) {
	t.Helper()
	defer patient.End().Stop()
	in, keyboard := io.Pipe()
	defer keyboard.Close()
	args := []string{"join", dialect, addr}
	if dialect == "realm" {
		args = append(args, "--name", "ann", "--password-stdin", "--known-servers", filepath.Join(t.TempDir(), "known"))
		go io.WriteString(keyboard, "correct horse\n")
	}
	out := newScreen()
	begin := time.Now()
	status = run(args, streams{In: in, Out: out, Err: out})
	t.Logf("after %v", time.Since(begin))
	return out.take(), status
}

// "A client of another game than the server's reads so, by name and schema fingerprint, in all dialects".
func TestAPlayerOfAnotherGameReadsSo(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted here")
	}
	t.Parallel() // it waits for most of its time
	p := newPond(t)
	p.serve(t)
	arenaProgram := ours(builtIn()...)
	_, ours, ready := serveArena(t, func(c *front.Config) { c.RealmPlain = false })
	frog := p.join(t, "", "replica", p.addrs["replica"]) // so that spectators have something to see
	player := join(t, "", "replica", ours["replica"])
	for _, dialect := range line.Dialects {
		said, status := strays(t, dialect, arenaProgram.run, p.addrs[dialect])
		if status != exitFailed || !strings.Contains(said, "parley: cannot ") || !strings.Contains(said, `the server runs another game`) || !strings.Contains(said, `of the game "arena" here has `) {
			t.Errorf("a player of the arena at the pond over %s: status %d, %q", dialect, status, said)
		}
		said, status = strays(t, dialect, func(args []string, s streams) int { return p.process(t, s, args) }, ours[dialect])
		if status != exitFailed || !strings.Contains(said, "pond: cannot ") || !strings.Contains(said, `the server runs another game`) || !strings.Contains(said, `of the game "pond" here has `) {
			t.Errorf("a frog in the arena over %s: status %d, %q", dialect, status, said)
		}
	}
	for _, dialect := range line.Dialects {
		if got := p.runs(t, "", "bots --for 20s --mix "+dialect+"=1 --ready-file "+ready); got.status != exitFailed || !strings.Contains(got.err, `of the game "pond" here has `) {
			t.Errorf("bots of the pond in the arena over %s: %+v", dialect, got)
		}
	}
	frog.quits()
	player.quits()
}
