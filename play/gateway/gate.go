package gateway

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"parley/internal/admission"
	"parley/play/message"
	"parley/protocol/relay"
	relaycore "parley/protocol/relay/core"
	"parley/world"
)

// Refusal is the reason why a player is refused, in the words that every dialect sends.
type Refusal string

// The refusals.
const (
	RefusedFull    Refusal = "game is full"
	RefusedRoom    Refusal = "no such room"
	RefusedGuest   Refusal = "room needs a ticket"
	RefusedTicket  Refusal = "ticket is not valid"
	RefusedUsed    Refusal = "ticket was used"
	RefusedCrowd   Refusal = "too many from your address"
	RefusedSession Refusal = "no such session"
	RefusedBusy    Refusal = "the game is busy: come again"
	RefusedDrained Refusal = "the server is being emptied: connect to another"
	RefusedSilence Refusal = "too many passes that are not valid" // the dialect does not answer

	// RefusedMalformed has the text of RefusedTicket, and a status of its own.
	RefusedMalformed Refusal = "the pass is malformed"
)

func (r Refusal) Error() string {
	if r == RefusedMalformed {
		return string(RefusedTicket)
	}
	return string(r)
}

// Status returns the status byte of a refusal, for dialects that have one.
func (r Refusal) Status() uint8 {
	switch r {
	case RefusedFull, RefusedCrowd, RefusedBusy, RefusedDrained:
		return 6
	case RefusedRoom, RefusedSession:
		return 8
	case RefusedMalformed:
		return 14
	}
	return 3
}

// Pass is the content of a pass that may let somebody in: the room decides.
type Pass struct {
	Kind    message.PassKind
	Room    string // of tickets and rooms; never empty
	Name    string // that the bearer has or wants
	token   world.TokenHash
	serial  world.Serial
	expires int64 // Unix seconds
	match   bool  // the ticket is of the server's own key, which is good for rooms of matches only
}

// Gatekeeper judges the passes of all dialects, and makes sure that each ticket admits one player: over all dialects, and
// across restarts if it has a file. A dialect's loop calls Judge. The hub spends the ticket when its bearer enters.
type Gatekeeper struct {
	key   relay.TicketKey  // of the operator; nil if there is none
	own   relay.TicketKey  // of this run of the server, for matches where the operator has none
	clock func() time.Time // tickets end by the wall clock

	mu    sync.Mutex
	bad   *admission.Buckets // malformed and forged passes
	stats GateStats
	spent *spentTickets
}

// GateStats counts the fates of passes.
type GateStats struct {
	Tickets   uint64 // valid tickets, used ones included
	Rooms     uint64 // wishes for a room
	None      uint64 // players without a ticket, where one is needed
	Bad       uint64 // malformed or forged tickets, or tickets of another key
	Unlooked  uint64 // the same, from addresses that had shown too many: these get no answer
	Expired   uint64
	OtherRoom uint64 // of rooms that are not there
	Used      uint64 // tickets that were shown again
	NoSession uint64 // sessions that nobody has, or that are over
	Unkept    uint64 // valid tickets, refused as their use could not be written to the file
}

// newGatekeeper returns the gatekeeper of a key, none if all are guests. With a file it knows what was spent before.
func newGatekeeper(key relay.TicketKey, file string, log *slog.Logger) (*Gatekeeper, error) {
	g := &Gatekeeper{key: key, own: make(relay.TicketKey, ownKeyBytes), clock: time.Now}
	rand.Read(g.own)
	if key == nil {
		file = ""
	}
	var secret admission.Key
	rand.Read(secret[:])
	g.bad = admission.NewBuckets(admission.BucketsConfig{
		Source: admission.Limit{Rate: 1, Burst: badPasses * badPassCost}, Prefix: admission.NoLimit, Total: admission.NoLimit,
	}, secret)
	var err error
	g.spent, err = openSpent(file, g.clock, log)
	return g, err
}

// Wanted reports whether players need a ticket, accounts excepted.
func (g *Gatekeeper) Wanted() bool { return g.key != nil }

