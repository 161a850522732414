package parley

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// Players who wait for a match at any server wait in the queue of one: the living server with the lowest ID. The others tell it again and again who
// waits with them, all of them each time, and are told who was matched. What a server tells is true by itself, so nothing has to be remembered when a
// message is lost, or when the server with the queue dies: the next one is told the same. A player who has left is in the list no more, and neither are
// those of a server that died.
type afar struct {
	mu      sync.Mutex
	last    uint64            // the number of the last who waited here
	waits   map[uint64]*asker // at another server's queue
	polling bool
	tables  map[uint64]*table // of the servers whose players wait in this one's queue
	sweeps  bool
	over    bool // nothing is begun any more
	work    sync.WaitGroup
}

// end ends what is under way, and waits for it. The game has ended.
func (a *allies) end() {
	a.cancel()
	a.afar.mu.Lock()
	a.afar.over = true
	a.afar.mu.Unlock()
	a.afar.work.Wait()
}

// asker is a player who waits at this server for the queue of another.
type asker struct {
	wish matchWish
	out  chan matched // of one
}

// table is what the server with the queue knows of another's players.
type table struct {
	heard   time.Time
	waiting map[uint64]*matching
	done    map[uint64]matchAnswer // told until the other does not ask any more
}

type matchWish struct {
	ID      uint64     `json:"i"`
	Name    string     `json:"n,omitempty"`
	Mode    string     `json:"m,omitempty"`
	Players int        `json:"p,omitempty"`
	From    netip.Addr `json:"f,omitzero"`
}

type matchPoll struct {
	Node uint64            `json:"node"`
	List []json.RawMessage `json:"list"`
}

type matchAnswer struct {
	ID     uint64            `json:"i"`
	Room   string            `json:"r,omitempty"`
	Ticket []byte            `json:"t,omitempty"`
	Addrs  map[string]string `json:"a,omitempty"`
	Error  string            `json:"e,omitempty"`
}

const (
	matchTopic = "parley.match"

	// pollEach is how often a server tells who waits with it: as long, a match of players at several servers takes more.
	pollEach = 100 * time.Millisecond

	// pollLost is after how long the players of a server that says nothing have left.
	pollLost = 5 * time.Second

	// maxAskers bounds the players who wait at a server for the queue of another, and maxPoll the bytes that are told of them at a time: a message of NATS
	// may have 1 MiB. Those beyond maxPoll are told when others have left.
	maxAskers = 4096
	maxPoll   = 900 << 10

	// waitMost is how long a player waits, whatever becomes of the server with the queue: as long as in a queue.
	waitMost = 30 * time.Second
)

// queue returns the server that has the queue, and whether it is this one.
func (a *allies) queue() (node uint64, own bool) {
	ids := a.cluster.Living()
	if len(ids) == 0 {
		return a.cluster.ID(), true
	}
	node = slices.Min(ids)
	return node, node == a.cluster.ID()
}

// match waits in the queue of the cluster, wherever that is. If it comes to be at another server, the player waits there, and not longer in all.
func (a *allies) match(ctx context.Context, r MatchRequest) (MatchResult, error) {
	late, cancel := context.WithTimeoutCause(ctx, waitMost, ErrNobody)
	defer cancel()
	m, err := MatchResult{}, error(nil)
	for moved := true; moved; {
		if _, own := a.queue(); !own {
			m, err = a.matchAfar(late, r)
			break
		}
		m, moved, err = a.matchHere(late, r)
	}
	if err != nil && late.Err() != nil && ctx.Err() == nil {
		err = ErrNobody
	}
	return m, err
}

// matchHere waits in the queue of this server, until that is at another.
func (a *allies) matchHere(ctx context.Context, r MatchRequest) (m MatchResult, moved bool, err error) {
	w, err := a.server.matches.join(r)
	if err != nil {
		return m, false, err
	}
	each := time.NewTicker(time.Second)
	defer each.Stop()
	for {
		select {
		case out := <-w.out:
			return out.MatchResult, false, out.err
		case <-ctx.Done():
			a.server.matches.leave(w.id)
			return m, false, ctx.Err()
		case <-a.server.done:
			a.server.matches.leave(w.id)
			return m, false, ErrClosed
		case <-each.C:
		}
		if _, own := a.queue(); own {
			continue
		}
		a.server.matches.leave(w.id)
		select {
		case out := <-w.out: // in the last moment
			return out.MatchResult, false, out.err
		default:
			return m, true, nil
		}
	}
}

