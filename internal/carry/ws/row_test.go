package ws

import (
	"testing"

	"github.com/coder/websocket"

	"parley/internal/kit"
	"parley/internal/patient"
)

// The rows of docs/limits.md: what a session holds, beside what its dialect does.

func TestAnIdleSessionHoldsWhatThePageSays(t *testing.T) {
	const n = 100
	f := newField(t, true)
	hall := f.building.Hall("replica")
	f.raw(t, "replica").Close() // what is there once
	kit.Held(t, "any, over WebSocket", "a session, idle", func() int {
		for range n {
			f.raw(t, "replica")
		}
		patient.Until(t, "all are open", func() bool { return hall.Stats().Open == n })
		return n
	})
}

func TestADeafSessionHoldsWhatThePageSays(t *testing.T) {
	const n = 8
	f := newField(t, true)
	hall := f.building.Hall("replica")
	f.raw(t, "replica").Close()
	other := f.dial(t, "replica")
	kit.Held(t, "any, over WebSocket", "a session, all queues full", func() int {
		for range n {
			c, dropped := f.raw(t, "replica"), hall.Stats().OutOld
			for range 100 {
				c.Write(frame(0x82, 0x85, nil, "flood")) // a thousand answers, 1.2 MB
				other.Write(t.Context(), websocket.MessageBinary, []byte("hello"))
				if _, _, err := other.Read(t.Context()); err != nil { // all before it was answered
					t.Fatal(err)
				}
				if hall.Stats().OutOld > dropped+900 {
					break
				}
			}
			if hall.Stats().OutOld == dropped {
				t.Error("its queue is not full")
			}
		}
		return n
	})
}
