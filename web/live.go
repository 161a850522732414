package web

import (
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Live is the data of the event live: the server as it is, or what has changed in a second.
type Live struct {
	Time    time.Time `json:"time" doc:"when it was read"`
	Full    bool      `json:"full" doc:"whether the lists have everything; else they have what is new or has changed since the event before"`
	Trouble string    `json:"trouble,omitempty" doc:"why the server is not ready; left out if it is"`
	Players int       `json:"players" doc:"players of all rooms, those who are away included"`
	Away    int       `json:"away" doc:"players whose connection is lost and whose place is held"`
	Rooms   int       `json:"rooms" doc:"rooms"`
	Point   Point     `json:"point" doc:"the newest point of the history"`

	RoomList  []Room        `json:"room_list" doc:"rooms"`
	RoomsGone []string      `json:"rooms_gone" doc:"the names of rooms that are gone"`
	People    []LivePlayer  `json:"people" doc:"players, at most 5,000"`
	Numbers   []LiveNumbers `json:"numbers" doc:"the numbers of players of whom nothing else has changed"`
	Gone      []uint32      `json:"gone" doc:"the keys of players who are gone"`
	Log       []LogLine     `json:"log" doc:"lines of the log, oldest first: the newest 256, or those that are new"`
}

// LiveNumbers is what changes of a player all the time.
type LiveNumbers struct {
	Key  uint32  `json:"key" doc:"the player's number in this stream and others"`
	RTT  float64 `json:"rtt_ms" doc:"the round-trip time of its connection in milliseconds; 0 is unknown"`
	Loss float64 `json:"loss" doc:"how many in a hundred of the bytes sent to the player in the last ten seconds were taken for lost; -1 where that is not known"`
	In   float64 `json:"in" doc:"bytes of payload a second that come from the player"`
	Out  float64 `json:"out" doc:"bytes of payload a second that are sent to the player"`
	Away bool    `json:"away" doc:"whether its connection is lost and its place is held"`
}

// LivePlayer is a player in the event live.
type LivePlayer struct {
	LiveNumbers
	ID      uint16    `json:"id" doc:"the player's number in its room"`
	Name    string    `json:"name" doc:"the player's name"`
	Dialect string    `json:"dialect" doc:"the dialect of its connection; the last one while it is away"`
	Carrier string    `json:"carrier" doc:"what brings the dialect's bytes: udp, tcp, tls, ws or wt"`
	Room    string    `json:"room" doc:"the room that it is in"`
	Address string    `json:"address" doc:"its address, host:port"`
	Since   time.Time `json:"since" doc:"when it entered"`
	Conn    uint32    `json:"conn" doc:"the number of its connection in the log"`
}

// live makes the events of /v1/live, once a second for all who watch. It has a goroutine while somebody does.
type live struct {
	op      Operator
	ready   func() error
	history *history

	mu       sync.Mutex
	watchers int
	stop     chan struct{} // closed when the last watcher has left
	over     bool
	end      chan struct{} // closed with the server
	now      *moment       // the newest; nil before the first
	next     chan struct{} // closed when there is a newer one
}

// moment is one event. All watchers share it, and nothing waits in a queue for any of them: one that reads slowly is given the newest
// moment, and all of it if it has missed one.
type moment struct {
	version uint64
	full    func() []byte // made when the first asks for it
	delta   []byte
}

// personID tells players apart: numbers are given again.
type personID struct {
	room  string
	id    uint16
	since int64
}

// person is what the feed keeps of a player.
type person struct {
	told    LivePlayer
	in, out uint64
	conn    uint32
	fates   [lossSpan]fate // a ring, of the last seconds
	at      int
	seen    uint64
	arrived uint64
	lost    uint64
}

// fate is what became of bytes in a second.
type fate struct{ arrived, lost uint64 }

func newLive(op Operator, ready func() error, h *history) *live {
	return &live{op: op, ready: ready, history: h, end: make(chan struct{}), next: make(chan struct{})}
}

// join adds a watcher, or reports that there are too many.
func (l *live) join() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.watchers >= maxListeners {
		return false
	}
	if l.watchers++; l.stop == nil {
		l.stop = make(chan struct{})
		go l.run(l.stop)
	}
	return true
}

