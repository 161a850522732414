package ws

import (
	"runtime"
	"testing"

	"parley/internal/kit"
	"parley/internal/patient"
)

// The rows of docs/limits.md: what a session holds, beside what its dialect does.

func TestAnIdleSessionHoldsWhatThePageSays(t *testing.T) {
	const n = 100
	ways(t, func(t *testing.T, f *field) {
		hall := f.building.Hall("replica")
		f.raw(t, "replica") // what is there once
		idle := func() int {
			for range n {
				f.raw(t, "replica")
			}
			patient.Until(t, "all are open", func() bool { return hall.Stats().Open == n+1 })
			return n
		}
		if f.isApart() {
			kit.Held(t, "any, over WebSocket with TLS, or not on Linux", "a session, idle", idle)
		} else {
			kit.Held(t, "any, over WebSocket", "a session, idle", idle)
		}
	})
}

func (f *field) isApart() bool { return f.ws.apart || runtime.GOOS != "linux" }

func TestADeafSessionHoldsWhatThePageSays(t *testing.T) {
	const n = 8
	ways(t, func(t *testing.T, f *field) {
		hall := f.building.Hall("replica")
		f.raw(t, "replica").Close()
		floods := int64(0)
		full := func() int {
			for range n {
				c, dropped := f.raw(t, "replica"), hall.Stats().OutOld
				patient.Until(t, "its queue is full", func() bool {
					switch {
					case f.core.done.Load() < floods:
						return false
					case hall.Stats().OutOld > dropped:
						return true
					}
					floods++
					c.Write(frame(0x82, 0x85, nil, "flood")) // a thousand answers, 1.2 MB
					return false
				})
			}
			return n
		}
		if f.isApart() {
			kit.Held(t, "any, over WebSocket with TLS, or not on Linux", "a session, all queues full", full)
		} else {
			kit.Held(t, "any, over WebSocket", "a session, all queues full", full)
		}
	})
}
