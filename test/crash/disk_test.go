package crash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"parley/play/keep"
	"parley/world"
)

// disk is what a killed server has left of the room main.
type disk struct {
	tick    uint64
	players map[int]kept
	rows    map[int]int // steps by player, of those who have left too
	lines   map[string]bool
	stories map[int][]string // what became of each player
}

// kept is a player in the log.
type kept struct {
	name  string
	known bool // it can come back
}

// readDisk loads the room as a server does, from a copy, so that the server itself has to do so too. It must be what a replay of the
// whole log gives.
func readDisk(t *testing.T, dir string) *disk {
	t.Helper()
	folder := filepath.Join(dir, "rooms", "main")
	log, err := keep.ReadLog(folder)
	if err != nil {
		t.Fatal(err)
	}
	report, err := world.Replay(game(), log)
	if err = errors.Join(err, log.Close()); err != nil || report.Difference != nil {
		t.Fatalf("a replay of the log: %v, %v", err, report.Difference)
	}

	again := t.TempDir()
	if err := os.CopyFS(filepath.Join(again, "rooms", "main"), os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	shelf, err := keep.Open(keep.Config{Dir: again, Mode: keep.Second, History: true})
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(again)
	defer shelf.Close(context.Background())
	sim, _, err := shelf.Load("main", game())
	if err != nil {
		t.Fatal(err)
	}
	if sim.World().Hash() != report.Hash {
		t.Errorf("the room goes on at tick %d with %x, and a replay of its log has %x", sim.Tick(), sim.World().Hash(), report.Hash)
	}
	d := &disk{tick: sim.Tick(), players: map[int]kept{}, rows: map[int]int{}, lines: map[string]bool{}, stories: map[int][]string{}}
	for p := range sim.World().Players() {
		at, _ := sim.Seat(p.ID)
		d.players[int(p.ID)] = kept{p.Name, at.Known}
	}
	for _, b := range world.All[walker](sim.World()) {
		d.rows[int(b.Y)] = int(b.X)
	}
	for _, b := range world.All[grave](sim.World()) {
		d.rows[int(b.Y)] = int(b.X)
	}
	d.readItems(t, folder, sim)
	return d
}

// readItems reads what was said, and who came, went and came back.
func (d *disk) readItems(t *testing.T, folder string, sim *world.Sim) {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(folder, "log-*"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("the room has no log: %v", err)
	}
	for _, name := range segments {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		in, err := world.NewLogReader(bytes.NewReader(b))
		for err == nil {
			var block []byte
			var e *world.Entry
			if block, err = in.Next(); err != nil {
				break
			}
			if e, err = sim.ReadEntry(block); err == nil {
				for i := range e.Items {
					d.note(e.Tick, &e.Items[i])
				}
			}
		}
		if err != io.EOF {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

func (d *disk) note(tick uint64, item *world.Item) {
	what := item.Kind.String()
	switch item.Kind {
	case world.ItemChat:
		d.lines[string(item.Text)] = true
		return
	case world.ItemInput:
		if item.Input.Kind == world.Steer || item.Input.Kind == world.Act {
			return
		}
		what = item.Input.Kind.String()
	}
	row := int(max(item.Player, item.Input.Player))
	d.stories[row] = append(d.stories[row], fmt.Sprintf("%d %s", tick, what))
}

// wantTold compares it with what players were told.
func (d *disk) wantTold(t *testing.T, n *notes) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	for row, steps := range n.rows {
		if d.rows[row] < steps {
			t.Errorf("somebody was told that player %d has made %d steps, and the log has %d", row, steps, d.rows[row])
		}
	}
	for line := range n.lines {
		if !d.lines[line] {
			t.Errorf("somebody was told %q, which is not in the log", line)
		}
	}
}
