package player

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"parley/play/message"
)

// Resume says how a player comes back when its connection is lost: neither by its own Close, nor because the server told it to go.
// The zero Resume is off: then Ended is the notice of a lost connection.
type Resume struct {
	// On has the player come back by itself, with its session. It tries at once, then after half a second, and at last every
	// two seconds, until its place is no longer held. Over realm it logs in again, and over stamp it watches again.
	On bool

	// Anew has the player enter as a new one, with the pass that Join had, when its session is no more. It then tries until
	// Close is called.
	Anew bool

	// Ways are where the player tries to come back, in turn: replica, relay and duplex have the same sessions. Default: where
	// Join connected.
	Ways []Way
}

// Way is where a server can be reached.
type Way struct{ Dialect, Addr string }

const (
	// holdUnknown is for how long a player tries to come back who was not told how long its place is held, as in realm.
	holdUnknown = 30 * time.Second

	// A handshake of replica or stamp that began before the server was there may send its next packet seconds later: a new one is
	// sooner. relay begins anew by itself, and when its handshake is given up, the server may have let the player in already, who
	// says goodbye then. A stream is refused at once, and behind it may be a password to check.
	handshakePatience = 3 * time.Second
	relayPatience     = 10 * time.Second
	streamPatience    = 15 * time.Second

	// enterPatience is for how long a server may look at a pass: "A proven connection that does not enter within 10 s is
	// closed".
	enterPatience = 10 * time.Second

	// steady is how long a connection lasts that was worth coming back for. One that ends sooner counts as an attempt that
	// failed, so that a server which lets a player in and drops it is not asked without a pause.
	steady = 5 * time.Second
)

// waits are the times between attempts.
var waits = [...]time.Duration{0, 500 * time.Millisecond, time.Second, 2 * time.Second}

// absence is the state of a player who is away. It has no clock of its own.
type absence struct {
	ways   int             // how many there are
	tries  int             // attempts so far
	tokens []message.Token // of its session, the newest first, without those that the server has refused
	first  bool            // the pass of Join may be shown when there is no token
	until  time.Time       // when it gives up; zero: never
	held   time.Time       // until when its place is held, as far as it knows
	hasty  bool            // the next attempt is due at once
}

// next returns how long to wait before the next attempt, and over which way it goes. It reports false when there is none.
func (a *absence) next(now time.Time) (wait time.Duration, way int, ok bool) {
	if len(a.tokens) == 0 && !a.first {
		return 0, 0, false
	}
	if !a.hasty {
		wait = waits[min(a.tries/a.ways, len(waits)-1)]
	}
	if !a.until.IsZero() && now.Add(wait).After(a.until) {
		return 0, 0, false
	}
	way, a.hasty = a.tries%a.ways, false
	a.tries++
	return wait, way, true
}

// failed notes how the last attempt ended, and reports whether there may be another. After a refusal the next pass is shown to
// the same server, at once. "Beyond that only sound passes of that address are looked at": a server that is there, and does not
// answer when the place is no longer held, refuses.
func (a *absence) failed(now time.Time, how fate) bool {
	switch {
	case how == over:
		return false
	case how == lost, how == silent && now.Before(a.held):
	case len(a.tokens) == 0:
		a.first = how != refused
	default:
		a.tokens, a.hasty = a.tokens[1:], true
		a.tries--
	}
	return len(a.tokens) > 0 || a.first
}

// live reads what the player is told, and has it come back when its connection is lost, until the player is out of the game.
func (p *Player) live(ctx context.Context, l *line) {
	defer close(p.done)
	defer p.leave()
	var a *absence // the newest, nil before the first
	for {
		why := l.read(ctx)
		how := fateOf(l, why)
		end := Notice{Kind: Ended, Text: why.Error(), Refused: how == refused}
		if a == nil || l.entered {
			if a = p.lose(l, how, a); a == nil {
				p.tell(end)
				return
			}
			p.tell(Notice{Kind: Away, Text: end.Text})
		} else if !a.failed(time.Now(), how) {
			p.tell(end)
			return
		}
		if l, end = p.again(ctx, a, end); l == nil {
			p.tell(end)
			return
		}
	}
}

