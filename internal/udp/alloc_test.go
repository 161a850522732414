package udp

import (
	"testing"
	"time"
)

// Receiving and sending a batch allocate nothing, whatever the socket.
func TestReadAndWriteDoNotAllocate(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		a, b := p.open(t, Config{}), p.open(t, Config{})
		in, out := a.NewRecvBatch(), b.NewSendBatch()
		to, data := p.addr(a), make([]byte, 100)
		exchange := func() {
			for i := range 40 {
				out.Append(data[:100-i/20], to)
			}
			if err := b.Write(out); err != nil {
				t.Fatal(err)
			}
			for n := 0; n < 40; n += in.Len() {
				if err := a.Read(in, time.Time{}); err != nil {
					t.Fatal(err)
				}
				for m := in.Next(); m != nil; m = in.Next() {
					data[0] += m.Data[0]
				}
			}
		}
		// The plain socket makes the buffers of its queue as it goes around.
		for range 10 {
			exchange()
		}
		if n := testing.AllocsPerRun(100, exchange); n != 0 {
			t.Errorf("%v allocations for a batch, want 0", n)
		}
	})
}

// Neither do a deadline that passes and a wake.
func TestWaitingDoesNotAllocate(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		a := p.open(t, Config{})
		in := a.NewRecvBatch()
		wait := func() {
			_ = a.Read(in, time.Now().Add(10*time.Microsecond))
			a.Wake()
			if err := a.Read(in, time.Time{}); err != ErrWoken {
				t.Fatal(err)
			}
		}
		wait()
		if n := testing.AllocsPerRun(50, wait); n != 0 {
			t.Errorf("%v allocations for a wait, want 0", n)
		}
	})
}
