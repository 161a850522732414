package program

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	front "parley"
	"parley/arena"
	"parley/internal/plain"
	"parley/play/keep"
	"parley/world"
)

// A replayReport is what replay prints with --json.
type replayReport struct {
	Game       string            `json:"game"`
	Version    string            `json:"version,omitempty"`
	Mode       string            `json:"mode,omitempty"`
	Seed       uint64            `json:"seed"`
	Ticks      uint64            `json:"ticks"`
	Inputs     uint64            `json:"inputs"`
	Hash       string            `json:"hash"`
	CutOff     bool              `json:"cut_off"`
	Stopped    bool              `json:"stopped"`
	Ended      bool              `json:"ended,omitempty"`
	Difference *replayDifference `json:"difference"`
}

type replayDifference struct {
	Tick     uint64 `json:"tick"`
	Part     string `json:"part"`
	Entity   string `json:"entity,omitempty"`
	Kind     string `json:"kind,omitempty"`
	Field    string `json:"field,omitempty"`
	Recorded string `json:"recorded,omitempty"`
	Now      string `json:"now,omitempty"`
}

func (a *app) newReplay() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "replay FILE|FOLDER",
		Short: "Run a recording or a room's log again and compare every tick",
		Long: `Replay runs a recording of the game again and compares every tick with the
recorded one. It stops at the first difference, prints the tick, the entity and
the field, and ends with exit status 1. The file - is standard input.

The folder of a room (DATA/rooms/ROOM) is replayed from its oldest snapshot on,
also while a server writes to it. The log of a room has no states: a difference
names the tick alone. A segment of the log needs the snapshot before it, so name
the folder, or cat both to standard input.

The recording of a server that was killed is cut off, and is replayed up to
there. If it ends within a tick, the server died in that tick. The inputs of
that tick are in the file.`,
		Example: `  parley replay game.rec
  parley replay --json game.rec
  parley replay parley-data/rooms/main
  gunzip < game.rec.gz | parley replay -
  cat snapshot log | parley replay -`,
		DisableFlagsInUseLine: true,
		Args:                  takesOne("recording or folder"),
		ValidArgsFunction:     cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault), // files
		RunE:                  func(cmd *cobra.Command, args []string) error { return a.replayFile(cmd, args[0], asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (a *app) replayFile(cmd *cobra.Command, name string, asJSON bool) error {
	in, err := openReplay(name, cmd.InOrStdin())
	if err != nil {
		return failure{err}
	}
	defer in.Close()
	file := bufio.NewReaderSize(in, 1<<20)
	report, err := world.Replay(a.gameOf(file), file)
	if err != nil {
		return failure{fmt.Errorf("%s: %w%s", name, err, roomHint(name))}
	}
	if err := printReplay(cmd.OutOrStdout(), report, asJSON); err != nil {
		return err
	}
	if report.Difference != nil {
		if !asJSON {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", cmd.CommandPath(), plain.Text(report.Difference.String()))
		}
		return errReported
	}
	return nil
}

// gameOf returns the game of a recording. It names its game in its first bytes: of a server with another profile it is another.
func (a *app) gameOf(file *bufio.Reader) world.Game {
	head, _ := file.Peek(256)
	if other := arena.GameAt(mikoTicks); a.isArena() && bytes.Contains(head, []byte(other.Name)) {
		return other
	}
	return a.game
}

// openReplay opens a recording, the files of a room, or standard input.
func openReplay(name string, stdin io.Reader) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(stdin), nil
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		log, err := keep.ReadLog(name)
		if err != nil {
			return nil, fmt.Errorf("%w; name a recording, or the folder of a room, such as %s", err, filepath.Join(defaultData, "rooms", front.MainRoom))
		}
		return log, nil
	}
	return os.Open(name)
}

// roomHint says what to replay instead of a file that cannot be replayed, if it is one of several of a room.
func roomHint(name string) string {
	folder := filepath.Dir(name)
	if log, err := keep.ReadLog(folder); name != "-" && err == nil {
		log.Close()
		return fmt.Sprintf("; the file is part of a room: replay the folder %s", folder)
	}
	return ""
}

func printReplay(w io.Writer, r world.Report, asJSON bool) error {
	if asJSON {
		return printJSON(w, replayJSON(r))
	}
	same := "each as recorded"
	if r.Difference != nil {
		same = "the last not as recorded"
	}
	fmt.Fprintf(w, "%s, seed %d: %d ticks and %d inputs run again, %s; hash %016x\n", plain.Text(r.Name), r.Seed, r.Ticks, r.Inputs, same, r.Hash)
	if r.CutOff {
		fmt.Fprintln(w, "the recording is cut off")
	}
	if r.Ended {
		fmt.Fprintln(w, "the room has ended")
	}
	if r.Stopped {
		fmt.Fprintf(w, "the recording ends within tick %d: it has the inputs of that tick, but not their result\n", r.Ticks)
	}
	return nil
}

func replayJSON(r world.Report) replayReport {
	out := replayReport{
		Game: r.Name, Version: r.Version, Mode: r.Mode, Seed: r.Seed, Ticks: r.Ticks, Inputs: r.Inputs, Hash: fmt.Sprintf("%016x", r.Hash), CutOff: r.CutOff, Stopped: r.Stopped, Ended: r.Ended,
	}
	if d := r.Difference; d != nil {
		out.Difference = &replayDifference{Tick: d.Tick, Part: d.Part, Kind: d.Kind, Field: d.Field, Recorded: d.Recorded, Now: d.Now}
		if d.Entity != 0 {
			out.Difference.Entity = d.Entity.String()
		}
	}
	return out
}
