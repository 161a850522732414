package gateway

import (
	"bytes"
	"runtime"
	"strconv"
	"sync"
)

// Game code runs on a goroutine that the hub waits for. What waits for the hub there would wait for itself, so Do has to know
// its caller: Go has no other name for a goroutine than the number in its stack trace, which takes microseconds to ask for,
// the more the deeper the stack is.

// stackTops are buffers for the first line of a trace: a tick allocates nothing.
var stackTops = sync.Pool{New: func() any { return new([64]byte) }}

// goroutine returns the number of the goroutine that calls it.
func goroutine() uint64 {
	buf := stackTops.Get().(*[64]byte)
	defer stackTops.Put(buf)
	text := bytes.TrimPrefix(buf[:runtime.Stack(buf[:], false)], []byte("goroutine "))
	number, _, _ := bytes.Cut(text, []byte(" "))
	n, _ := strconv.ParseUint(string(number), 10, 64)
	return n
}

// play runs code of the game, or what was given to Do, in which Do says that it cannot wait.
func (h *Hub) play(fn func()) {
	id := h.home
	if id == 0 {
		id = goroutine()
	}
	was := h.playing.Swap(id)
	defer h.playing.Store(was)
	fn()
}

// Playing reports whether the game is the caller: Step, Terrain, or a function given to Do.
func (h *Hub) Playing() bool {
	id := goroutine()
	_, works := h.workers.ids.Load(id)
	return works || h.playing.Load() == id
}
