package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"parley/internal/patient"
)

// binary is the program as a user has it, built once for all tests here.
var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "parley")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "parley")
		if runtime.GOOS == "windows" {
			binary += ".exe"
		}
		// The tests run in checkouts whose history git may refuse to read.
		if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", binary, ".").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// parley runs the program and returns its exit status and what it printed.
func parley(t *testing.T, stdin string, args ...string) (status int, out, errOut string) {
	t.Helper()
	defer patient.End().Stop()
	var o, e bytes.Buffer
	cmd := exec.Command(binary, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &o, &e
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), o.String(), e.String()
}

func TestProgram(t *testing.T) {
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		out    string // a part of standard output
		err    string // all of standard error
	}{
		{"alone it shows help with examples", nil, 0, "Examples:", ""},
		{"help", []string{"help"}, 0, "Available Commands:", ""},
		{"version", []string{"version"}, 0, runtime.GOOS + "/" + runtime.GOARCH, ""},
		{"version for programs", []string{"version", "--json"}, 0, `"go":"` + runtime.Version() + `"`, ""},
		{"completion", []string{"completion", "bash"}, 0, "__start_parley", ""},
		{"a bad flag of serve", []string{"serve", "--port", "1"}, 2, "",
			"parley: unknown flag: --port; see \"parley serve --help\"\n"},
		{"a packet of a built-in dialect", []string{"decode", "--dialect", "stamp", "--from", "client", "010002010700000000000000"}, 0,
			`"packet":"ack"`, ""},
		{"a bad packet", []string{"decode", "--dialect", "stamp", "--from", "client", "01"}, 1, "",
			"parley decode: flags: 1 byte wanted at offset 1, 0 left\n"},
		{"an unknown flag", []string{"encode", "--fast"}, 2, "",
			"parley: unknown flag: --fast; see \"parley encode --help\"\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, out, errOut := parley(t, "00\n", tt.args...)
			if status != tt.status || errOut != tt.err || !strings.Contains(out, tt.out) || tt.status != 0 && out != "" {
				t.Errorf("status %d\nout %q\nerr %q", status, out, errOut)
			}
		})
	}
}

// A reader that leaves early, as head does, must not earn a stack trace. On
// Unix the kernel's signal ends the program without a word, as it does cat.
func TestProgramWithAClosedPipe(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	defer write.Close()
	var errOut bytes.Buffer
	cmd := exec.Command(binary, "completion", "bash")
	cmd.Stdout, cmd.Stderr = write, &errOut
	if err := cmd.Run(); err == nil {
		t.Error("success, though no one could read the output")
	}
	if got := errOut.String(); strings.Contains(got, "goroutine") || strings.Count(got, "\n") > 1 {
		t.Errorf("standard error is %q", got)
	}
}

func TestMainIsShort(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(source, []byte("\n")); lines >= 80 {
		t.Errorf("main.go has %d lines, and should stay under 80: logic belongs into program", lines)
	}
}
