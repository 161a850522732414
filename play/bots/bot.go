package bots

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/internal/plain"
	"parley/world"
)

// Bot is a player that walks about, acts and chats by itself. It measures the latency of the server:
// from asking for a direction to seeing its own entity go that way.
type Bot struct {
	Dialect string
	Tally   Tally

	mu     sync.Mutex
	player *Player
	rng    *rand.Rand
	mark   string    // in what it says, so that it knows its own words
	asked  float32   // the direction that it asked for
	since  time.Time // when; zero if it has seen it
	words  int
	news   chan struct{} // something that it waits for has come
	away   bool          // its connection is lost
	left   bool          // it has left: what it is told now is of no account
	over   chan struct{} // closed when it is out of the game, though it did not leave
}

// Tally is the record of a bot.
type Tally struct {
	Connected bool
	Error     string          // why it could not join, or was disconnected
	Updates   uint64          // updates that it got
	Steered   int             // directions that it asked for
	Seen      int             // directions that it saw
	Acted     int             // actions that it did
	Told      int             // actions in sight that it was told of
	Said      int             // lines of chat
	Heard     int             // its own lines that came back
	Latencies []time.Duration // from asking to seeing
	Away      int             // how often its connection was lost and it tried to come back
	Absences  []time.Duration // for how long each time, from the last update before to the first after
	Same      int             // how often it was back as the same player
	Anew      int             // how often it was back as a new one
	Refused   bool            // the server did not let it back in
}

// Run joins and plays until ctx ends.
func (b *Bot) Run(ctx context.Context, addr string, c Config, seed uint64) {
	b.rng = rand.New(rand.NewPCG(seed, 0xb07))
	b.mark, b.news, b.over = fmt.Sprintf("[%x]", seed), make(chan struct{}, 1), make(chan struct{})
	c.Notice = b.notice
	joining, cancel := context.WithTimeout(ctx, 20*time.Second)
	p, err := Join(joining, b.Dialect, addr, c)
	cancel()
	if err != nil {
		b.missed(ctx, err)
		return
	}
	b.mu.Lock()
	b.player, b.Tally.Connected = p, true
	b.mu.Unlock()
	b.play(ctx, c.Schema)
	b.settle()
	late, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	b.mu.Lock()
	b.left = true
	b.mu.Unlock()
	p.Close(late)
	if b.away {
		b.fail("its connection was lost, and it was not back when its time was over")
	}
	p.See(func(v *Sight) { b.Tally.Updates = v.Updates })
}

// missed notes why a bot is not in the game. That its time was over before it got in is an error; that
// somebody ended all of it is none.
func (b *Bot) missed(ctx context.Context, why error) {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
	case errors.Is(why, context.DeadlineExceeded):
		b.fail("the server has not let it in in time")
	default:
		b.fail(why.Error())
	}
}

// settleTime is how long a bot stays to see and hear what it did last.
var settleTime = time.Second

// settle waits for what is under way: what a bot did in its last moment is not lost.
func (b *Bot) settle() {
	timer := time.NewTimer(settleTime)
	defer timer.Stop()
	for !b.settled() {
		select {
		case <-b.news:
		case <-timer.C:
			return
		}
	}
}

// settled reports whether nothing more is to come.
func (b *Bot) settled() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.since.IsZero() && b.Tally.Heard >= b.Tally.Said || b.Tally.Error != ""
}

// play does something each half second, until ctx ends or the bot is out of the game.
func (b *Bot) play(ctx context.Context, schema *world.Schema) {
	// Not all at once: bots that start together would else act together.
	timer := time.NewTimer(time.Duration(b.rng.Int64N(int64(time.Second))))
	defer timer.Stop()
	walks := slices.ContainsFunc(schema.Kinds, func(k *world.Kind) bool { return k.HasBody })
	for turn := 0; ; turn++ {
		select {
		case <-ctx.Done():
			return
		case <-b.over:
			return
		case <-timer.C:
		}
		timer.Reset(400*time.Millisecond + time.Duration(b.rng.Int64N(int64(200*time.Millisecond))))
		switch {
		case b.Dialect == "stamp": // it watches
		case turn%20 == 10:
			b.say(ctx)
		case (turn%4 == 3 || !walks) && len(schema.Actions) > 0:
			b.act(schema.Actions[b.rng.IntN(len(schema.Actions))])
		case walks:
			b.steer()
		}
	}
}

