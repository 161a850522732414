package parley

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"parley/play/gateway"
	"parley/play/match"
)

// MatchRequest is what a player wants to play, and with how many.
type MatchRequest struct {
	// Name is the player's name in the game. Default: a guest's.
	Name string

	// Mode is the mode of the room that is opened, at most 255 bytes. Players are matched with those who want the same mode and the same
	// number. If it is a stranger's text, refuse what cannot be printed: operators see modes in their terminals.
	Mode string

	// Players is the number of players, the player itself included: at least 2, and at most Config.MaxPlayers. Default 2.
	Players int

	// From is the address of the player, of which at most 64 may wait (with IPv6, of a /64). Default: no limit, for requests of
	// the operator's own programs.
	From netip.Addr
}

// MatchResult is the room of a match, and the ticket that lets the player in within a minute, over replica, relay or duplex.
type MatchResult struct {
	Room   string
	Ticket []byte

	// Addrs is where the player is to connect to, by dialect or carrier, in a cluster: the room is put on the server with the least to do, and can be
	// entered at any. It is nil if that server has not said, and without a cluster.
	Addrs map[string]string
}

// Errors of Match. Test for them with errors.Is.
var (
	// ErrNobody means that too few players wanted the same within 30 seconds.
	ErrNobody = errors.New("parley: nobody else wants to play that now")
	// ErrTooManyWait means that as many players wait as may, of all addresses or of this one.
	ErrTooManyWait = errors.New("parley: too many players wait for a match")
	// ErrBanned means that the player's address is banned.
	ErrBanned = errors.New("parley: your address is banned")
	// ErrMatch means that there can be no such match: the number of players, the mode or the name is wrong.
	ErrMatch = errors.New("parley: no such match")
)

const (
	// matchTicketTime is how long the ticket of a match is valid: as long as an empty room stays.
	matchTicketTime = time.Minute

	// matchBatch is how many rooms are opened between two turns of the hub: ten thousand players who wait must not hold up a tick.
	matchBatch = 8

	// matchRetry is how soon it is tried again to open a room when the server has as many as it may.
	matchRetry = time.Second / 4
)

// Match waits until enough players want to play the same, and returns the room that was opened for them: closed, of that mode, with
// places for that many. Whoever waits longest is matched first. When ctx ends, the player is out. Match returns ErrNobody after 30
// seconds. While the server has seven eighths of Config.MaxRooms rooms, players wait.
func (s *Server) Match(ctx context.Context, r MatchRequest) (MatchResult, error) {
	if s.hub.Playing() {
		return MatchResult{}, ErrInStep
	}
	if err := gateway.CheckTicketName(r.Name); err != nil {
		return MatchResult{}, fmt.Errorf("%w: %w", ErrMatch, err)
	}
	if r.From.IsValid() && s.Banned(r.From) {
		return MatchResult{}, ErrBanned
	}
	if s.allies != nil {
		return s.allies.match(ctx, r)
	}
	w, err := s.matches.join(r)
	if err != nil {
		return MatchResult{}, err
	}
	select {
	case out := <-w.out:
		return out.MatchResult, out.err
	case <-ctx.Done():
		s.matches.leave(w.id)
		return MatchResult{}, ctx.Err()
	case <-s.done:
		s.matches.leave(w.id)
		return MatchResult{}, ErrClosed
	}
}

// matches has players wait for each other. A goroutine opens rooms while somebody waits; without anybody there is none.
type matches struct {
	server *Server
	wake   chan struct{} // somebody came

	mu      sync.Mutex
	queue   *match.Queue
	waiting map[match.ID]*matching
	running bool
}

// matching is a call of Match.
type matching struct {
	id   match.ID
	name string
	from netip.Addr
	out  chan matched // of one
}

type matched struct {
	MatchResult
	err error
}

func newMatches(s *Server, maxPlayers int) *matches {
	return &matches{server: s, wake: make(chan struct{}, 1), queue: match.New(match.Config{MaxPlayers: maxPlayers}), waiting: map[match.ID]*matching{}}
}

func (m *matches) join(r MatchRequest) (*matching, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id, err := m.queue.Join(time.Now(), match.Wish{Mode: r.Mode, Players: cmp.Or(r.Players, match.MinPlayers), From: r.From})
	switch {
	case errors.Is(err, match.ErrWish):
		return nil, fmt.Errorf("%w: %w", ErrMatch, err)
	case err != nil:
		return nil, ErrTooManyWait
	}
	w := &matching{id: id, name: r.Name, from: r.From.Unmap(), out: make(chan matched, 1)}
	m.waiting[id] = w
	if !m.running {
		m.running = true
		go m.run()
	}
	select {
	case m.wake <- struct{}{}:
	default: // it will look
	}
	return w, nil
}

