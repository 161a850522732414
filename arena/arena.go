package arena

import "parley/world"

// The rules. Speeds are cells a tick, times are ticks; at 20 ticks a second a
// player walks 40 cells in a second.
const (
	PlayerSpeed  = 2
	BallSpeed    = 8
	BallLifespan = 40
	BallCooldown = 10

	MaxHealth = 100
	BallHarm  = 20
)

// The sprites, which give the outlines.
const (
	SpritePlayer = 1
	SpriteBall   = 2
)

// A Player is someone who walks and throws.
type Player struct {
	world.Body  `parley:"kind=1,speed=2"`
	Health      uint16 `parley:"attr=1"`
	CooldownOne uint16 `parley:"attr=30000"` // ticks until it may throw again
}

// A Ball flies until it hits something or its time is over.
type Ball struct {
	world.Body `parley:"kind=2,speed=8"`
	TicksLeft  uint16   `parley:"attr=0"`
	Sender     world.ID `parley:"attr=2"`
}

// Throw is action 0: a ball flies off at an angle. Entity is the ball.
type Throw struct {
	Angle  float32
	Entity world.ID
}

// Game returns the game.
func Game() world.Game {
	return world.Game{
		Name:      "arena",
		Kinds:     world.Kinds(Player{}, Ball{}),
		Actions:   world.Actions(Throw{}),
		Step:      step,
		Terrain:   walls,
		CellTypes: []world.Cell{Floor: {}, Wall: {Solid: true}},
		Hitboxes:  []world.Hitbox{SpritePlayer: world.Circle(10), SpriteBall: world.Circle(10)},
	}
}

// step makes a tick: what players do, then what moves, then who is hit.
func step(w *world.World, inputs []world.Input) {
	for i := range inputs {
		in := &inputs[i]
		switch in.Kind {
		case world.Join:
			join(w, in)
		case world.Steer:
			w.Steer(in)
		case world.Act:
			if t, ok := world.Read[Throw](in); ok {
				throw(w, in, t)
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
	x, y := room(w)
	id := world.SpawnFor(w, in, Player{
		Body:   world.Body{X: x, Y: y, Sprite: SpritePlayer},
		Health: MaxHealth,
	})
	w.Own(in.Player, id)
}

func throw(w *world.World, in *world.Input, t Throw) {
	id, p := world.Avatar[Player](w, in.Player)
	if p == nil || p.CooldownOne > 0 {
		w.Deny(in)
		return
	}
	t.Entity = world.SpawnFor(w, in, Ball{
		Body:      world.Body{X: p.X, Y: p.Y, Angle: t.Angle, Norm: BallSpeed, Sprite: SpriteBall},
		TicksLeft: BallLifespan,
		Sender:    id,
	})
	if t.Entity == 0 { // there are as many balls as may be
		w.Deny(in)
		return
	}
	p.CooldownOne = BallCooldown
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
		// Back to life somewhere else: the same entity, with the same number.
		x, y := room(w)
		w.Place(target, x, y)
		p.Health = MaxHealth
		return
	}
}
