package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"parley/cluster/core"
	"parley/world"
)

// note is a token on its way to the store, where any server finds in which room its session is.
type note struct {
	token core.Token
	then  func(err error) // on the hub's goroutine; nil if nobody waits
}

// note has a token be found on all servers, and then calls then on the hub's goroutine: only then its player may be told it. It returns false if too
// many are on their way. A goroutine brings many at once.
func (a *alliance) note(t world.TokenHash, room string, then func(err error)) bool {
	return a.put(note{core.Token{Hash: t, Room: room, TTL: a.tokenTime()}, then})
}

// forget has a token be found no more. If too many are on their way it is forgotten in its time.
func (a *alliance) forget(t world.TokenHash, room string) {
	a.put(note{token: core.Token{Hash: t, Room: room, TTL: time.Second}})
}

// tokenTime is how long the store knows a token, unless it is told again.
func (a *alliance) tokenTime() time.Duration { return tokenTime + a.hub.hold() }

func (a *alliance) put(n note) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over || len(a.notes) >= maxNotes {
		return false
	}
	if a.notes = append(a.notes, n); !a.noting {
		a.noting = true
		a.work.Go(a.bringNotes)
	}
	return true
}

// bringNotes brings tokens to the store until there are no more.
func (a *alliance) bringNotes() {
	for {
		a.mu.Lock()
		list := a.notes
		if a.notes = nil; len(list) == 0 {
			a.noting = false
			a.mu.Unlock()
			return
		}
		a.mu.Unlock()
		tokens := make([]core.Token, len(list))
		for i := range list {
			tokens[i] = list[i].token
		}
		err := a.cluster.PutTokens(a.ctx, tokens)
		if err != nil && a.ctx.Err() == nil {
			a.hub.log.Error("tokens could not be noted: their players were not let in", "tokens", len(list), "err", err)
		}
		a.post(func() {
			for _, n := range list {
				if n.then != nil {
					n.then(err)
				}
			}
		})
	}
}

// keepTokens notes the tokens of this server's players again, so that the store knows them for as long as they play.
func (a *alliance) keepTokens(now time.Time) {
	if a.kept.IsZero() {
		a.kept = now
	}
	if now.Sub(a.kept) < tokenTime/2 {
		return
	}
	a.kept = now
	for _, r := range a.hub.rooms {
		for _, p := range r.players {
			if p.seat == nil && !r.shared.sequences() {
				continue // another server does
			}
			for _, t := range p.tokens {
				a.note(t, r.Name(), nil)
			}
		}
	}
}

// spend notes for which room each ticket of a list is used: once in the whole cluster. Within the room its log decides, so a ticket that was shown at a
// server which died before its player was in lets it in at another. It sets the errors of the list. The goroutine of the tickets calls it.
func (a *alliance) spend(ctx context.Context, list []spending) {
	var work sync.WaitGroup
	for i := range list {
		s := &list[i]
		if s.guest {
			continue
		}
		work.Go(func() {
			err := a.cluster.Spend(ctx, s.serial, time.Unix(s.expires, 0), s.use)
			var spent *core.SpentError
			switch {
			case err == nil, errors.As(err, &spent) && spent.Room == s.use:
			case spent != nil:
				s.err = RefusedUsed
			default:
				a.hub.log.Error("a ticket could not be spent: its player was not let in", "err", err)
				s.err = RefusedBusy
			}
		})
	}
	work.Wait()
}
