package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
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
