package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// StageOf is what a server says of a room that it runs.
type StageOf struct {
	Room      string
	Node      uint64 `json:"-"`
	Sequences bool
	RoomStats
}

// roomsTopic is the question which rooms a server runs.
const roomsTopic = "parley.stages"

// answerRooms says which rooms run here. Any goroutine may call it.
func (a *alliance) answerRooms(context.Context, []byte) []byte {
	var list []StageOf
	if a.hub.Do(func() { list = a.stages() }) != nil {
		return nil
	}
	text, err := json.Marshal(list)
	if err != nil { // numbers and names
		a.hub.log.Error("what this server runs cannot be told", "err", err)
	}
	return text
}

func (a *alliance) stages() (list []StageOf) {
	for _, r := range a.hub.Rooms() {
		list = append(list, StageOf{Room: r.Name(), Node: a.cluster.ID(), Sequences: r.shared.sequences(), RoomStats: r.Stats()})
	}
	return list
}

// others asks all servers which rooms they run. The error may be a *core.SilentError, and then the answers of the others are there.
func (a *alliance) others(ctx context.Context) (list []StageOf, err error) {
	answers, err := a.cluster.Ask(ctx, roomsTopic, nil)
	for node, text := range answers {
		var some []StageOf
		if json.Unmarshal(text, &some) != nil {
			continue // it ends
		}
		for _, s := range some {
			s.Node = node
			list = append(list, s)
		}
	}
	return list, err
}

// sweepOrphans ends rooms that no server runs: those that were opened elsewhere and nobody came, or whose servers died. The server with the lowest ID
// does it for all.
func (a *alliance) sweepOrphans(now time.Time) {
	if now.Sub(a.swept) < orphanEach {
		return
	}
	a.swept = now
	if ids := a.cluster.Living(); len(ids) == 0 || slices.Min(ids) != a.cluster.ID() {
		clear(a.orphans)
		return
	}
	a.spawn(func() {
		list, err := a.others(a.ctx)
		a.post(func() {
			if err != nil {
				clear(a.orphans)
				return
			}
			run := map[string]bool{}
			for _, s := range list {
				run[s.Room] = true
			}
			seen := a.orphans
			a.orphans = map[string]int{}
			for name, o := range a.rooms {
				if run[name] || name == MainRoom || o.Idle <= 0 || time.Since(time.UnixMicro(o.Opened)) < o.Idle {
					continue
				}
				if a.orphans[name] = seen[name] + 1; a.orphans[name] == orphanLooks {
					a.endEmpty(name, o, nil)
				}
			}
		})
	})
}
