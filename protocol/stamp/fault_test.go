package stamp

import (
	"encoding/binary"
	"fmt"
	"testing"
	"testing/synctest"

	"parley/internal/patient"
	"parley/internal/promise"
	"parley/internal/shell/shelltest"
	"parley/internal/udp"
)

// T61: ECONNREFUSED, ENOBUFS, EMSGSIZE, EAGAIN and EPERM, each for one system call in a
// hundred, at the server and at its clients: all connect, what is reliable comes once and in
// its order, all hear the goodbye, and the server lives on.
func TestSocketFaultsCostNothingReliable(t *testing.T) {
	r := newRand(t)
	for name, c := range map[string]udp.Config{"batched": {}, "small batches, without joining": {Batch: 4, NoGSO: true, NoGRO: true}, "plain": {Plain: true}} {
		faulty := kernel(shelltest.Faulty(c, r.Uint64()))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			surviveFaults(t, faulty, 4, 100)
		})
	}
	for range promise.Keeps(t, "T61", "stamp", shelltest.Rounds(1000, 10_000)) / 50 {
		seed := r.Uint64()
		t.Run(fmt.Sprintf("memory, seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				at := memory()
				at.Config = shelltest.Faulty(at.Config, seed)
				surviveFaults(t, at, 8, 300)
			})
		})
	}
}

func surviveFaults(t *testing.T, at *place, clients, packets int) {
	s := at.serve(t, Config{}, func(c *Conn, ev Event) {
		if ev.Kind != EventConnected {
			return
		}
		for i := range packets {
			for _, mode := range []Mode{Unreliable, Reliable, Ordered} {
				if err := c.Send(mode, binary.LittleEndian.AppendUint32(nil, uint32(i))); err != nil {
					t.Errorf("send: %v", err)
				}
			}
		}
	})
	done := make(chan error)
	for range clients {
		go func() { done <- takeAll(t, at, s, packets) }()
	}
	for range clients {
		if err := patient.Value(done); err != nil {
			t.Error(err)
		}
	}
	st := s.Stats()
	if faults := st.Socket.OutFaults; faults.Total() == 0 || st.Socket.OutLost == 0 {
		t.Errorf("no fault struck: %+v", st.Socket)
	}
	if err := st.MuxStats.Check(); err != nil {
		t.Error(err)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

// takeAll connects and reads until all that is reliable has come.
func takeAll(t *testing.T, at *place, s *Server, packets int) error {
	x, err := at.tryDial(t.Context(), t, s.Addr(), Config{})
	if err != nil {
		return err
	}
	defer x.Close(t.Context())
	loose, sure, ordered := map[uint32]bool{}, map[uint32]bool{}, 0
	for ev := range x.Events() {
		if ev.Kind != EventEntity {
			return fmt.Errorf("after %d and %d of %d: %v (%v)", len(sure), ordered, packets, ev.Kind, ev.Close)
		}
		n := binary.LittleEndian.Uint32(ev.Data)
		seen := loose
		if ev.Reliable {
			seen = sure
		}
		switch {
		case ev.Ordered && int(n) != ordered:
			return fmt.Errorf("ordered packet %d came as number %d", n, ordered)
		case ev.Ordered:
			ordered++
		case seen[n]:
			return fmt.Errorf("packet %d came twice", n)
		default:
			seen[n] = true
		}
		if ordered == packets && len(sure) == packets {
			return nil
		}
	}
	return nil
}
