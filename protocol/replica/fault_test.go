package replica

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
// hundred, at the server and at its clients, which talk both ways: all connect, what is
// reliable comes once and in its order, large messages come whole, all hear the goodbye,
// and the server lives on.
func TestSocketFaultsCostNothingReliable(t *testing.T) {
	r := newRand(t)
	for name, c := range map[string]udp.Config{"batched": {}, "small batches, without joining": {Batch: 4, NoGSO: true, NoGRO: true}, "plain": {Plain: true}} {
		faulty := kernel(shelltest.Faulty(c, r.Uint64()))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			surviveFaults(t, faulty, 4, 100)
		})
	}
	for range promise.Keeps(t, "T61", "replica", rounds(10, 200)) {
		seed := r.Uint64()
		t.Run(fmt.Sprintf("memory, seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				at := memory()
				at.Config = shelltest.Faulty(at.Config, seed)
				surviveFaults(t, at, 8, 150)
			})
		})
	}
}

// surviveFaults has clients send messages that the server echoes.
func surviveFaults(t *testing.T, at *place, clients, messages int) {
	s := at.serve(t, Config{}, echo(t))
	done := make(chan error)
	for range clients {
		go func() { done <- sayAll(t, at, s, messages) }()
	}
	for range clients {
		if err := patient.Value(done); err != nil {
			t.Error(err)
		}
	}
	if st := s.Stats().Socket; st.OutFaults.Total() == 0 || st.OutLost == 0 {
		t.Errorf("no fault struck: %+v", st)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

// sayAll connects, says messages in every mode and reads until all that is reliable has
// come back.
func sayAll(t *testing.T, at *place, s *Server, messages int) error {
	x, err := at.tryDial(t.Context(), t, s.Addr(), Config{})
	if err != nil {
		return err
	}
	defer x.Close(t.Context())
	size := func(i int) int { return 4 + i%7*(i%7)*(i%7)*6 } // up to 1,300 bytes: two packets
	for i := range messages {
		data := make([]byte, size(i))
		binary.LittleEndian.PutUint32(data, uint32(i))
		for mode, data := range map[Mode][]byte{Unreliable: data[:4], Reliable: data[:4], Ordered: data} {
			if err := x.Send(mode, "m", data); err != nil {
				return fmt.Errorf("send: %w", err)
			}
		}
	}
	loose, sure, ordered := map[uint32]bool{}, map[uint32]bool{}, 0
	for ev := range x.Events() {
		if ev.Kind != EventMessage {
			return fmt.Errorf("after %d and %d of %d: %v (%v)", len(sure), ordered, messages, ev.Kind, ev.Close)
		}
		n := binary.LittleEndian.Uint32(ev.Data)
		seen := loose
		if ev.Reliable {
			seen = sure
		}
		switch {
		case ev.Ordered && (int(n) != ordered || len(ev.Data) != size(ordered)):
			return fmt.Errorf("ordered message %d of %d bytes came as number %d", n, len(ev.Data), ordered)
		case ev.Ordered:
			ordered++
		case seen[n]:
			return fmt.Errorf("message %d came twice", n)
		default:
			seen[n] = true
		}
		if ordered == messages && len(sure) == messages {
			return nil
		}
	}
	return nil
}
