package udp

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"parley/internal/patient"
)

// This file is a load in a process of its own, so that the CPU time of this
// process is that of the server alone.

// load is the load's process as seen from the benchmark.
type load struct {
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

func startLoad(tb testing.TB) *load {
	tb.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), loadVariable+"=1", "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	l := &load{in, bufio.NewReader(out), cmd}
	tb.Cleanup(func() {
		in.Close()
		_ = patient.Exit(cmd)
	})
	return l
}

// run has n datagrams sent to an address, burst of them every gap, and returns
// when the answers are there.
func (l *load) run(tb testing.TB, to netip.AddrPort, n, burst int, gap time.Duration) {
	tb.Helper()
	defer patient.End().Stop()
	fmt.Fprintln(l.in, to, n, burst, gap.Nanoseconds())
	answer, err := l.out.ReadString('\n')
	if err != nil || answer != "ok\n" {
		tb.Fatalf("load: %q, %v", answer, err)
	}
}

// loadMain is the load's process.
func loadMain() {
	const sockets = 64
	var fds [sockets]int
	for i := range fds {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			panic(err)
		}
		fds[i] = fd
	}
	for {
		var to string
		var n, burst int
		var gap time.Duration
		if _, err := fmt.Scan(&to, &n, &burst, &gap); err != nil {
			return
		}
		loadRun(fds[:], netip.MustParseAddrPort(to), n, burst, gap)
		fmt.Println("ok")
	}
}

func loadRun(fds []int, to netip.AddrPort, n, burst int, gap time.Duration) {
	sa := &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	buf := make([]byte, 2048)
	sent, answered := 0, 0
	poll := func() {
		if _, err := unix.Read(fds[answered%len(fds)], buf); err == nil {
			answered++
		}
	}
	next := time.Now()
	for sent < n {
		for range min(burst, n-sent) {
			_ = unix.Sendto(fds[sent%len(fds)], buf[:payload], 0, sa)
			sent++
		}
		next = next.Add(gap)
		for time.Now().Before(next) {
			if answered < sent {
				poll()
			}
		}
	}
	// What is lost is not waited for for ever: the load has no test's patience.
	for patience := time.Now().Add(time.Second); answered < n && time.Now().Before(patience); {
		poll()
	}
	for _, fd := range fds {
		for { // late answers do not belong to the next run
			if _, err := unix.Read(fd, buf); err != nil {
				break
			}
		}
	}
}

// processCPU returns the CPU time of this process.
func processCPU() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
