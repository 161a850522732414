package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// State is what a state event tells: once a second, the same for all who listen.
type State struct {
	Time    time.Time `json:"time" doc:"when it was read"`
	Trouble string    `json:"trouble,omitempty" doc:"why the server is not ready; left out if it is"`
	Rates   Rates     `json:"rates" doc:"what happened since the last state, a second"`
	Players int       `json:"players" doc:"players of all rooms"`
	Rooms   int       `json:"rooms" doc:"rooms"`

	// The lists are cut where the event would get too long.
	RoomList   []Room   `json:"room_list" doc:"rooms, as many as an event has space for"`
	PlayerList []Player `json:"player_list" doc:"players, as many as an event has space for; GET /v1/players has all"`
}

// feed makes the events of /v1/events, once for all who listen. It has a goroutine while somebody does.
type feed struct {
	op    Operator
	stats func() any
	ready func() error

	mu        sync.Mutex
	listeners map[*listener]struct{}
	stop      chan struct{} // closed when the last listener has left
	closed    bool
}

// listener is a client that reads events, or does not.
type listener struct {
	events chan []byte // bounded by maxUnread: the newest are dropped
	lost   int         // events that were dropped since the last that was not; guarded by feed.mu
	end    chan struct{}
}

func newFeed(op Operator, stats func() any, ready func() error) *feed {
	return &feed{op: op, stats: stats, ready: ready, listeners: map[*listener]struct{}{}}
}

// join adds a listener, or returns nil if there are too many.
func (f *feed) join() *listener {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || len(f.listeners) >= maxListeners {
		return nil
	}
	l := &listener{events: make(chan []byte, maxUnread), end: make(chan struct{})}
	f.listeners[l] = struct{}{}
	if f.stop == nil {
		f.stop = make(chan struct{})
		go f.run(f.stop)
	}
	return l
}

// leave removes a listener.
func (f *feed) leave(l *listener) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.listeners, l)
	if len(f.listeners) == 0 && f.stop != nil {
		close(f.stop)
		f.stop = nil
	}
}

// close ends all streams, so that a server that ends need not wait for them.
func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for l := range f.listeners {
		close(l.end)
	}
}

// tell gives an event to all listeners. One that does not read loses it.
func (f *feed) tell(event string, data any) {
	text := frame(event, data)
	f.mu.Lock()
	defer f.mu.Unlock()
	for l := range f.listeners {
		if l.lost > 0 && cap(l.events)-len(l.events) >= 2 {
			l.events <- frame("lost", Lost{l.lost})
			l.lost = 0
		}
		select {
		case l.events <- text:
		default:
			l.lost++
		}
	}
}

// Lost is what a lost event tells.
type Lost struct {
	Events int `json:"events" doc:"how many events were left out before this one, because the client read too slowly"`
}

// frame writes an event as text/event-stream has it. JSON has no line ends, so that it is one line of data.
func frame(name string, data any) []byte {
	text, err := json.Marshal(data)
	if err != nil { // a float that JSON cannot say
		text = []byte("{}")
	}
	return bytes.Join([][]byte{[]byte("event: " + name), []byte("data: " + string(text)), nil, nil}, []byte("\n"))
}

// run makes events until stop is closed. Whatever it waits for, nobody else does.
func (f *feed) run(stop <-chan struct{}) {
	ticker := time.NewTicker(logEvery)
	defer ticker.Stop()
	var logged *LogLine                 // the last line that was told
	for _, l := range f.op.LogLines() { // GET /v1/log has those
		logged = &l
	}
	ended, _ := news(f.op.Ended(), nil)
	before, at := countersOf(f.stats()), time.Now()
	for turn := 0; ; turn++ {
		if turn%int(stateEvery/logEvery) == 0 {
			now := time.Now()
			var fresh []Ending
			ended, fresh = news(f.op.Ended(), ended)
			for _, e := range fresh {
				f.tell("ended", e)
			}
			counters := countersOf(f.stats())
			f.tell("state", f.state(now, counters.since(before, now.Sub(at))))
			before, at = counters, now
		}
		for _, line := range behind(f.op.LogLines(), logged) {
			logged = &line
			f.tell("log", line)
		}
		select {
		case <-ticker.C:
		case <-stop:
			return
		}
	}
}

// behind returns the lines behind the last one that was told: all of them if that is no longer there.
func behind(lines []LogLine, last *LogLine) []LogLine {
	for i := len(lines) - 1; i >= 0 && last != nil; i-- {
		if lines[i].Time.Equal(last.Time) && lines[i].Text == last.Text {
			return lines[i+1:]
		}
	}
	return lines
}

// end tells the ends of rooms apart.
type end struct {
	room string
	at   int64
}

// news returns the ends that are known by now, which are as many as the server remembers, and those that were not known before.
func news(list []Ending, before map[end]bool) (known map[end]bool, fresh []Ending) {
	known = map[end]bool{}
	for _, e := range list {
		known[e.end()] = true
		if !before[e.end()] {
			fresh = append(fresh, e)
		}
	}
	return known, fresh
}

func (e Ending) end() end { return end{e.Room, e.Ended.UnixNano()} }

// state reads the server. A part that cannot be read, as the server is ending, is left empty.
func (f *feed) state(now time.Time, rates Rates) State {
	s := State{Time: now.UTC().Truncate(time.Millisecond), Rates: rates}
	if err := f.ready(); err != nil {
		s.Trouble = err.Error()
	}
	rooms, _ := f.op.Rooms()
	players, _ := f.op.Players("")
	s.Rooms, s.Players = len(rooms), len(players)
	s.RoomList, s.PlayerList = within(rooms, maxEvent/2), within(players, maxEvent/2)
	return s
}

// within returns as much of a list as n bytes of JSON hold.
func within[T any](list []T, n int) []T {
	for i := range list {
		text, _ := json.Marshal(list[i])
		if n -= len(text) + 1; n < 0 {
			return some(list[:i])
		}
	}
	return some(list)
}

// events serves a stream of events.
func (a *api) events(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "text/event-stream")
		return
	}
	l := a.feed.join()
	if l == nil {
		a.refuse(w, r, refuse(http.StatusServiceUnavailable, "%d clients read events, and more may not; close one of them", maxListeners))
		return
	}
	defer a.feed.leave(l)
	defer unhurried(w, r)()
	control := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	for {
		if err := control.Flush(); err != nil {
			return
		}
		var text []byte
		select {
		case text = <-l.events:
		case <-l.end:
			return
		case <-r.Context().Done():
			return
		}
		control.SetWriteDeadline(time.Now().Add(writeTimeout)) // a client that does not read for so long is gone
		if _, err := w.Write(text); err != nil {
			return
		}
	}
}
