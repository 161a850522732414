package gateway

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"
)

// workers run the steps of rooms, on as many cores as there are. The hub waits for a step until another room is due, and goes
// on without a room whose step takes longer. So a slow room delays no other, and one that never ends costs its core.
type workers struct {
	work  chan *Room
	done  chan *Room // those that the hub does not wait for any more come here too
	ids   sync.Map   // the goroutines: code of the game runs on them
	group sync.WaitGroup
	late  *time.Timer
}

// What became of a step: the hub and the worker agree by a swap.
const (
	stepRuns = iota
	stepDone
	stepGivenUp
)

// employ has workers run steps until the function that it returns is called.
func (h *Hub) employ() (dismiss func()) {
	w := &h.workers
	w.work, w.done = make(chan *Room, h.cfg.MaxRooms), make(chan *Room, 2*h.cfg.MaxRooms) // a room that ends comes twice: see shared
	w.late = time.NewTimer(0)
	for range runtime.GOMAXPROCS(0) {
		h.addWorker()
	}
	return func() {
		close(w.work)
		w.work = nil
		w.group.Wait()
	}
}

// addWorker adds a worker. It ends when it is dismissed, when the hub has given up the room that it is at, or when the game
// ends its goroutine.
func (h *Hub) addWorker() {
	w := &h.workers
	w.group.Add(1)
	work := w.work
	go func() {
		id := goroutine()
		w.ids.Store(id, true)
		defer w.ids.Delete(id)
		for r := range work {
			r.worker.Store(id)
			if !h.stepOn(r) {
				return
			}
		}
		w.group.Done()
	}()
}

// stepOn runs a room's step, and reports whether the worker goes on.
func (h *Hub) stepOn(r *Room) (goesOn bool) {
	defer func() {
		r.working.Store(false)
		switch {
		case !r.fate.CompareAndSwap(stepRuns, stepDone): // the hub has put another in this one's place
			goesOn = false
		case !goesOn:
			h.addWorker()
			h.workers.group.Done()
			fallthrough
		default:
			h.workers.done <- r
		}
	}()
	r.working.Store(true)
	r.step()
	return true
}

// run has the steps of rooms run, and returns when all are done, or when another room is due: those that are not done then
// come back later.
func (h *Hub) run(due []*Room) {
	w := &h.workers
	if w.work == nil { // in a hub that does not run
		for _, r := range due {
			r.state = roomStepping
			h.play(func() { r.step() })
			h.returned(r)
		}
		return
	}
	waiting := 0
	for _, r := range due {
		r.state, r.tick, r.looks = roomStepping, r.sim.Tick(), 0
		r.fate.Store(stepRuns)
		w.work <- r
		waiting++
	}
	if waiting == 0 {
		return
	}
	w.late.Reset(time.Until(h.wakeAt()))
	defer w.late.Stop()
	for waiting > 0 || len(h.unsafe) > 0 {
		select {
		case r := <-w.done:
			if h.returned(r); r.shared == nil {
				waiting--
			}
		case <-h.notify:
			h.checkKept()
		case <-w.late.C:
			return
		}
	}
}

// returned takes a room back whose step is done.
func (h *Hub) returned(r *Room) {
	if r.state != roomStepping { // it was given up or closed meanwhile
		if r.shared != nil {
			r.shared.ended()
		}
		if r.why == errRoomClosed {
			r.pour(r.sim.Facts())
			r.conclude(r.err)
		}
		return
	}
	if r.err != nil {
		h.end(r, r.err)
		return
	}
	if r.shared != nil {
		r.shared.returned()
		return
	}
	r.state = roomRan
	r.settle()
	r.pour(r.sim.Facts())
	if !r.isSafe() {
		h.unsafe = append(h.unsafe, r)
		return
	}
	h.ran = append(h.ran, r)
}

// watch gives up rooms whose steps do not end. A step counts by how often it was looked at, not by the clock: a machine that
// was asleep has not been spinning.
func (h *Hub) watch(now time.Time) {
	if now.Sub(h.watched) < watchEvery {
		return
	}
	h.watched = now
	for i := 0; i < len(h.awake); i++ {
		r := h.awake[i]
		if r.state != roomStepping || !r.working.Load() {
			r.looks = 0
			continue
		}
		if r.looks++; r.looks < h.patience || !r.fate.CompareAndSwap(stepRuns, stepGivenUp) {
			continue
		}
		h.workers.group.Done()
		h.addWorker()
		h.log.Error("a room does not end its step and is given up: restart the server to have its core back", "room", r.Name(), "tick", r.tick, "stack", stackOf(r.worker.Load()))
		err := fmt.Errorf("room %s does not end its step of tick %d", r.Name(), r.tick)
		h.mu.Lock()
		h.wrong = errors.Join(h.wrong, err)
		h.mu.Unlock()
		h.end(r, err)
		i--
	}
}

// stackOf returns the stack of a goroutine.
func stackOf(id uint64) string {
	buf := make([]byte, maxStacks)
	all := string(buf[:runtime.Stack(buf, true)])
	for _, one := range strings.Split(all, "\n\n") {
		if strings.HasPrefix(one, fmt.Sprintf("goroutine %d ", id)) {
			return one
		}
	}
	return ""
}