func (m *matches) leave(id match.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queue.Leave(id)
	delete(m.waiting, id)
}

// evict takes out those whose addresses are banned: they could not enter, and others would wait for them in vain.
func (m *matches) evict(banned func(netip.Addr) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, w := range m.waiting {
		if w.from.IsValid() && banned(w.from) {
			m.queue.Leave(id)
			m.tell(id, matched{err: ErrBanned})
		}
	}
}

func (m *matches) stats() match.Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.queue.Stats()
}

// run opens rooms until nobody waits, or the server ends.
func (m *matches) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		groups, next := m.look()
		if groups == nil && next.IsZero() {
			return
		}
		full := m.open(groups)
		if groups != nil && !full {
			continue
		}
		wait := time.Until(next)
		if full {
			wait = min(wait, matchRetry)
		}
		timer.Reset(wait)
		wake := m.wake
		if full { // those who come now change nothing
			wake = nil
		}
		select {
		case <-wake:
		case <-timer.C:
		case <-m.server.done:
			m.mu.Lock()
			m.running = false
			m.mu.Unlock()
			return
		}
	}
}

// look tells those who have waited long enough, and returns the next groups, and when to look again. If nobody waits, both are
// zero, and the goroutine is to end.
func (m *matches) look() (groups []match.Group, next time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queue.HandleTimeout(time.Now())
	for id, ok := m.queue.PollExpired(); ok; id, ok = m.queue.PollExpired() {
		m.tell(id, matched{err: ErrNobody})
	}
	for len(groups) < matchBatch {
		g, ok := m.queue.Take()
		if !ok {
			break
		}
		groups = append(groups, g)
	}
	next, _ = m.queue.NextTimeout()
	if groups != nil && next.IsZero() {
		next = time.Now().Add(matchRetry)
	}
	m.running = groups != nil || !next.IsZero()
	return groups, next
}

// tell ends a call of Match, if it is still there.
func (m *matches) tell(id match.ID, out matched) {
	if w := m.waiting[id]; w != nil {
		w.out <- out
		delete(m.waiting, id)
	}
}

// open opens a room for each group, and reports whether the server has no more rooms to open: the others then wait.
func (m *matches) open(groups []match.Group) (full bool) {
	if groups == nil {
		return false
	}
	rooms, errs := make([]Room, len(groups)), make([]error, len(groups))
	for i, g := range groups {
		rooms[i] = newMatchRoom(g)
	}
	var closed error
	addrs := make([]map[string]string, len(rooms))
	if m.server.allies != nil {
		addrs, errs = m.server.allies.open(rooms)
	} else {
		closed = m.server.do(func() {
			for i := range rooms {
				s := rooms[i].settings()
				s.Match = true
				_, errs[i] = m.server.hub.Open(s)
			}
		})
	}
	var unwanted []string
	m.mu.Lock()
	for i, g := range groups {
		err := cmp.Or(closed, errs[i])
		switch {
		case errors.Is(err, ErrTooManyRooms):
			full = true
			m.queue.Restore(g)
		case err != nil:
			m.queue.Abandon(g)
			for _, id := range g.IDs {
				m.tell(id, matched{err: err})
			}
		case !m.queue.Settle(g):
			unwanted = append(unwanted, rooms[i].Name)
		default:
			m.send(g, rooms[i].Name, addrs[i])
		}
	}
	m.mu.Unlock()
	for _, name := range unwanted {
		m.server.CloseRoom(name) // its only error is that the room is gone
	}
	return full
}

// send tells a group where its room is.
func (m *matches) send(g match.Group, room string, addrs map[string]string) {
	for _, id := range g.IDs {
		w := m.waiting[id]
		ticket, err := m.server.hub.Gate().MatchTicket(room, w.name, matchTicketTime)
		m.tell(id, matched{MatchResult{Room: room, Ticket: ticket, Addrs: addrs}, err})
	}
}

// newMatchRoom returns the room of a group. Nobody can guess its name.
func newMatchRoom(g match.Group) Room {
	var seed [8]byte
	rand.Read(seed[:])
	return Room{Name: "match-" + strings.ToLower(rand.Text()), Seed: binary.LittleEndian.Uint64(seed[:]), Mode: g.Mode, MaxPlayers: len(g.IDs), Closed: true, ByPlayers: true}
}
