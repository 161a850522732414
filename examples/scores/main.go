// Command scores is a game whose scores are kept in a database: players throw darts, and SQLite has who scored how much. The game itself
// knows nothing of it, as Step touches nothing but the world. What it does is told as events, once it can no longer be taken back.
//
//	go run ./examples/scores        # serves at the usual ports, and keeps scores.db in parley-data
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"

	_ "modernc.org/sqlite"

	"parley"
	"parley/world"
)

// Thrower is a player's own entity.
type Thrower struct {
	world.Body
	Score uint32
}

// Board counts all throws of the room.
type Board struct{ Throws, Points uint32 }

// Throw is the action of a player. Points is what it scores: Step decides, whatever the client says.
type Throw struct{ Points uint8 }

var game = parley.Game{
	Name:    "darts",
	Kinds:   world.Kinds(Thrower{}, Board{}),
	Actions: world.Actions(Throw{}),
	Setup:   func(w *world.World) { world.Spawn(w, Board{}) },
	Step:    step,
}

func step(w *world.World, inputs []world.Input) {
	for i := range inputs {
		in := &inputs[i]
		if in.Kind == world.Join {
			w.Own(in.Player, world.SpawnFor(w, in, Thrower{}))
		}
		_, who := world.Avatar[Thrower](w, in.Player)
		throw, ok := world.Read[Throw](in)
		if !ok || who == nil {
			continue
		}
		throw.Points = uint8(w.Random().IntN(21))
		who.Score += uint32(throw.Points)
		for _, board := range world.All[Board](w) {
			board.Throws++
			board.Points += uint32(throw.Points)
		}
		world.Done(w, in, throw) // the event has these values
	}
}

// The database has the points of each name, and behind which event they are. Both change in one transaction: whenever the
// program is killed, it goes on behind the last event that counts.
const schema = `
	CREATE TABLE IF NOT EXISTS scores (name TEXT PRIMARY KEY, throws INTEGER NOT NULL, points INTEGER NOT NULL);
	CREATE TABLE IF NOT EXISTS places (room TEXT PRIMARY KEY, place TEXT NOT NULL);`

func openScores(file string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // a file of SQLite has one writer at a time
	if _, err := db.Exec(schema); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", file, err), db.Close())
	}
	return db, nil
}

// keepScores saves the scores of a room, until ctx or the server ends.
func keepScores(ctx context.Context, server *parley.Server, db *sql.DB, room string) error {
	var text string
	if err := db.QueryRow("SELECT place FROM places WHERE room = ?", room).Scan(&text); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	place, err := parley.ParsePlace(text) // with no text it is before all events
	if err != nil {
		return err
	}
	for ev, err := range server.Events(ctx, room, place) {
		if errors.Is(err, parley.ErrClosed) || ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if throw, ok := parley.As[Throw](ev); ok {
			if err := save(db, ev, throw); err != nil {
				return err
			}
		}
	}
	return nil
}

// save counts a throw, and notes its place.
func save(db *sql.DB, ev parley.Event, throw Throw) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	if _, err := tx.Exec(`INSERT INTO scores VALUES (?, 1, ?) ON CONFLICT (name)
		DO UPDATE SET throws = throws + 1, points = points + excluded.points`, ev.Name, throw.Points); err != nil {
		return err
	}
	if _, err := tx.Exec("INSERT OR REPLACE INTO places VALUES (?, ?)", ev.Room, ev.Place.String()); err != nil {
		return err
	}
	return tx.Commit()
}

// run serves the game and keeps its scores. With Keep, events that were not saved before the program ended come again when it starts.
func run(ctx context.Context, c parley.Config) error {
	server, err := parley.Start(game, c)
	if err != nil {
		return err
	}
	defer server.Close()
	db, err := openScores(filepath.Join(c.DataDir, "scores.db"))
	if err != nil {
		return err
	}
	defer db.Close()
	return keepScores(ctx, server, db, parley.MainRoom)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, parley.Config{Keep: parley.KeepSecond, DataDir: "parley-data"}); err != nil {
		log.Fatal(err)
	}
}
