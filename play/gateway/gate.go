package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"parley/internal/admission"
	"parley/protocol/relay"
	relaycore "parley/protocol/relay/core"
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
	RefusedBusy    Refusal = "the game is busy: come again"
	RefusedSilence Refusal = "too many passes that are not valid" // the dialect does not answer
)

func (r Refusal) Error() string { return string(r) }

// Status returns the status byte of a refusal, for dialects that have one.
func (r Refusal) Status() uint8 {
	switch r {
	case RefusedFull, RefusedCrowd, RefusedBusy:
		return 6
	case RefusedRoom:
		return 8
	}
	return 3
}

// mainRoom is the one room of a server, for players without a ticket and for tickets that name no room.
const mainRoom = "main"

// Pass is the content of a valid pass: the name of its bearer. A pass admits one player, over all dialects.
type Pass struct {
	Name    string
	serial  [16]byte
	expires int64 // Unix seconds
}

// Gatekeeper judges the passes of all dialects, and makes sure that each ticket admits one player: over all dialects, and
// across restarts if it has a file. A dialect's loop calls Judge. The hub spends the ticket when its bearer enters.
type Gatekeeper struct {
	key   relay.TicketKey
	clock func() time.Time // tickets end by the wall clock

	mu    sync.Mutex
	bad   *admission.Buckets // malformed and forged passes
	stats GateStats
	spent *spentTickets
}

// GateStats counts the fates of passes.
type GateStats struct {
	Tickets   uint64 // valid tickets
	None      uint64 // players without a ticket, where one is needed
	Bad       uint64 // malformed or forged tickets, or tickets of another key
	Unlooked  uint64 // the same, from addresses that had shown too many: these get no answer
	Expired   uint64
	OtherRoom uint64
	Used      uint64 // tickets that were shown again
	Unkept    uint64 // valid tickets, refused as their use could not be written to the file
}

// newGatekeeper returns the gatekeeper of a key, none if all are guests. With a file it knows what was spent before.
func newGatekeeper(key relay.TicketKey, file string, log *slog.Logger) (*Gatekeeper, error) {
	g := &Gatekeeper{key: key, clock: time.Now}
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

// Judge returns the bearer of a pass, or the reason why it is refused: a Refusal. If pass is empty, the player is a guest:
// the result is nil, or RefusedGuest if players need a ticket. Any goroutine may call Judge, for a proven address. A valid
// pass is spent when the hub admits its bearer. That may still fail, if another player has used the pass first.
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
	now := g.clock()
	t, err := g.key.Check(now, "", pass)
	switch {
	case errors.Is(err, relaycore.ErrTicketExpired):
		g.stats.Expired++
		return nil, RefusedTicket
	case errors.Is(err, relaycore.ErrTicketRoom) && t.Room != mainRoom:
		g.stats.OtherRoom++
		return nil, RefusedRoom
	case err != nil && !errors.Is(err, relaycore.ErrTicketRoom):
		if !g.bad.Allow(now, from, badPassCost) {
			g.stats.Unlooked++
			return nil, RefusedSilence
		}
		g.stats.Bad++
		return nil, RefusedTicket
	}
	p := newPass(t)
	if err := g.spent.judge(p); err != nil {
		g.count(err)
		return nil, err
	}
	g.stats.Tickets++
	return p, nil
}

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

// count counts a ticket that was shown again, or has expired by the file of those that were spent.
func (g *Gatekeeper) count(err error) {
	switch err {
	case RefusedUsed:
		g.stats.Used++
	case RefusedTicket:
		g.stats.Expired++
	}
}

// settled appends the seats whose tickets are spent, or could not be.
func (g *Gatekeeper) settled(list []verdict) []verdict { return g.spent.settled(list) }

// unspend makes the ticket of a seat good again that has left before it was in.
func (g *Gatekeeper) unspend(s *Seat) { g.spent.unspend(s.pass.serial) }

// close waits for what is being written.
func (g *Gatekeeper) close(ctx context.Context) error { return g.spent.close(ctx) }
