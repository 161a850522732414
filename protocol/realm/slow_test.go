package realm

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/internal/promise"
	"parley/internal/shell/shelltest"
	"parley/protocol/realm/core"
)

// T38: a crowd of connections that say a byte now and then: some in the handshake, some in
// their first message, some in a login. All are cut by the deadlines, none costs more than
// 64 KiB, and meanwhile a hundred honest players log in. There are 5,000 in the gate, with
// T38's 10 s to log in, of which 2,048 are there at once, and 600 with 3 s in every run; more where the machine takes longer to
// connect so many. The page's own deadlines are TestDeadlines's.
func TestSlowConnectionsAreCut(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("one host has 64 connections before it has entered, and there is no other host here")
	}
	slow, honest := promise.Keeps(t, "T38", "realm", shelltest.Tier(600, 5000, 5000)), 100
	if testing.Short() || shelltest.Race {
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
	before := shelltest.InUse()
	// Go raises its soft limit of descriptors to the hard one by itself, here and in the crowd's process.
	crowd := shelltest.StartHelper(t, loadVariable, "crowd")
	var failed, left int
	crowd.Ask(t, fmt.Sprint("slow ", p.server.Addr(), " ", slow, " ", within/10), &failed)
	s := p.server.Stats()
	open := int64(s.Streams.Accepted-s.Streams.BadShake-s.Streams.Hasty-s.Streams.Crowded) - int64(s.Mux.Ended) - 1
	each := int64(shelltest.InUse()-before) / max(open, 1)
	t.Logf("%d of %d slow ones are there, %d bytes each, with %v to log in; %d failed to open", open, slow, each, within, failed)
	if few := open < min(int64(slow), 2048)/2; few && !last {
		p.server.Close()
		return false
	} else if few {
		t.Errorf("only %d of %d were there at once: %+v", open, slow, s)
	}
	if each > 64<<10 && !shelltest.Race {
		t.Errorf("%d bytes a connection, want at most 64 KiB", each)
	}
	took := p.enterHonestly(honest)
	t.Logf("honest players, from dialling to being in: p50 %v, p99 %v", took[len(took)/2], took[len(took)*99/100])
	if p99 := took[len(took)*99/100]; p99 > max(time.Second, 50*dial) && !shelltest.Race {
		t.Errorf("an honest player took %v to log in", p99)
	}
	if crowd.Ask(t, "cut", &left); left != 0 {
		t.Errorf("%d slow ones ended by themselves", left)
	}
	patient.Until(t, "only the honest are left", func() bool { return p.server.Stats().Mux.Players == honest && p.server.Stats().Mux.Waiting <= 1 })
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
