package line

import (
	"context"
	"errors"
	"fmt"
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

	// Anew has the player enter as a new one, with the pass that Dial had, when its session is no more. It then tries until
	// Close is called.
	Anew bool
}

const (
	// holdUnknown is for how long a player tries to come back who was not told how long its place is held, as in realm.
	holdUnknown = 30 * time.Second

	// answerPatience is how long a server may take to answer at all: three round trips of a slow path.
	answerPatience = 2 * time.Second

	// enterPatience is for how long a server may look at a pass: "A proven connection that does not enter within 10 s is
	// closed".
	enterPatience = 10 * time.Second

	// steady is how long a connection lasts that was worth coming back for. One that ends sooner counts as an attempt that
	// failed, so that a server which lets a player in and drops it is not asked without a pause.
	steady = 5 * time.Second
)

// patienceOf is how long a handshake may take, by dialect. One of replica or stamp that began before the server was there may send
// its next packet seconds later: a new one is sooner. relay begins anew by itself, and when its handshake is given up, the server
// may have let the player in already, who says goodbye then. Behind a stream may be a password to check.
var patienceOf = map[string]time.Duration{
	"replica": 3 * time.Second, "stamp": 3 * time.Second, "relay": 10 * time.Second, "duplex": 15 * time.Second, "realm": 15 * time.Second,
}

// waits are the times between attempts.
var waits = [...]time.Duration{0, 500 * time.Millisecond, time.Second, 2 * time.Second}

// absence is the state of a player who is away. It has no clock of its own.
type absence struct {
	ways   int             // how many there are
	start  int             // the one of the lost connection, which is tried first
	hops   []hop           // the ways, if a server has told some; nil else
	tries  int             // attempts so far
	tokens []message.Token // of its session, the newest first, without those that the server has refused
	first  bool            // the pass of Dial may be shown when there is no token
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
	way, a.hasty = (a.start+a.tries)%a.ways, false
	a.tries++
	return wait, way, true
}

// failed notes how the last attempt ended, and reports whether there may be another. After a refusal the next pass is shown to
// the same server, at once. "Beyond that only sound passes of that address are looked at": a server that is there, and does not
// answer when the place is no longer held, refuses.
func (a *absence) failed(now time.Time, how fate, told bool) bool {
	switch {
	case told:
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
func (l *Line) live(ctx context.Context, c *Conn) {
	defer close(l.done)
	defer l.leave()
	var a *absence // the newest, nil before the first
	for {
		why := c.read(ctx)
		how := fateOf(c, why)
		end := ending{c.reason(why), how == refused, ""}
		if how == over && c.entered {
			end.words = c.says()
		}
		if a == nil && !c.entered && ctx.Err() == nil && mayBeElsewhere(c, why) {
			next, err := l.onward(ctx, c, end.why)
			if next != nil {
				c = next
				continue
			}
			how = fateOf(nil, err)
			end = ending{err, how == refused, ""}
		}
		if a == nil || c.entered {
			if a = l.lose(c, how, a); a == nil {
				l.end(end)
				return
			}
			l.tell(Notice{Kind: Away, Text: end.why.Error()})
		} else if !a.failed(time.Now(), how, c.hopped) {
			l.end(end)
			return
		}
		if c, end = l.again(ctx, a, end); c == nil {
			l.end(end)
			return
		}
	}
}

// ending is why a player is out of the game.
type ending struct {
	why     error
	refused bool
	words   string // the server's, if it has said why
}

// reason returns why a connection has ended, in the words of who dialed.
func (c *Conn) reason(why error) error {
	switch {
	case c.other != nil:
		return c.other
	case c.refused != "":
		return fmt.Errorf("client: %w: %s", ErrRefused, c.refused)
	case !c.entered:
		return c.explain(why)
	case c.says() != "" && fateOf(c, why) == over:
		return fmt.Errorf("client: the server has ended it: %s: %w", c.says(), why)
	}
	return c.misread(why)
}

// read reads what comes over a connection until it has ended, and returns why. That of a player who is away is ended if it leads
// to nothing.
func (c *Conn) read(ctx context.Context) error {
	if c.line.IsAway() {
		entering, cancel := context.WithTimeout(ctx, enterPatience)
		defer cancel()
		ended := make(chan struct{})
		stop := context.AfterFunc(entering, func() {
			defer close(ended)
			if c.line.Now() != c {
				c.ignored = true
				c.hangUp()
			}
		})
		defer func() {
			if !stop() {
				<-ended
			}
		}()
	}
	defer c.hangUp()
	c.began = time.Now()
	why := c.run()
	c.ended = time.Now()
	c.hanging.Wait()
	return why
}

// lose notes that the connection is lost, and returns the state of the player who comes back; nil if it does not. before is its
// last absence.
func (l *Line) lose(c *Conn, how fate, before *absence) *absence {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := &absence{ways: len(l.cfg.Ways), start: c.way, first: l.mayRepeat()}
	a.goOn(l.hops(c))
	// A server that was killed may not know the newest any more. "The old token works until the new one is acknowledged or used."
	for _, t := range []message.Token{l.session.Token, l.previous} {
		if t != (message.Token{}) {
			a.tokens = append(a.tokens, t)
		}
	}
	if l.leaving || !l.cfg.Resume.On || how != lost || len(a.tokens) == 0 && !a.first {
		return nil
	}
	now := time.Now()
	if before != nil && now.Sub(c.began) < steady {
		a.tries = before.tries
	}
	hold := holdUnknown
	if len(a.tokens) > 0 {
		hold = time.Duration(l.session.Hold) * time.Second
	}
	a.held = now.Add(hold)
	if !l.cfg.Resume.Anew {
		a.until = a.held
	}
	l.away, l.since = true, c.heard
	return a
}

// mayRepeat reports whether the player may show the pass of Dial again. "The same ticket brings the same player back while its
// first token is not acknowledged."
func (l *Line) mayRepeat() bool {
	return l.cfg.Resume.Anew || !HasSessions(l.dialect) || len(l.cfg.Ticket) > 0 && l.session.Token == (message.Token{})
}

// again makes a new connection, with as many attempts as it takes. It returns none when the player gives up, and then how that
// ended.
func (l *Line) again(ctx context.Context, a *absence, end ending) (*Conn, ending) {
	for {
		wait, way, ok := a.next(time.Now())
		if !ok || !pause(ctx, wait) {
			return nil, end
		}
		to := hop{way: way}
		if len(a.hops) > 0 {
			to = a.hops[way]
		} else {
			to.Way = l.cfg.Ways[way]
		}
		if to.told && len(a.tokens) == 0 {
			continue
		}
		pass := firstPass(&l.cfg, to.Dialect)
		if len(a.tokens) > 0 {
			pass = message.AppendSessionPass(nil, a.tokens[0])
		}
		c, why := l.dial(ctx, to, pass)
		if why == nil {
			return c, end
		}
		how := fateOf(nil, why)
		if how != lost && !to.told {
			end = ending{why, how == refused, ""}
		} else if errors.Is(why, context.DeadlineExceeded) && to.Dialect != "replica" { // whose handshake comes before the pass
			how = silent
		}
		if !a.failed(time.Now(), how, to.told) {
			return nil, end
		}
	}
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
