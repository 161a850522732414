package udp

import "testing"

// A turn of the loop, from recvmmsg through the core to sendmmsg, allocates
// nothing, with joined datagrams and without.
func TestATurnDoesNotAllocate(t *testing.T) {
	for _, senders := range []int{1, round} {
		s := mustListen(t, Config{})
		e := newEchoLoop(t, s, newEchoCore(2*round, 2048))
		crowd := newCrowd(t, senders, payload)
		exchange := func() {
			crowd.send(t, s.LocalAddr(), round)
			e.echo(round)
			crowd.drain(t, round)
		}
		exchange()
		if n := testing.AllocsPerRun(100, exchange); n != 0 {
			t.Errorf("%v allocations for %d datagrams of %d senders, want 0", n, round, senders)
		}
	}
}
