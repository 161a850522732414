package realm

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/internal/promise"
	"parley/protocol/realm/core"
)

// footprint is what the server's memory is now: heap and stacks, with what is not used of
// the pages of both.
func footprint() uint64 {
	runtime.GC()
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// T38: a crowd of connections that say a byte now and then: some in the handshake, some in
// their first message, some in a login. All are cut by the deadlines, none costs more than
// 64 KiB, and meanwhile a hundred honest players log in. There are 5,000 in the gate, with
// T38's 10 s to log in, of which 2,048 are there at once, and 600 with 3 s in every run; more where the machine takes longer to
// connect so many. The page's own deadlines are TestDeadlines's.
func TestSlowConnectionsAreCut(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("one host has 64 connections before it has entered, and there is no other host here")
	}
	slow, honest := promise.Keeps(t, "T38", "realm", tier(600, 5000, 5000)), 100
	if testing.Short() || underRace {
		slow, honest = 60, 5
	}
	within := 2 * time.Second
	if slow > 1000 {
		within = 9 * time.Second
	}
	dial := dialTime(t)
	within = max(within, time.Duration(slow)*dial/2)
	for try := 1; !slowConnections(t, slow, honest, within, dial, try == 4); try++ {
		within *= 2
	}
}

// slowConnections is not ok if too few of the slow ones were there at once, as the machine took longer to connect them than it did a moment ago;
// the last try must do.
func slowConnections(t *testing.T, slow, honest int, within, dial time.Duration, last bool) (ok bool) {
	t.Helper()
	p := newPlace(t, Config{Config: core.Config{VersionWithin: within, LoginWithin: within + time.Second}, WaitingPerAddress: 64})
	p.dial() // so that all that is made once is made
	before := footprint()
	crowd := newSlowCrowd(t, p.server.Addr().String(), slow, within/10)
	failed := crowd.wait("open")
	s := p.server.Stats()
	open := int64(s.Streams.Accepted-s.Streams.BadShake-s.Streams.Hasty-s.Streams.Crowded) - int64(s.Mux.Ended) - 1
	each := int64(footprint()-before) / max(open, 1)
	t.Logf("%d of %d slow ones are there, %d bytes each, with %v to log in; %d failed to open", open, slow, each, within, failed)
	if few := open < min(int64(slow), 2048)/2; few && !last {
		p.server.Close()
		return false
	} else if few {
		t.Errorf("only %d of %d were there at once: %+v", open, slow, s)
	}
	if each > 64<<10 && !underRace {
		t.Errorf("%d bytes a connection, want at most 64 KiB", each)
	}
	took := p.enterHonestly(honest)
	t.Logf("honest players, from dialling to being in: p50 %v, p99 %v", took[len(took)/2], took[len(took)*99/100])
	if p99 := took[len(took)*99/100]; p99 > max(time.Second, 50*dial) && !underRace {
		t.Errorf("an honest player took %v to log in", p99)
	}
	if left := crowd.wait("cut"); left != 0 {
		t.Errorf("%d slow ones ended by themselves", left)
	}
	eventually(t, "only the honest are left", func() bool { return p.server.Stats().Mux.Players == honest && p.server.Stats().Mux.Waiting <= 1 })
	return true
}

// dialTime is about how long a connection takes here and now.
func dialTime(t *testing.T) time.Duration {
	p := newPlace(t, Config{})
	defer p.server.Close()
	p.dial()
	const n = 50
	began := time.Now()
	for range n {
		p.dial().Close(context.Background())
	}
	return time.Since(began) / n
}

// enterHonestly lets players in, one after the other, and returns how long each took, sorted.
func (p *place) enterHonestly(n int) (took []time.Duration) {
	p.accounts.mu.Lock()
	for i := range n {
		p.accounts.passwords[fmt.Sprint("honest", i)] = fmt.Sprint("password of honest", i)
	}
	p.accounts.mu.Unlock()
	pace := patient.Pace(p.t)
	for i := range n {
		began := pace()
		p.joinAgain(fmt.Sprint("honest", i))
		took = append(took, pace()-began)
	}
	slices.Sort(took)
	return took
}

