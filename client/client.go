package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"parley/play/line"
	"parley/play/picture"
	"parley/world"
)

var (
	// ErrNoServer means that nobody answers at an address. Dial finds out in two seconds for each.
	ErrNoServer = line.ErrNoServer

	// ErrOtherGame means that the server runs another game than this one, or another version of it with other kinds or actions.
	ErrOtherGame = line.ErrOtherGame

	// ErrRefused means that the server answers, and does not let the player in. The error has its words.
	ErrRefused = line.ErrRefused

	// ErrSpectator means that the player can only watch, as all do over stamp.
	ErrSpectator = line.ErrSpectator
)

// Stats are what a client has measured.
type Stats = picture.Stats

// Client is a player of a game. Its methods may be called by any goroutine, except that At and Frames are for one at a time.
type Client struct {
	line    *line.Line
	schema  *world.Schema
	watches bool // it is a spectator
	realm   picture.RealmConfig
	wake    chan struct{} // there is something to do before the next timeout
	stop    chan struct{} // closed by Close
	end     sync.Once
	pulsed  sync.WaitGroup

	mu     sync.Mutex
	core   *picture.Core
	toil   toil
	frame  Frame
	events []Event // that no frame has had yet, the core's newest excepted
	kept   []kept  // what the player did while it was away
	away   bool
	going  time.Time // until when the server that is emptied may end the connection: what the player does waits
	name   string    // of a player who is away
	over   bool      // the player is out of the game
	why    error     // and why
	closed bool      // by Close
}

// Dial joins a game at one of several addresses, separated by commas: the first that answers. It returns when the server has let the
// player in. An address is replica://, relay://, duplex://, realm:// or stamp://, host and port; the port may be left out. Over stamp
// the player only watches. With +ws, +wss or +wt behind the dialect, as in replica+wss://host, WebSocket or WebTransport carries it.
//
// The error is ErrNoServer if nobody answers, ErrOtherGame if the server runs another game than g, and ErrRefused if it does not let
// the player in. If ctx ends first, Dial returns the error of ctx. After Dial, ctx has no meaning.
func Dial(ctx context.Context, urls string, g world.Game, c Config) (*Client, error) {
	g, err := g.Prepare()
	if err != nil {
		return nil, err
	}
	schema, err := g.Schema()
	if err != nil {
		return nil, err
	}
	l, err := c.line(urls, g, schema)
	if err != nil {
		return nil, err
	}
	x := &Client{schema: schema, wake: make(chan struct{}, 1), stop: make(chan struct{})}
	busy := func() bool { return x.toil.isBusy(time.Now()) }
	x.core, err = picture.New(g, picture.Config{Name: l.Name, TickRate: c.TickRate, NoPrediction: c.NoPrediction, Busy: busy})
	if err != nil {
		return nil, err
	}
	x.watches = l.Ways[0].Dialect == "stamp"
	x.realm = picture.RealmConfig{Name: l.Name, FirstType: c.FirstType}
	l.Read, l.Notice = x.listen, x.connection
	if x.line, err = line.Dial(ctx, l); err != nil {
		return nil, err
	}
	x.pulsed.Go(x.pulse)
	if err := x.line.Entered(ctx); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// pulse has the core run the player's own ticks, whether or not frames are drawn.
func (c *Client) pulse() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-c.wake:
		case <-timer.C:
		}
		now := time.Now()
		c.lock()
		c.core.HandleTimeout(now)
		next, ok := c.core.NextTimeout()
		c.unlock()
		if !ok {
			next = now.Add(time.Minute)
		}
		timer.Reset(max(next.Sub(now), time.Millisecond))
	}
}

// stir has pulse look again.
func (c *Client) stir() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Frames yields what is to be drawn, so many times a second, until the player is out of the game or the loop ends. The last frame has
// the event Ended, and shows the newest that was told. A frame is valid until the next one. A loop that takes longer than a frame misses some.
func (c *Client) Frames(fps int) iter.Seq[*Frame] {
	return func(yield func(*Frame) bool) {
		next := time.NewTicker(time.Second / time.Duration(max(1, min(fps, 1000))))
		defer next.Stop()
		for {
			f, over := c.at(time.Now())
			if !yield(f) || over {
				return
			}
			<-next.C
		}
	}
}

