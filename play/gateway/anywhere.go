package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/world"
)

// What the operator asks of a hub, whose rooms may run on other servers. These methods wait, and any goroutine may call them but the hub's.

// OpenRoom opens a room.
func (h *Hub) OpenRoom(s Settings) error {
	if h.together == nil {
		var refused error
		if err := h.Do(func() { _, refused = h.Open(s) }); err != nil {
			return err
		}
		return refused
	}
	if err := s.check(); err != nil {
		return err
	}
	return h.together.open(s)
}

// EndRoom ends a room, its players told.
func (h *Hub) EndRoom(name string) error {
	if h.together == nil {
		var refused error
		if err := h.Do(func() { refused = h.CloseRoom(name) }); err != nil {
			return err
		}
		return refused
	}
	return h.together.closeRoom(name)
}

// Bring has a room of a cluster run on this server too. Alone it does nothing.
func (h *Hub) Bring(name string) error {
	if h.together == nil || h.Playing() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), openTime)
	defer cancel()
	return h.together.bring(ctx, name)
}

// Elsewhere returns the rooms of the cluster that do not run on this server, by name. The error is a *core.SilentError if some servers have not answered in
// time: what they run looks asleep.
func (h *Hub) Elsewhere() ([]RoomElsewhere, error) {
	if h.together == nil {
		return nil, nil
	}
	return h.together.elsewhere()
}

// Kick removes a player of a room, wherever it runs, and reports whether there was one.
func (h *Hub) Kick(room string, id world.PlayerID, why string) (found bool, err error) {
	here := false
	err = h.Do(func() {
		if r := h.rooms[room]; r != nil {
			here, found = true, r.Kick(id, why)
		}
	})
	if err != nil || here || h.together == nil {
		return found, err
	}
	return h.together.order(order{Kick: id, Text: why}, room)
}

// Broadcast has the server say a line in a room, or in all if room is empty.
func (h *Hub) Broadcast(room, text string) error {
	if err := checkLine(text); err != nil {
		return fmt.Errorf("parley: broadcast: %w", err)
	}
	missing := false
	err := h.Do(func() {
		if missing = room != "" && h.rooms[room] == nil; missing || room == "" && h.together != nil {
			return
		}
		for _, r := range h.Rooms() {
			if room == "" || r.Name() == room {
				r.tell(text)
			}
		}
	})
	switch {
	case err != nil:
		return err
	case h.together != nil && (missing || room == ""):
		_, err := h.together.order(order{Text: text}, room)
		return err
	case missing:
		return fmt.Errorf("%w: %s", ErrNoRoom, room)
	}
	return nil
}

// RoomElsewhere is a room of the cluster.
type RoomElsewhere struct {
	Settings
	RoomStats
	Node  string // the server that runs it; empty if none does
	Rests bool   // none does
}

// An order is what a server asks of another that runs a room.
type order struct {
	Rooms []string
	Kick  world.PlayerID // 0: Text is said
	Text  string
}

const orderTopic = "parley.order"

// order has a room's server do something; of all rooms, if room is empty. It reports whether there was somebody to do it to.
func (a *alliance) order(o order, room string) (found bool, err error) {
	if room != "" {
		there := false
		if err := a.hub.Do(func() { there = a.rooms[room] != nil }); err != nil || !there {
			return false, errors.Join(err, fmt.Errorf("%w: %s", ErrNoRoom, room))
		}
	}
	stages, silent := a.others(a.ctx)
	rooms := map[uint64][]string{}
	for _, s := range firstStages(stages) {
		if room == "" || s.Room == room {
			rooms[s.Node] = append(rooms[s.Node], s.Room)
		}
	}
	var work sync.WaitGroup
	var mu sync.Mutex
	for node, names := range rooms {
		text, err := json.Marshal(order{names, o.Kick, o.Text})
		if err != nil {
			return false, err
		}
		work.Go(func() {
			answer, err := a.cluster.AskNode(a.ctx, node, orderTopic, text)
			mu.Lock()
			defer mu.Unlock()
			found = found || string(answer) == "found"
			silent = errors.Join(silent, err)
		})
	}
	work.Wait()
	if silent != nil && !found {
		return false, fmt.Errorf("parley: %w", silent)
	}
	return found, nil
}

// answerOrder does what another server asks.
func (a *alliance) answerOrder(_ context.Context, text []byte) (answer []byte) {
	var o order
	if json.Unmarshal(text, &o) != nil || o.Kick == 0 && checkLine(o.Text) != nil {
		return nil
	}
	answer = []byte("none")
	_ = a.hub.Do(func() { // if it has ended, nobody is there
		for _, name := range o.Rooms {
			switch r := a.hub.rooms[name]; {
			case r == nil:
				continue
			case o.Kick == 0:
				r.tell(o.Text)
			case !r.Kick(o.Kick, o.Text):
				continue
			}
			answer = []byte("found")
		}
	})
	return answer
}

// firstStages returns of each room the stage that is to be asked: that of the sequencer, if there is one.
func firstStages(list []StageOf) (first []StageOf) {
	slices.SortFunc(list, func(a, b StageOf) int {
		if c := strings.Compare(a.Room, b.Room); c != 0 || a.Sequences == b.Sequences {
			return c
		}
		if a.Sequences {
			return -1
		}
		return 1
	})
	return slices.CompactFunc(list, func(a, b StageOf) bool { return a.Room == b.Room })
}

// elsewhere returns the rooms that do not run here, and what their servers say of them. It asks them once a second at most: strangers can have it called.
func (a *alliance) elsewhere() (list []RoomElsewhere, err error) {
	a.asking.Lock()
	defer a.asking.Unlock()
	if now := time.Now(); now.Sub(a.askedAt) > askEach {
		var stages []StageOf
		stages, a.silent = a.others(a.ctx)
		a.stagesOf = map[string]StageOf{}
		for _, s := range firstStages(stages) {
			a.stagesOf[s.Room] = s
		}
		a.askedAt = time.Now()
	}
	err = a.hub.Do(func() {
		for name, o := range a.rooms {
			if a.hub.rooms[name] == nil {
				stage, runs := a.stagesOf[name]
				called := ""
				if runs {
					called = a.cluster.Called(stage.Node)
				}
				list = append(list, RoomElsewhere{o.Settings, stage.RoomStats, called, !runs})
			}
		}
	})
	slices.SortFunc(list, func(a, b RoomElsewhere) int { return strings.Compare(a.Name, b.Name) })
	if err == nil {
		err = a.silent
	}
	return list, err
}

// Node returns the name of this server in its cluster, "" alone.
func (h *Hub) Node() string {
	if h.together == nil {
		return ""
	}
	return h.together.node()
}

func (a *alliance) node() string { return a.cluster.Called(a.cluster.ID()) }
