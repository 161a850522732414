package gateway

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"parley/world"
)

// Desync is a world of this server that is not what the room's log says, and what there is to look at.
type Desync struct {
	Room        string
	Tick        uint64 // before which the world differs
	Here, There []byte // snapshots: of this server, and of the one that makes the entries, a few ticks later; nil if none came
	Fields      []byte // the difference by field, as text
}

// differs is PartConfig.Differs. A worker calls it.
func (x *shared) differs(tick uint64, mine, theirs []byte) {
	h, room := x.room.hub, x.room.Name()
	if h.cfg.Desync == nil {
		return
	}
	x.all.spawn(func() {
		id := goroutine() // code of the game runs: it makes chunks
		h.workers.ids.Store(id, true)
		defer h.workers.ids.Delete(id)
		h.cfg.Desync(Desync{room, tick, mine, theirs, fieldsThatDiffer(h.cfg.Game, room, tick, mine, theirs)})
	})
}

// fieldsThatDiffer is the difference of two snapshots, for people.
func fieldsThatDiffer(g world.Game, room string, tick uint64, mine, theirs []byte) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "Room %s: the world of this server before tick %d is not the one that the log was made for.\n", room, tick)
	if theirs == nil {
		fmt.Fprintf(&b, "The server that makes the entries has sent no state to compare with.\n")
		return []byte(b.String())
	}
	d, err := world.Differ(g, mine, theirs, maxDifferences)
	if err != nil {
		fmt.Fprintf(&b, "The snapshots cannot be compared: %v\n", err)
		return []byte(b.String())
	}
	fmt.Fprintf(&b, "Compared are the state before tick %d here, and before tick %d at the server that makes the entries.\n", d.Here, d.There)
	if d.Here != d.There {
		fmt.Fprintf(&b, "What has happened in between differs too.\n")
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nKIND\tENTITY\tFIELD\tHERE\tTHERE\n")
	for _, x := range d.List {
		kind, entity := x.Kind, x.Entity.String()
		if kind == "" {
			kind, entity = "-", "-"
		}
		field := x.Field
		if field == "" {
			field = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", kind, entity, field, x.Here, x.There)
	}
	w.Flush()
	if d.More > 0 {
		fmt.Fprintf(&b, "and %d more\n", d.More)
	}
	return []byte(b.String())
}
