package arena

import (
	"strconv"

	"parley/world"
)

// The rules, for 20 ticks a second. Speeds are in cells a tick and times in ticks. A player walks 40 cells in
// a second.
const (
	PlayerSpeed  = 2
	BallSpeed    = 8
	BallLifespan = 40
	BallCooldown = 10

	MaxHealth = 100
	BallHarm  = 20

	ticksASecond = 20

	// cooldownGrace is how many ticks too soon a throw may be. Clients count their own cooldown, by a clock
	// that is not quite ours: "what the client's own cooldown permits is not denied". What is thrown too soon
	// is added to the next cooldown, so nobody throws more often for it.
	cooldownGrace = 2
)

// Rules are the speeds of the arena, in cells a tick, and its times, in ticks.
type Rules struct {
	PlayerSpeed  float32 // cells a tick
	BallSpeed    float32
	BallLifespan uint16
	BallCooldown uint16
}

// RulesAt returns the rules for another tick rate, with the same speeds in cells a second, and the same
// throws a second, as at 20 ticks a second.
func RulesAt(rate int) Rules {
	return Rules{
		PlayerSpeed: float32(float64(PlayerSpeed*ticksASecond) / float64(rate)), BallSpeed: float32(float64(BallSpeed*ticksASecond) / float64(rate)),
		BallLifespan: uint16(BallLifespan * rate / ticksASecond), BallCooldown: uint16(BallCooldown * rate / ticksASecond),
	}
}

// Duel is the mode of a room that ends when a player's health does.
const Duel = "duel"

// The sprites. A sprite gives its entity an outline.
const (
	SpritePlayer = 1
	SpriteBall   = 2
)

// A Player is a player's entity. It walks and throws balls.
type Player struct {
	world.Body  `parley:"kind=1,speed=2"`
	Health      uint16 `parley:"attr=1"`
	CooldownOne uint16 `parley:"attr=30000,countdown"` // ticks until it may throw again
}

// A Ball flies until it hits something or its time is up.
type Ball struct {
	world.Body `parley:"kind=2,speed=8"`
	TicksLeft  uint16   `parley:"attr=0,countdown"`
	Sender     world.ID `parley:"attr=2"`
}

// Throw is action 0: the player throws a ball at an angle. Entity is the ball.
type Throw struct {
	Angle  float32
	Entity world.ID
}

// Game returns the arena with the rules for 20 ticks a second.
func Game() world.Game { return game("arena", ticksASecond) }

// GameAt returns the arena with the rules for another tick rate. Its Name differs from that of Game, so that
// its recordings are not replayed at a wrong rate.
func GameAt(rate int) world.Game {
	if rate == ticksASecond {
		return Game()
	}
	return game("arena at "+strconv.Itoa(rate), rate)
}

func game(name string, rate int) world.Game {
	rules := RulesAt(rate)
	return world.Game{
		Name:      name,
		Kinds:     world.Kinds(Player{}, Ball{}).Scaled(float64(ticksASecond) / float64(rate)),
		Actions:   world.Actions(Throw{}),
		Step:      rules.step,
		Terrain:   walls,
		CellTypes: []world.Cell{Floor: {}, Wall: {Solid: true}},
		Hitboxes:  []world.Hitbox{SpritePlayer: world.Circle(10), SpriteBall: world.Circle(10)},
	}
}

// step makes a tick: what players do, then what moves, then who is hit.
func (r *Rules) step(w *world.World, inputs []world.Input) {
	for i := range inputs {
		in := &inputs[i]
		switch in.Kind {
		case world.Join:
			join(w, in)
		case world.Steer:
			w.Steer(in)
		case world.Act:
			if t, ok := world.Read[Throw](in); ok {
				r.throw(w, in, t)
			}
		}
	}
	for _, p := range world.All[Player](w) {
		w.Move(&p.Body)
		if p.CooldownOne > 0 {
			p.CooldownOne--
		}
	}
	for id, b := range world.All[Ball](w) {
		stopped := w.Move(&b.Body)
		if b.TicksLeft--; stopped || b.TicksLeft == 0 {
			w.Despawn(id)
		}
	}
	w.Reindex()
	for id, b := range world.All[Ball](w) {
		hit(w, id, b)
	}
}

func join(w *world.World, in *world.Input) {
	x, y := birthplace(w, 0, 0)
	id := world.SpawnFor(w, in, Player{
		Body:   world.Body{X: x, Y: y, Sprite: SpritePlayer},
		Health: MaxHealth,
	})
	w.Own(in.Player, id)
}

func (r *Rules) throw(w *world.World, in *world.Input, t Throw) {
	id, p := world.Avatar[Player](w, in.Player)
	if p == nil || p.CooldownOne > cooldownGrace {
		w.Deny(in)
		return
	}
	t.Entity = world.SpawnFor(w, in, Ball{
		Body:      world.Body{X: p.X, Y: p.Y, Angle: t.Angle, Norm: r.BallSpeed, Sprite: SpriteBall},
		TicksLeft: r.BallLifespan,
		Sender:    id,
	})
	if t.Entity == 0 { // there are as many balls as may be
		w.Deny(in)
		return
	}
	p.CooldownOne += r.BallCooldown
	world.Done(w, in, t)
}

// hit harms the first player, other than the sender, whom a ball touches.
func hit(w *world.World, id world.ID, b *Ball) {
	for target := range w.Touching(&b.Body) {
		p := world.Get[Player](w, target)
		if p == nil || target == b.Sender {
			continue
		}
		w.Despawn(id)
		if p.Health > BallHarm {
			p.Health -= BallHarm
			return
		}
		if w.Mode() == Duel {
			winner, _ := w.Player(w.Owner(b.Sender))
			w.End(winner.Name + " wins")
		}
		// Back to life somewhere else: the same entity, with the same number.
		x, y := birthplace(w, target, b.Sender)
		w.Place(target, x, y)
		p.Health = MaxHealth
		return
	}
}