// read reads what comes over a connection until it has ended, and returns why. That of a player who is away is ended if it leads
// to nothing.
func (l *line) read(ctx context.Context) error {
	if l.isAway() {
		entering, cancel := context.WithTimeout(ctx, enterPatience)
		defer cancel()
		ended := make(chan struct{})
		stop := context.AfterFunc(entering, func() {
			defer close(ended)
			if l.now() != l {
				l.ignored = true
				l.hangUp()
			}
		})
		defer func() {
			if !stop() {
				<-ended
			}
		}()
	}
	defer l.hangUp()
	l.began = time.Now()
	return l.run()
}

// hangUp ends a connection, and may be called again.
func (l *line) hangUp() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = l.voice.close(ctx) // it is given up either way
}

// lose notes that the connection is lost, and returns the state of the player who comes back; nil if it does not. before is its
// last absence.
func (p *Player) lose(l *line, how fate, before *absence) *absence {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := &absence{ways: max(len(p.cfg.Resume.Ways), 1), first: p.mayRepeat()}
	// A server that was killed may not know the newest any more. "The old token works until the new one is acknowledged or used."
	for _, t := range []message.Token{p.session.Token, p.previous} {
		if t != (message.Token{}) {
			a.tokens = append(a.tokens, t)
		}
	}
	if p.leaving || !p.cfg.Resume.On || how != lost || len(a.tokens) == 0 && !a.first {
		return nil
	}
	now := time.Now()
	if before != nil && now.Sub(l.began) < steady {
		a.tries = before.tries
	}
	hold := holdUnknown
	if len(a.tokens) > 0 {
		hold = time.Duration(p.session.Hold) * time.Second
	}
	a.held = now.Add(hold)
	if !p.cfg.Resume.Anew {
		a.until = a.held
	}
	p.away, p.since = true, l.heard
	return a
}

// mayRepeat reports whether the player may show the pass of Join again. "The same ticket brings the same player back while its
// first token is not acknowledged."
func (p *Player) mayRepeat() bool {
	return p.cfg.Resume.Anew || !TakesTicket(p.Dialect) || len(p.cfg.Ticket) > 0 && p.session.Token == (message.Token{})
}

func (p *Player) isAway() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.away
}

// again makes a new connection, with as many attempts as it takes. It returns none when the player gives up, and then how that
// ended.
func (p *Player) again(ctx context.Context, a *absence, end Notice) (*line, Notice) {
	for {
		wait, way, ok := a.next(time.Now())
		if !ok || !pause(ctx, wait) {
			return nil, end
		}
		at := p.first
		if len(p.cfg.Resume.Ways) > 0 {
			at = p.cfg.Resume.Ways[way]
		}
		l, why := p.attempt(ctx, a, at)
		if why == nil {
			return l, end
		}
		how := fateOf(nil, why)
		if how != lost {
			end.Text, end.Refused = why.Error(), how == refused
		} else if errors.Is(why, context.DeadlineExceeded) && at.Dialect != "replica" { // whose handshake comes before the pass
			how = silent
		}
		if !a.failed(time.Now(), how) {
			return nil, end
		}
	}
}

// attempt makes one connection.
func (p *Player) attempt(ctx context.Context, a *absence, at Way) (*line, error) {
	pass := p.firstPass()
	if len(a.tokens) > 0 {
		pass = message.AppendSessionPass(nil, a.tokens[0])
	}
	patience := handshakePatience
	switch at.Dialect {
	case "relay":
		patience = relayPatience
	case "duplex", "realm":
		patience = streamPatience
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return p.dial(ctx, at, pass)
}

// pause waits, for a little more or less, so that the players of a server that was away do not all come in the same moment. It
// reports false when ctx has ended.
func pause(ctx context.Context, wait time.Duration) bool {
	if wait > 0 {
		wait += rand.N(wait/2) - wait/4
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return ctx.Err() == nil
	}
}
