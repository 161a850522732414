package gateway

import (
	"encoding/json"
	"slices"
	"time"
)

// Ended is a room that its game has ended.
type Ended struct {
	Room   string    `json:"-"`
	Opened int64     `json:"opened"` // Unix µs: tells it from other rooms of that name
	Tick   uint64    `json:"tick"`   // the last
	Index  uint32    `json:"index"`  // of the last fact
	At     time.Time `json:"at"`
	Result string    `json:"result"`

	gone <-chan struct{} // closed when its files are aside; nil if they are, or if there are none
	kept bool
}

// last returns the place of the fact that the room has ended.
func (e *Ended) last() Place { return Place{e.Opened, e.Tick, e.Index} }

// errOver is what players are told whose game is over.
type errOver struct{ result string }

func (e errOver) Error() string {
	if e.result == "" {
		return "the room has ended"
	}
	return string(cutText([]byte("the room has ended: "+e.result), maxChat))
}

// finish makes the entry of the tick the room's last, if the game has ended the room. A worker calls it before Seal.
func (r *Room) finish() {
	if result, over := r.sim.Over(); over {
		r.sim.End([]byte(result))
	}
}

// isOver ends a room whose last tick was told. The main room begins anew.
func (r *Room) isOver() bool {
	if !r.sim.Ended() {
		return false
	}
	r.over = r.outcome()
	if r.kept != nil {
		r.over.gone, r.over.kept = r.kept.Gone(), true
	}
	r.hub.addEnded(r.over)
	r.hub.log.Info("the room has ended", "room", r.Name(), "tick", r.over.Tick, "result", r.over.Result)
	r.hub.end(r, errOver{r.over.Result})
	r.hub.rouse()
	return true
}

// outcome is what stays of a room that has ended.
func (r *Room) outcome() *Ended {
	result, _ := r.sim.World().Ended()
	e := &Ended{Room: r.Name(), Opened: r.settings.Opened, Tick: r.sim.Tick() - 1, At: time.Now(), Result: result}
	if last, known := r.sim.LastFact(); known && last.Tick == e.Tick {
		e.Index = last.Index
	}
	return e
}

// addEnded keeps the newest rooms that have ended.
func (h *Hub) addEnded(e *Ended) {
	h.ended = append(h.ended, e)
	if n := len(h.ended) - maxEnded; n > 0 {
		h.ended = slices.Delete(h.ended, 0, n)
	}
}

// putAside has the files of a room that has ended kept, with its result.
func (r *Room) putAside(e *Ended) {
	text, err := json.Marshal(e)
	if err != nil { // a time and numbers
		r.hub.log.Error("the result of a room cannot be kept", "room", r.Name(), "err", err)
	}
	r.kept.EndWith(text)
}

// recallEnded reads which rooms had ended when the server was stopped.
func (h *Hub) recallEnded() {
	for _, k := range h.cfg.Shelf.Ended() {
		e := endedOf(k.Result)
		e.Room, e.kept = k.Room, true
		h.addEnded(e)
		h.opened = max(h.opened, e.Opened)
	}
}

// endedOf reads what putAside wrote. A text that nobody has written is no room that anybody asks for.
func endedOf(text []byte) *Ended {
	e := &Ended{}
	_ = json.Unmarshal(text, e)
	return e
}

// Ended returns the rooms that their game has ended, the newest last. Call it in Do.
func (h *Hub) Ended() (list []Ended) {
	for _, e := range h.ended {
		list = append(list, *e)
	}
	return list
}

// stampOpened returns when a room is opened, in Unix µs: later than all others, whatever the clock does.
func (h *Hub) stampOpened() int64 {
	h.opened = max(h.opened+1, time.Now().UnixMicro())
	return h.opened
}

// openMainAgain opens the main room anew when its game has ended it, with the settings that it had.
func (h *Hub) openMainAgain(old *Room) error {
	sim, err := old.sim.Again()
	if err != nil {
		return err
	}
	s := old.settings
	s.Opened = h.stampOpened()
	r := h.newRoomOf(s, sim)
	if err := r.keep(); err != nil {
		h.log.Error("the main room is not kept", "err", err)
		if sim, err = old.sim.Again(); err != nil {
			return err
		}
		r = h.newRoomOf(s, sim)
	}
	h.main, h.rooms[MainRoom] = r, r
	h.schedule(r)
	return nil
}