func (b *Bot) steer() {
	angle := float32(b.rng.Float64()*2*math.Pi - math.Pi)
	b.mu.Lock()
	b.asked, b.since = angle, time.Now()
	b.Tally.Steered++
	b.mu.Unlock()
	b.failed(b.player.Steer(angle, float32(b.topSpeed()*(.25+b.rng.Float64()/2))))
}

// topSpeed is the greatest speed that a player may ask for: that of its own kind, or the least of all until it knows it.
func (b *Bot) topSpeed() float64 {
	if own, ok := b.player.Own(); ok {
		if k := b.player.cfg.Schema.Kind(own.Kind); k != nil {
			return k.MaxSpeed
		}
	}
	least := math.Inf(1)
	for _, k := range b.player.cfg.Schema.Kinds {
		if k.HasBody {
			least = min(least, k.MaxSpeed)
		}
	}
	return least
}

// act does an action with parameters by chance.
func (b *Bot) act(a *world.Action) {
	var params []world.Value
	for _, f := range a.Fields {
		switch f.Type {
		case world.F32, world.F64:
			params = append(params, world.FloatValue(f.Type, b.rng.Float64()*2*math.Pi-math.Pi))
		case world.I8, world.I16, world.I32, world.I64:
			params = append(params, world.IntValue(f.Type, b.rng.Int64N(10)))
		case world.Text:
			params = append(params, world.TextValue("bot"))
		default:
			params = append(params, world.UintValue(f.Type, 0))
		}
	}
	b.mu.Lock()
	b.Tally.Acted++
	b.mu.Unlock()
	// A server may refuse a player that acts too fast: that is no error of the network.
	_ = b.player.Act(a, params...)
}

func (b *Bot) say(ctx context.Context) {
	b.mu.Lock()
	b.words++
	b.Tally.Said++
	text := fmt.Sprintf("hello %d %s", b.words, b.mark)
	b.mu.Unlock()
	if err := b.player.Say(ctx, text); ctx.Err() == nil {
		b.failed(err)
	}
}

// failed notes an error of something that it did. That it is away is none: what it does meanwhile is lost.
func (b *Bot) failed(err error) {
	switch {
	case err == nil, errors.Is(err, ErrRefused): // other dialects do not tell; what is never heard is counted
	case errors.Is(err, ErrAway):
		b.mu.Lock()
		b.since = time.Time{}
		b.mu.Unlock()
	default:
		b.fail(err.Error())
	}
}

func (b *Bot) fail(why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Tally.Error == "" {
		b.Tally.Error = plain.Text(why) // a server's words may be in it
	}
}

// notice looks at what it is told.
func (b *Bot) notice(n Notice) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left {
		return
	}
	switch n.Kind {
	case Said:
		if strings.HasSuffix(n.Text, b.mark) {
			b.Tally.Heard++
			b.stir()
		}
	case Acted:
		b.Tally.Told++
	case Ended:
		if b.Tally.Error == "" {
			b.Tally.Error = plain.Text(n.Text)
		}
		b.Tally.Refused, b.away = n.Refused, false
		close(b.over)
		b.stir()
	case Away:
		b.Tally.Away++
		b.away, b.since = true, time.Time{} // what it asked for may never be seen
	case Back:
		b.Tally.Absences = append(b.Tally.Absences, n.Absence)
		if b.away = false; n.Same {
			b.Tally.Same++
		} else {
			b.Tally.Anew++
		}
	case Updated:
		if b.since.IsZero() { // also before Join has returned
			return
		}
		if own, ok := b.player.Own(); ok && b.sees(own) {
			b.Tally.Seen++
			b.Tally.Latencies = append(b.Tally.Latencies, time.Since(b.since))
			b.since = time.Time{}
			b.stir()
		}
	}
}

// sees reports whether an entity has the direction that the bot asked for, which the game may round.
func (b *Bot) sees(own Thing) bool {
	k := b.player.cfg.Schema.Kind(own.Kind)
	if k == nil || !k.HasBody {
		return own.Angle == b.asked
	}
	f := &k.Fields[world.FieldAngle]
	return f.Encode(world.FloatValue(f.Type, float64(own.Angle))) == f.Encode(world.FloatValue(f.Type, float64(b.asked)))
}

func (b *Bot) stir() {
	select {
	case b.news <- struct{}{}:
	default:
	}
}
