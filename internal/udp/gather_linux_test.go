package udp

import (
	"net/netip"
	"testing"
	"time"

	"parley/internal/datagram"
	"parley/internal/gather"
)

// One who asks and waits for the answer wakes the loop as often as a crowd does. Whatever the
// machine's pace, the loop makes it wait at most now and then.
func TestALoneAskerIsSeldomMadeToWait(t *testing.T) {
	const asks = 3000
	server, client := openLoopback(t, Config{}), openLoopback(t, Config{})
	startLoop(t, server, newScriptEcho(), datagram.LoopConfig{})
	in := client.NewRecvBatch()
	for range asks {
		send(t, client, server.LocalAddr(), []byte("ask"))
		collect(t, client, in, 1)
	}
	if got, most := server.Stats().InGathers, uint64(10+asks/gather.MaxSkip); got > most {
		t.Errorf("%d waits in %d asks, want at most %d", got, asks, most)
	}
}

// Datagrams of many that come while the loop waits are all there when it reads, and commands
// are run.
func TestACrowdThatIsGatheredIsServed(t *testing.T) {
	const clients, rounds = 20, 50
	server := openLoopback(t, Config{Gather: time.Millisecond})
	l := startLoop(t, server, newScriptEcho(), datagram.LoopConfig{})
	var all [clients]*Socket
	var in [clients]*RecvBatch
	for i := range all {
		all[i] = openLoopback(t, Config{})
		in[i] = all[i].NewRecvBatch()
	}
	for range rounds {
		for _, c := range all {
			send(t, c, server.LocalAddr(), []byte("a"), []byte("bc"))
		}
		if err := l.Do(func() {}); err != nil {
			t.Fatal(err)
		}
		for i, c := range all {
			collect(t, c, in[i], 2)
		}
	}
	if err := l.Do(func() {}); err != nil { // what a turn wrote is counted before the next one
		t.Fatal(err)
	}
	if s := server.Stats(); s.InDatagrams != 2*clients*rounds || s.OutDatagrams != s.InDatagrams {
		t.Errorf("%+v", s)
	}
}

func openLoopback(t *testing.T, c Config) *Socket {
	t.Helper()
	s, err := Listen(netip.MustParseAddrPort("127.0.0.1:0").String(), c)
	if err != nil {
		t.Fatal(err)
	}
	ours.Store(s.LocalAddr().Port(), true)
	t.Cleanup(func() { s.Close() })
	return s
}