// Judge reads a pass, or returns the reason why it lets nobody in: a Refusal. If pass is empty, the player is a guest: the
// result is nil, or RefusedGuest if players need a ticket. Any goroutine may call Judge, for a proven address. A pass that is
// sound may still be refused by the hub: when its ticket was used, its room is closed or its session is over.
func (g *Gatekeeper) Judge(from netip.Addr, pass []byte) (*Pass, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(pass) == 0 {
		if !g.Wanted() {
			return nil, nil
		}
		g.stats.None++
		return nil, RefusedGuest
	}
	m, err := message.ParsePass(pass)
	if err != nil {
		return nil, g.isBad(from, RefusedMalformed)
	}
	switch p := (&Pass{Kind: m.Kind, Room: m.Room, Name: fitName(m.Name)}); m.Kind {
	case message.PassRoom:
		g.stats.Rooms++
		return p, nil
	case message.PassSession:
		p.token = sha256.Sum256(m.Token[:])
		return p, nil
	}
	t, err := g.key.Check(g.clock(), "", pass)
	match := errors.Is(err, relaycore.ErrTicketForged)
	if match {
		t, err = g.own.Check(g.clock(), "", pass)
	}
	switch {
	case errors.Is(err, relaycore.ErrTicketExpired):
		g.stats.Expired++
		return nil, RefusedTicket
	case errors.Is(err, relaycore.ErrTicketForm):
		return nil, g.isBad(from, RefusedMalformed)
	case err != nil && !errors.Is(err, relaycore.ErrTicketRoom):
		return nil, g.isBad(from, RefusedTicket)
	}
	g.stats.Tickets++
	p := newPass(t)
	p.match = match
	return p, nil
}

// isBad counts a pass that is malformed or forged, and returns the answer that it gets.
func (g *Gatekeeper) isBad(from netip.Addr, why Refusal) Refusal {
	if !g.bad.Allow(g.clock(), from, badPassCost) {
		g.stats.Unlooked++
		return RefusedSilence
	}
	g.stats.Bad++
	return why
}

// noSession counts a session that nobody has, and returns the answer that it gets. It is always answered: nobody guesses a token of
// 16 random bytes, and all players of an address may have one that is over, as after a restart of a server that keeps nothing.
func (g *Gatekeeper) noSession() Refusal {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stats.NoSession++
	return RefusedSession
}

// refusal returns why the ticket of a sound pass lets nobody in: it is spent, or may be one that was forgotten.
func (g *Gatekeeper) refusal(p *Pass) error { return g.spent.judge(p) }

// ReserveNames reserves the names of accounts: a ticket with such a name makes its bearer a guest. Call it before the hub
// runs. isAccount may block, and one goroutine calls it.
func (g *Gatekeeper) ReserveNames(isAccount func(ctx context.Context, name string) (bool, error)) {
	g.spent.isAccount = isAccount
}

// Stats returns the counters.
func (g *Gatekeeper) Stats() GateStats {
	g.mu.Lock()
	defer g.mu.Unlock()
	st := g.stats
	st.Unkept = g.spent.failures()
	return st
}

// spend begins to spend the ticket of a seat, or says why that cannot be. The verdict is among those of settled, at a later
// tick if it is written to a file. It runs on the hub's goroutine.
func (g *Gatekeeper) spend(s *Seat) error {
	err := g.spent.spend(s)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count(err)
	return err
}

// counted counts a ticket that was found used when it was to be spent.
func (g *Gatekeeper) counted(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count(err)
}

// count counts a ticket that was shown again, or has expired by the file of those that were spent.
func (g *Gatekeeper) count(err error) {
	switch err {
	case RefusedUsed:
		g.stats.Used++
	case RefusedTicket:
		g.stats.Expired++
	}
}

// otherRoom counts a pass for a room that is not there.
func (g *Gatekeeper) otherRoom() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stats.OtherRoom++
}

// settled appends the seats whose tickets are spent, or could not be.
func (g *Gatekeeper) settled(list []verdict) []verdict { return g.spent.settled(list) }

// unspend makes the ticket of a seat good again that has left before it was in.
func (g *Gatekeeper) unspend(s *Seat) { g.spent.unspend(s.pass.serial) }

// close waits for what is being written.
func (g *Gatekeeper) close(ctx context.Context) error { return g.spent.close(ctx) }