func (l *live) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watchers--; l.watchers == 0 {
		close(l.stop)
		l.stop, l.now = nil, nil // whoever comes next is not told what was
	}
}

func (l *live) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	close(l.end)
}

// after returns what a watcher is to be told who knows a version, or nil and what to wait for.
func (l *live) after(known uint64) (text []byte, version uint64, next <-chan struct{}) {
	l.mu.Lock()
	now := l.now
	next = l.next
	l.mu.Unlock()
	switch {
	case now == nil || now.version == known:
		return nil, known, next
	case known > 0 && now.version == known+1:
		return now.delta, now.version, next
	}
	return now.full(), now.version, next
}

// run makes moments until stop is closed.
func (l *live) run(stop <-chan struct{}) {
	w := &watch{live: l, people: map[personID]*person{}, rooms: map[string]Room{}}
	ticker := time.NewTicker(stateEvery)
	defer ticker.Stop()
	for {
		l.history.look(time.Now())
		m := w.look(time.Now())
		l.mu.Lock()
		if l.stop == stop { // else it is of another
			l.now = m
			close(l.next)
			l.next = make(chan struct{})
		}
		l.mu.Unlock()
		select {
		case <-ticker.C:
		case <-stop:
			return
		}
	}
}

// watch is one run of the feed.
type watch struct {
	live   *live
	people map[personID]*person
	rooms  map[string]Room
	logged *LogLine
	at     time.Time
}

// versions and keys go on from run to run, so that a watcher cannot take one for another.
var versions struct {
	sync.Mutex
	version uint64
	key     uint32
}

func nextVersion() uint64 {
	versions.Lock()
	defer versions.Unlock()
	versions.version++
	return versions.version
}

func nextKey() uint32 {
	versions.Lock()
	defer versions.Unlock()
	versions.key++
	return versions.key
}

// look reads the server and makes a moment of it.
func (w *watch) look(now time.Time) *moment {
	took := now.Sub(w.at)
	if w.at.IsZero() {
		took = 0
	}
	w.at = now
	version := nextVersion()
	all := Live{Time: now.UTC().Truncate(time.Millisecond), Full: true, Point: w.live.history.newest(), RoomsGone: []string{}, Numbers: []LiveNumbers{}, Gone: []uint32{}}
	if err := w.live.ready(); err != nil {
		all.Trouble = err.Error()
	}
	rooms, _ := w.live.op.Rooms()
	players, _ := w.live.op.Players("")
	all.Log = some(w.live.op.LogLines())
	all.Rooms, all.Players = len(rooms), len(players)
	for i := range players {
		if players[i].Away {
			all.Away++
		}
	}
	all.RoomList = some(rooms[:min(len(rooms), maxLiveRooms)])
	players = players[:min(len(players), maxLivePlayers)]

	delta := all
	delta.Full, delta.RoomList, delta.People = false, []Room{}, []LivePlayer{}
	w.lookAtRooms(&all, &delta)
	w.lookAtPlayers(players, took, version, &all, &delta)
	delta.Log = some(behind(all.Log, w.logged))
	if n := len(all.Log); n > 0 {
		w.logged = &all.Log[n-1]
	}
	return &moment{version: version, delta: frame("live", delta), full: sync.OnceValue(func() []byte { return frame("live", all) })}
}

func (w *watch) lookAtRooms(all, delta *Live) {
	there := make(map[string]Room, len(all.RoomList))
	for _, r := range all.RoomList {
		there[r.Name] = r
		if before, ok := w.rooms[r.Name]; !ok || !sameRoom(before, r) {
			delta.RoomList = append(delta.RoomList, r)
		}
	}
	for name := range w.rooms {
		if _, ok := there[name]; !ok {
			delta.RoomsGone = append(delta.RoomsGone, name)
		}
	}
	slices.Sort(delta.RoomsGone)
	w.rooms = there
}

