package cli

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	front "parley"
	"parley/account/postgres"
	"parley/arena"
	"parley/protocol/realm"
)

// fillFlags gives the flags that were not typed their values: those of the environment, then
// those of the file.
func fillFlags(cmd *cobra.Command, file string) error {
	values := map[string]any{}
	if file == "" {
		file = os.Getenv(envName("config"))
	}
	if file != "" {
		if _, err := toml.DecodeFile(file, &values); err != nil {
			return fmt.Errorf("--config: %w", err)
		}
	}
	for name := range values {
		if flag := cmd.Flags().Lookup(name); flag == nil || name == "config" || name == "help" {
			return fmt.Errorf("--config: %s has %q, which is no flag of %s", file, name, cmd.CommandPath())
		}
	}
	var problems []error
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if flag.Changed {
			return
		}
		if v, ok := os.LookupEnv(envName(flag.Name)); ok {
			if err := cmd.Flags().Set(flag.Name, v); err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", envName(flag.Name), err))
			}
		} else if v, ok := values[flag.Name]; ok {
			if err := cmd.Flags().Set(flag.Name, fmt.Sprint(v)); err != nil {
				problems = append(problems, fmt.Errorf("--config: %s: %w", flag.Name, err))
			}
		}
	})
	if len(problems) > 0 {
		return problems[0]
	}
	return nil
}

// envName is the variable of a flag.
func envName(flag string) string {
	return "PARLEY_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// serverConfig turns flags into how the game is served. done lets go of what was opened.
func (f *serveFlags) serverConfig(ctx context.Context, log *slog.Logger) (c front.Config, done func(), err error) {
	var closers []func()
	done = func() {
		for _, c := range closers {
			c()
		}
	}
	c = front.Config{
		Replica: f.replica, Stamp: f.stamp, Relay: f.relay, Duplex: f.duplex, Realm: f.realm, RealmTime: f.realmTime,
		DataDir: f.data, TickRate: f.tickRate, Seed: f.seed, Sight: f.sight, MaxPlayers: f.maxPlayers, RealmPlain: f.realmPlain,
		Registrations: f.registrations, Failures: f.failures, Log: log,
	}
	if c.Seed == 0 {
		c.Seed = randomSeed()
	}
	switch {
	case f.tickRate < 1 || f.tickRate > 1000:
		return c, done, fmt.Errorf("--tick-rate is 1 to 1000, not %d", f.tickRate)
	case f.maxPlayers < 1:
		return c, done, fmt.Errorf("--max-players is at least 1, not %d", f.maxPlayers)
	}
	switch f.relayLobby {
	case "open":
	case "connector":
		c.RelayConnector = true
	default:
		return c, done, fmt.Errorf("--relay-lobby is open or connector, not %q", f.relayLobby)
	}
	switch f.realmProfile {
	case "plain":
	case "miko":
		mikoProfile(&c)
	default:
		return c, done, fmt.Errorf("--realm-profile is plain or miko, not %q", f.realmProfile)
	}
	if f.ticketKey != "" {
		if c.TicketKey, err = readTicketKey(f.ticketKey); err != nil {
			return c, done, err
		}
	}
	if f.postgres != "" && f.realm != front.Off {
		store, err := postgres.Open(ctx, f.postgres)
		if err != nil {
			return c, done, fmt.Errorf("--postgres: %w", err)
		}
		c.Accounts = store
		closers = append(closers, func() { store.Close() })
	}
	if f.record != "" {
		file, err := os.Create(f.record)
		if err != nil {
			return c, done, fmt.Errorf("--record: %w", err)
		}
		c.Record = file
		closers = append(closers, func() { file.Close() })
	}
	return c, done, nil
}

func randomSeed() uint64 {
	var b [4]byte // short enough to be typed again
	rand.Read(b[:])
	return uint64(binary.LittleEndian.Uint32(b[:]))
}

// mikoProfile has realm's config say how the arena is: "player speed f32, ball cooldown u16,
// ball speed f32, ball lifespan u16", with entity types from 0.
func mikoProfile(c *front.Config) {
	c.RealmConfig = []realm.Field{
		{Name: "player_speed", Type: realm.TypeF32}, {Name: "ball_cooldown", Type: realm.TypeU16},
		{Name: "ball_speed", Type: realm.TypeF32}, {Name: "ball_lifespan", Type: realm.TypeU16},
	}
	c.RealmExtension = []realm.Value{
		realm.F32(arena.PlayerSpeed), realm.U16(arena.BallCooldown), realm.F32(arena.BallSpeed), realm.U16(arena.BallLifespan),
	}
	c.RealmFirstType = 1
}
