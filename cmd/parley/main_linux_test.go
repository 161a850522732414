package main

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/internal/patient"
)

// /dev/full is the disk that is always full; only Linux has it.
func TestProgramWithAFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	var errOut bytes.Buffer
	cmd := exec.Command(binary, "version")
	cmd.Stdout, cmd.Stderr = full, &errOut
	cmd.Run()
	got := errOut.String()
	if cmd.ProcessState.ExitCode() != 1 || !strings.HasPrefix(got, "parley: cannot write the output: ") || strings.Count(got, "\n") != 1 {
		t.Errorf("status %d, standard error %q", cmd.ProcessState.ExitCode(), got)
	}
}

// A terminal that is closed ends its server in good order: the players are told, the ready file is gone. One
// that was started by nohup stays.
func TestServeAndHangUp(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		// This test runs under nohup, and so would its children. A handler of ours has them begin with the default.
		ours := make(chan os.Signal, 1)
		signal.Notify(ours, syscall.SIGHUP)
		defer signal.Ignore(syscall.SIGHUP)
	}
	for _, nohup := range []bool{false, true} {
		dir := t.TempDir()
		ready := filepath.Join(dir, "ready.json")
		args := []string{binary, "serve", "--replica", "127.0.0.1:0", "--stamp", "off", "--relay", "off", "--duplex", "off", "--realm", "off", "--web", "off", "--play", "off", "--data", filepath.Join(dir, "data"), "--ready-file", ready}
		if nohup {
			args = append([]string{"nohup"}, args...)
		}
		var out bytes.Buffer
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		late := time.AfterFunc(3*time.Minute, func() { cmd.Process.Kill() }) // no test waits without an end
		defer late.Stop()
		ended := make(chan error, 1)
		go func() { ended <- patient.Exit(cmd) }()
		for _, err := os.Stat(ready); err != nil; _, err = os.Stat(ready) {
			select {
			case err := <-ended:
				t.Fatalf("it is not ready: %v: %s", err, &out)
			case <-time.After(10 * time.Millisecond): // look again
			}
		}
		cmd.Process.Signal(syscall.SIGHUP)
		if nohup {
			select {
			case err := <-ended:
				t.Errorf("nohup: %v: %s", err, &out)
			case <-time.After(300 * time.Millisecond):
			}
			cmd.Process.Signal(syscall.SIGTERM)
		}
		if err := patient.Value(ended); err != nil || !strings.Contains(out.String(), "every player is told") {
			t.Errorf("nohup %v: %v: %s", nohup, err, &out)
		}
		if _, err := os.Stat(ready); err == nil {
			t.Error("the ready file is still there")
		}
	}
}
