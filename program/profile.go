package program

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"parley/arena"
	"parley/protocol/realm/core"
	"parley/world"
)

// mikoTicks is how many ticks a second that client counts.
const mikoTicks = 50

// realmProfile is how a game shows itself to realm's clients, which have to know it.
type realmProfile struct {
	game      world.Game
	fields    []core.Field // of the config message
	values    []core.Value
	firstType int // the number of the kind that is type 0

	tickRate     int           // ticks a second, 0 for what the flag says
	sightRadius  int           // chunks around a player that it is sent unasked, as it walks too; 0 is realm's default
	loginWithin  time.Duration // how long a client may take to log in, 0 for realm's default
	walksByTicks float32       // what a speed in cells a tick at 20 a second is multiplied by
}

// profileFlag adds --realm-profile to a command of the arena. Other games have one profile, plain.
func (a *app) profileFlag(cmd *cobra.Command, name *string, usage string) {
	if *name = "plain"; a.isArena() {
		cmd.Flags().StringVar(name, "realm-profile", *name, usage)
		offer(cmd, "realm-profile", "plain", "miko")
	}
}

// profile returns what --realm-profile says. With miko realm's config says how the arena is:
// "player speed f32, ball cooldown u16, ball speed f32, ball lifespan u16", with entity types from 0; and all else is as that
// game's client takes it for granted: 50 ticks a second, with speeds and cooldowns of that rate, 17 by 17 chunks around the
// player without a question, and a login form at which people may sit.
func (a *app) profile(name string) (realmProfile, error) {
	switch name {
	case "plain":
		return realmProfile{game: a.game, walksByTicks: 1}, nil
	case "miko":
		rules := arena.RulesAt(mikoTicks)
		return realmProfile{
			game: arena.GameAt(mikoTicks),
			fields: []core.Field{
				{Name: "player_speed", Type: core.TypeF32}, {Name: "ball_cooldown", Type: core.TypeU16},
				{Name: "ball_speed", Type: core.TypeF32}, {Name: "ball_lifespan", Type: core.TypeU16},
			},
			values: []core.Value{
				core.F32(rules.PlayerSpeed), core.U16(rules.BallCooldown), core.F32(rules.BallSpeed), core.U16(rules.BallLifespan),
			},
			firstType: 1, tickRate: mikoTicks, sightRadius: 8, loginWithin: 10 * time.Minute,
			walksByTicks: rules.PlayerSpeed / arena.PlayerSpeed,
		}, nil
	}
	return realmProfile{}, fmt.Errorf("--realm-profile must be plain or miko, not %q", name)
}