// matchAfar waits in the queue of another server.
func (a *allies) matchAfar(ctx context.Context, r MatchRequest) (m MatchResult, err error) {
	f := &a.afar
	f.mu.Lock()
	if len(f.waits) >= maxAskers {
		f.mu.Unlock()
		return m, ErrTooManyWait
	}
	f.last++
	w := &asker{matchWish{f.last, r.Name, r.Mode, r.Players, r.From.Unmap()}, make(chan matched, 1)}
	if f.waits == nil {
		f.waits = map[uint64]*asker{}
	}
	f.waits[w.wish.ID] = w
	if !f.polling && !f.over {
		f.polling = true
		f.work.Go(a.poll)
	}
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.waits, w.wish.ID)
		f.mu.Unlock()
	}()
	select {
	case out := <-w.out:
		return out.MatchResult, out.err
	case <-ctx.Done():
		return m, ctx.Err()
	case <-a.server.done:
		return m, ErrClosed
	}
}

// poll tells the server with the queue who waits here, until nobody does, and once more so that it knows that.
func (a *allies) poll() {
	each := time.NewTicker(pollEach)
	defer each.Stop()
	for some := true; some; {
		body, n := a.waitingHere()
		some = n > 0
		node, _ := a.queue() // it may be this one by now
		ctx, cancel := context.WithTimeout(a.ctx, pollLost/2)
		text, err := a.cluster.AskNode(ctx, node, matchTopic, body)
		cancel()
		var answers []matchAnswer
		if err == nil && json.Unmarshal(text, &answers) == nil {
			a.matchedAfar(answers)
		}
		select {
		case <-each.C:
		case <-a.ctx.Done():
			return
		}
		a.afar.mu.Lock()
		some = some || len(a.afar.waits) > 0
		a.afar.polling = some
		a.afar.mu.Unlock()
	}
}

// waitingHere returns a poll, and how many are in it: those who have waited longest, if it cannot have all.
func (a *allies) waitingHere() (body []byte, n int) {
	f := &a.afar
	f.mu.Lock()
	list := make([]matchWish, 0, len(f.waits))
	for _, w := range f.waits {
		list = append(list, w.wish)
	}
	f.mu.Unlock()
	slices.SortFunc(list, func(x, y matchWish) int { return int(int64(x.ID - y.ID)) })
	p, size := matchPoll{Node: a.cluster.ID(), List: []json.RawMessage{}}, 0
	for _, w := range list {
		one, err := json.Marshal(w)
		if size += len(one) + 1; err != nil || size > maxPoll {
			break
		}
		p.List = append(p.List, one)
	}
	body, err := json.Marshal(p)
	if err != nil { // numbers and names
		a.server.Log().Error("who waits for a match cannot be told", "err", err)
	}
	return body, len(p.List)
}

// matchedAfar tells players what became of their waiting.
func (a *allies) matchedAfar(answers []matchAnswer) {
	f := &a.afar
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range answers {
		if w := f.waits[x.ID]; w != nil {
			delete(f.waits, x.ID)
			w.out <- matched{MatchResult{Room: x.Room, Ticket: x.Ticket, Addrs: x.Addrs}, matchError(x.Error)}
		}
	}
}

// matchErrors are those that a player is told who waits in the queue of another server.
var matchErrors = []error{ErrNobody, ErrTooManyWait, ErrBanned, ErrClosed, ErrMatch}

func matchError(text string) error {
	if text == "" {
		return nil
	}
	for _, err := range matchErrors {
		if text == err.Error() {
			return err
		}
		if detail, is := strings.CutPrefix(text, err.Error()+": "); is {
			return fmt.Errorf("%w: %s", err, detail)
		}
	}
	return fmt.Errorf("parley: no match: %s", text)
}