// sameRoom compares what may change of a room of one name.
func sameRoom(a, b Room) bool {
	return a.State == b.State && a.Tick == b.Tick && a.Players == b.Players && a.Away == b.Away && a.Late == b.Late && a.Seed == b.Seed && a.Mode == b.Mode && a.Open == b.Open && a.MaxPlayers == b.MaxPlayers && a.Kept == b.Kept
}

func (w *watch) lookAtPlayers(players []Player, took time.Duration, version uint64, all, delta *Live) {
	all.People = make([]LivePlayer, 0, len(players))
	for i := range players {
		p := &players[i]
		id := personID{p.Room, p.ID, p.Since.UnixNano()}
		who := w.people[id]
		if who == nil {
			who = &person{told: LivePlayer{LiveNumbers: LiveNumbers{Key: nextKey()}}}
			w.people[id] = who
		}
		who.seen = version
		is := who.update(p, took)
		if before := who.told; before != is {
			before.LiveNumbers = is.LiveNumbers
			if before == is {
				delta.Numbers = append(delta.Numbers, is.LiveNumbers)
			} else {
				delta.People = append(delta.People, is)
			}
		}
		who.told = is
		all.People = append(all.People, is)
	}
	for id, who := range w.people {
		if who.seen != version {
			delta.Gone = append(delta.Gone, who.told.Key)
			delete(w.people, id)
		}
	}
	slices.Sort(delta.Gone)
}

// update takes what is known of a player now, and returns it as it is told.
func (who *person) update(p *Player, took time.Duration) LivePlayer {
	is := LivePlayer{LiveNumbers{Key: who.told.Key, RTT: roughly(p.RTT), Loss: -1, Away: p.Away}, p.ID, p.Name, p.Dialect, p.Carrier, p.Room, p.Address, p.Since, p.Conn}
	if who.conn != p.Conn || p.BytesIn < who.in || p.BytesOut < who.out || p.BytesArrived < who.arrived || p.BytesLost < who.lost { // another connection
		who.fates, who.conn = [lossSpan]fate{}, p.Conn
		who.in, who.out, who.arrived, who.lost = p.BytesIn, p.BytesOut, p.BytesArrived, p.BytesLost
	}
	if took > 0 {
		is.In, is.Out = roughly(float64(p.BytesIn-who.in)/took.Seconds()), roughly(float64(p.BytesOut-who.out)/took.Seconds())
		who.fates[who.at] = fate{p.BytesArrived - who.arrived, p.BytesLost - who.lost}
		who.at = (who.at + 1) % lossSpan
	}
	who.in, who.out, who.arrived, who.lost = p.BytesIn, p.BytesOut, p.BytesArrived, p.BytesLost
	var sum fate
	for _, f := range who.fates {
		sum.arrived, sum.lost = sum.arrived+f.arrived, sum.lost+f.lost
	}
	if all := sum.arrived + sum.lost; all > 0 {
		is.Loss = roughly(100 * float64(sum.lost) / float64(all))
	}
	return is
}

// roughly leaves three digits of a number, so that one that hardly changes is not told again.
func roughly(v float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	return r
}

// watch serves a stream of what happens.
func (a *api) watch(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "text/event-stream")
		return
	}
	if !a.live.join() {
		a.refuse(w, r, refuse(http.StatusServiceUnavailable, "%d clients watch, and more may not; close one of them", maxListeners))
		return
	}
	defer a.live.leave()
	defer unhurried(w, r)()
	control := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	if err := control.Flush(); err != nil {
		return
	}
	for version := uint64(0); ; {
		text, is, next := a.live.after(version)
		if text == nil {
			select {
			case <-next:
				continue
			case <-a.live.end:
				return
			case <-r.Context().Done():
				return
			}
		}
		version = is
		control.SetWriteDeadline(time.Now().Add(writeTimeout)) // a client that does not read for so long is gone
		if _, err := w.Write(text); err != nil {
			return
		}
		if err := control.Flush(); err != nil {
			return
		}
	}
}
