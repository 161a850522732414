package cli

import (
	"fmt"

	"parley/arena"
	"parley/protocol/realm"
)

// realmProfile is how the arena shows itself to realm's clients, which have to know it.
type realmProfile struct {
	fields    []realm.Field // of the config message
	values    []realm.Value
	firstType int // the number of the kind that is type 0
}

// realmProfileOf returns what --realm-profile says. With miko realm's config says how the arena is:
// "player speed f32, ball cooldown u16, ball speed f32, ball lifespan u16", with entity types from 0.
func realmProfileOf(name string) (realmProfile, error) {
	switch name {
	case "plain":
		return realmProfile{}, nil
	case "miko":
		return realmProfile{
			fields: []realm.Field{
				{Name: "player_speed", Type: realm.TypeF32}, {Name: "ball_cooldown", Type: realm.TypeU16},
				{Name: "ball_speed", Type: realm.TypeF32}, {Name: "ball_lifespan", Type: realm.TypeU16},
			},
			values: []realm.Value{
				realm.F32(arena.PlayerSpeed), realm.U16(arena.BallCooldown), realm.F32(arena.BallSpeed), realm.U16(arena.BallLifespan),
			},
			firstType: 1,
		}, nil
	}
	return realmProfile{}, fmt.Errorf("--realm-profile is plain or miko, not %q", name)
}