// answerMatch has the players of another server wait in the queue here: those in its list, and no others of it.
func (a *allies) answerMatch(_ context.Context, body []byte) []byte {
	var p matchPoll
	if json.Unmarshal(body, &p) != nil {
		return nil
	}
	f := &a.afar
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, own := a.queue(); !own {
		a.leaveTable(p.Node)
		return nil
	}
	t := f.tables[p.Node]
	if t == nil {
		if len(p.List) == 0 {
			return nil
		}
		if f.tables == nil {
			f.tables = map[uint64]*table{}
		}
		t = &table{waiting: map[uint64]*matching{}, done: map[uint64]matchAnswer{}}
		f.tables[p.Node] = t
	}
	t.heard = time.Now()
	there := map[uint64]bool{}
	for _, text := range p.List {
		var w matchWish
		if json.Unmarshal(text, &w) == nil {
			there[w.ID] = true
			a.waitsHere(t, w)
		}
	}
	answers := []matchAnswer{}
	for id, w := range t.waiting {
		select {
		case out := <-w.out:
			delete(t.waiting, id)
			t.done[id] = answerOf(id, out)
		default:
			if !there[id] {
				delete(t.waiting, id)
				a.server.matches.leave(w.id)
			}
		}
	}
	for id, x := range t.done {
		if !there[id] {
			delete(t.done, id)
			continue
		}
		answers = append(answers, x)
	}
	if len(there) == 0 {
		delete(f.tables, p.Node)
	}
	if !f.sweeps && !f.over && len(f.tables) > 0 {
		f.sweeps = true
		f.work.Go(a.sweepTables)
	}
	text, err := json.Marshal(answers)
	if err != nil { // bytes and names
		a.server.Log().Error("who was matched cannot be told", "err", err)
	}
	return text
}

// waitsHere has a player of another server wait, if it does not yet.
func (a *allies) waitsHere(t *table, wish matchWish) {
	if _, done := t.done[wish.ID]; done || t.waiting[wish.ID] != nil {
		return
	}
	r := MatchRequest{Name: wish.Name, Mode: wish.Mode, Players: wish.Players, From: wish.From}
	w, err := a.server.matches.join(r)
	if err != nil {
		t.done[wish.ID] = answerOf(wish.ID, matched{err: err})
		return
	}
	t.waiting[wish.ID] = w
}

func answerOf(id uint64, out matched) matchAnswer {
	x := matchAnswer{ID: id, Room: out.Room, Ticket: out.Ticket, Addrs: out.Addrs}
	if out.err != nil {
		x.Error = out.err.Error()
	}
	return x
}

// leaveTable has the players of a server wait here no more.
func (a *allies) leaveTable(node uint64) {
	if t := a.afar.tables[node]; t != nil {
		for _, w := range t.waiting {
			a.server.matches.leave(w.id)
		}
		delete(a.afar.tables, node)
	}
}

// sweepTables has the players of servers leave that say nothing any more, while there are any.
func (a *allies) sweepTables() {
	each := time.NewTicker(pollLost / 5)
	defer each.Stop()
	for {
		select {
		case <-each.C:
		case <-a.ctx.Done():
			return
		}
		a.afar.mu.Lock()
		_, own := a.queue()
		for node, t := range a.afar.tables {
			if !own || time.Since(t.heard) > pollLost {
				a.leaveTable(node)
			}
		}
		some := len(a.afar.tables) > 0
		a.afar.sweeps = some
		a.afar.mu.Unlock()
		if !some {
			return
		}
	}
}

// open opens the rooms of matches, each to be played in at the server with the least to do. It returns where those are reached.
func (a *allies) open(rooms []Room) (addrs []map[string]string, errs []error) {
	addrs, errs = make([]map[string]string, len(rooms)), make([]error, len(rooms))
	var work sync.WaitGroup
	for i := range rooms {
		_, addrs[i], _ = a.cluster.Place()
		work.Go(func() {
			s := rooms[i].settings()
			s.Match = true
			errs[i] = waited(a.server.hub.OpenRoom(s))
		})
	}
	work.Wait()
	return addrs, errs
}