// joinAgain is join, for who may be late for a deadline of two seconds on a busy machine, and then comes again.
func (p *place) joinAgain(name string) {
	p.t.Helper()
	for try := 1; ; try++ {
		c, err := Dial(context.Background(), p.server.Addr().String(), p.config())
		code := LoginOK
		if err == nil {
			p.t.Cleanup(func() { c.Close(context.Background()) })
			if code, err = c.Login(context.Background(), name, "password of "+name); err == nil && code == LoginOK {
				return
			}
		}
		if try == 20 {
			p.t.Fatal(code, err)
		}
	}
}

// slowCrowd is a process of slow clients: in one of its own, so that what is measured here is the
// server's alone, and each has the descriptors of its own end.
type slowCrowd struct {
	t     *testing.T
	child *exec.Cmd
	lines *bufio.Scanner
}

// newSlowCrowd starts clients that say a byte after each pause. Go raises its soft limit of
// descriptors to the hard one by itself, here and in the child.
func newSlowCrowd(t *testing.T, addr string, clients int, pause time.Duration) *slowCrowd {
	t.Helper()
	c := &slowCrowd{t: t, child: exec.Command(os.Args[0], "-test.run=^TestSlowCrowdProcess$")}
	c.child.Env = append(os.Environ(), "REALM_SLOW="+addr, "REALM_CLIENTS="+strconv.Itoa(clients), "REALM_PAUSE="+pause.String())
	c.child.Stderr = os.Stderr
	stdin, err := c.child.StdinPipe() // which ends it with us
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := c.child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.lines = bufio.NewScanner(stdout)
	if err := c.child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		patient.Exit(c.child)
	})
	return c
}

// wait waits for a line that begins with a word and returns the number behind it.
func (c *slowCrowd) wait(word string) (n int) {
	c.t.Helper()
	defer patient.End().Stop()
	for c.lines.Scan() {
		rest, ok := strings.CutPrefix(c.lines.Text(), word+" ")
		if !ok {
			c.t.Log(c.lines.Text())
			continue
		}
		n, err := strconv.Atoi(rest)
		if err != nil {
			c.t.Fatal(err)
		}
		return n
	}
	c.t.Fatalf("the crowd ended before it said %q", word)
	return 0
}

// TestSlowCrowdProcess is the process of a slow crowd, and nothing if it is not asked to be.
// It says "open" and how many could not be opened, then "cut" and how many ended otherwise
// than by the server.
func TestSlowCrowdProcess(t *testing.T) {
	addr := os.Getenv("REALM_SLOW")
	if addr == "" {
		t.Skip("part of another test")
	}
	clients, _ := strconv.Atoi(os.Getenv("REALM_CLIENTS"))
	pause, _ := time.ParseDuration(os.Getenv("REALM_PAUSE"))
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	var opened, cut sync.WaitGroup
	var failed, other atomic.Int64
	slots := make(chan struct{}, 64)
	conns := make([]net.Conn, clients)
	for i := range clients {
		opened.Add(1)
		cut.Add(1)
		slots <- struct{}{}
		go func() {
			defer cut.Done()
			c, err := openSlowly(addr, i)
			conns[i] = c
			patient.Value(slots)
			opened.Done()
			if err != nil {
				failed.Add(1)
				return
			}
			if _, err := io.Copy(io.Discard, c); err != nil && strings.Contains(err.Error(), "closed network connection") {
				other.Add(1)
			}
		}()
	}
	patient.Done(opened.Wait)
	fmt.Println("open", failed.Load())
	go func() {
		for range time.Tick(pause) {
			for _, c := range conns {
				if c != nil {
					c.Write([]byte{1}) // fails when it is cut
				}
			}
		}
	}()
	patient.Done(cut.Wait)
	fmt.Println("cut", other.Load())
	os.Exit(0)
}

// openSlowly opens one of three sorts of slow connections.
func openSlowly(addr string, i int) (net.Conn, error) {
	// From as many hosts as it takes for each to have its places: Linux has all of 127.0.0.0/8.
	from := &net.TCPAddr{IP: net.IPv4(127, 1, byte(i%80/8), byte(1+i%8))}
	socket, err := (&net.Dialer{LocalAddr: from}).Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	secured := tls.Client(socket, &tls.Config{InsecureSkipVerify: true})
	switch i % 3 {
	case 0:
		_, err = socket.Write([]byte{0x16, 3, 1}) // as a hello begins
		return socket, err
	case 1:
		_, err = secured.Write([]byte{18}) // as a version begins
	case 2:
		_, err = secured.Write([]byte{18, 0, 9, 3, 0, 200}) // a version, and as a login begins
	}
	return secured, err
}