// At returns what is to be drawn at a moment: time.Now(), or a time that a display tells. Moments must not go back. The frame is valid
// until the next call.
func (c *Client) At(now time.Time) *Frame {
	f, _ := c.at(now)
	return f
}

// at is At, and reports whether it is the last frame.
func (c *Client) at(now time.Time) (f *Frame, last bool) {
	c.lock()
	defer c.unlock()
	f = &c.frame
	f.picture = c.core.Frame(now)
	f.Tick, f.OwnTick = f.picture.Tick, f.picture.OwnTick
	c.gather()
	clear(f.events) // for the texts in it
	f.events = append(f.events[:0], c.events...)
	clear(c.events)
	c.events = c.events[:0]
	return f, c.over
}

// gather takes the events of the core.
func (c *Client) gather() {
	for ev, ok := c.core.PollEvent(); ok; ev, ok = c.core.PollEvent() {
		c.note(ev)
	}
}

// note queues an event for the next frame. While nobody draws, the oldest are lost.
func (c *Client) note(ev Event) {
	if len(c.events) >= maxEvents {
		c.events = append(c.events[:0], c.events[1:]...)
	}
	c.events = append(c.events, ev)
}

// Steer moves the player's own entity in a direction, in radians, at a number of cells a tick. The next frame shows it. It goes on
// until the next Steer. A player who is away steers so when it is back. It is an error if the own kind does not go so fast (the tag speed).
func (c *Client) Steer(angle, norm float32) error {
	if c.watches {
		return ErrSpectator
	}
	c.lock()
	defer c.unlock()
	if c.over {
		return errGone
	}
	defer c.stir()
	if err := c.core.Steer(time.Now(), angle, norm); err != nil && !isAway(err) {
		return fmt.Errorf("client: steer: %w", err)
	}
	return nil
}

// Act does an action of the game: client.Act(c, Fire{Angle: 1}). What a player does while it is away is done when it is back, if it was
// not away for longer than its place is held.
func Act[T any](c *Client, v T) error {
	a, params := world.ParamsOf(c.schema, v)
	if a == nil {
		return fmt.Errorf("client: the game has no action %T: add it to Game.Actions", v)
	}
	return c.Act(a, params...)
}

// Act does an action of the game, as the function Act does, for programs that know actions by their schema. params has a value for each
// field; an entity among them is an ID of the frame's world.
func (c *Client) Act(a *world.Action, params ...world.Value) error {
	if a == nil {
		return errors.New("client: there is no such action: the game's schema has those that there are")
	}
	if len(params) != len(a.Fields) {
		return fmt.Errorf("client: the action %s has %d parameters, not %d", a.Name, len(a.Fields), len(params))
	}
	return c.do(kept{action: a, params: params})
}

// Say sends a line of chat to all players. A line of a player who is away is said when it is back, as an action is done.
func (c *Client) Say(text string) error {
	if len(text) > maxLine {
		return fmt.Errorf("client: a line of %d bytes: the limit is %d; split it", len(text), maxLine)
	}
	return c.do(kept{text: text})
}

// URL returns the address of the present connection, one of those that Dial had. While the player is away it is that of the lost one.
func (c *Client) URL() string { return c.line.Now().Way().String() }

// Session returns the token with which the player can go on in another process (Config.Session), and for how long its place is held when
// the connection is lost. The token is zero over realm and stamp. It changes when the player comes back.
func (c *Client) Session() (token [16]byte, hold time.Duration) {
	t, hold := c.line.Session()
	return t, hold
}

// Stats returns what was measured.
func (c *Client) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.core.Stats()
}

// Err returns why the player is out of the game. It is nil while the player is in it, and when it left by Close.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	return c.why
}

// errGone is the error of whatever a player does who is out of the game.
var errGone = errors.New("client: the player is out of the game: Err says why")

// closePatience is how long a server may take to hear that a player leaves.
const closePatience = 2 * time.Second

// Close leaves the game. Frames then yields the last frame. Close every client, also one whose game has ended.
func (c *Client) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	c.mu.Lock()
	ended := c.over
	c.closed = true
	c.mu.Unlock()
	err := c.line.Close(ctx)
	c.end.Do(func() { close(c.stop) })
	c.pulsed.Wait()
	if ended { // there was nobody to say goodbye to
		return nil
	}
	return err
}

func isAway(err error) bool { return errors.Is(err, picture.ErrAway) || line.IsClosed(err) }
