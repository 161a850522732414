package gateway

import "fmt"

// barred is a room of which no stage begins on this server any more, as one was stopped: the next would be too.
type barred struct {
	opened int64 // which room of the name
	why    error // for operators
}

// bar has no stage of a room begin here any more, until there is another room of its name or the server is started again. Players are told to connect to
// another server, and Degraded says why.
func (a *alliance) bar(r *Room, why error) {
	h := a.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.barred == nil {
		h.barred = map[string]barred{}
	}
	h.barred[r.Name()] = barred{r.settings.Opened, fmt.Errorf("room %s was stopped on this server, and its players are sent to others (%w): serve the same build on all servers, and restart this one", r.Name(), why)}
}

// unbar lets stages of a name begin again.
func (a *alliance) unbar(name string) {
	h := a.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.barred, name)
}

// noRoom is what somebody is told whose room has ended here.
func (r *Room) noRoom(s *Seat) Refusal {
	if r.why == errStopped {
		return RefusedDrained
	}
	return s.noRoom()
}
