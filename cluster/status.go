package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"parley/cluster/core"
)

// Status is the whole cluster at about one moment.
type Status struct {
	Cluster string       `json:"cluster"`
	Nodes   []NodeStatus `json:"nodes"`
	Rooms   []RoomStatus `json:"rooms"`
}

// NodeStatus is one node.
type NodeStatus struct {
	Node   string `json:"node"`             // its ID, in hex
	Silent bool   `json:"silent,omitempty"` // it has not answered in time: its stages are missing
	About
}

// RoomStatus is one room.
type RoomStatus struct {
	Room      string        `json:"room"`
	Sequencer string        `json:"sequencer,omitempty"` // none if it stands still
	Epoch     uint64        `json:"epoch"`
	Tick      uint64        `json:"tick"` // the newest that any stage has run
	Stages    []StageStatus `json:"stages"`
}

// StageStatus is one node's stage of a room.
type StageStatus struct {
	Room      string  `json:"room,omitempty"`
	Node      string  `json:"node"`
	Sequences bool    `json:"sequences,omitempty"`
	Leads     bool    `json:"leads,omitempty"` // the server of NATS in its process leads the stream of the room's log: without it NATS elects another
	Awake     bool    `json:"awake,omitempty"` // it should have ticks: somebody is there
	Stuck     bool    `json:"stuck,omitempty"` // its owner has not answered in time: the rest is not known
	Epoch     uint64  `json:"epoch"`
	Tick      uint64  `json:"tick"`              // how many ticks it has run
	Due       int64   `json:"due"`               // when the last one was due, Unix µs
	Behind    int     `json:"behind"`            // entries that it knows of and has not run
	Lag       uint64  `json:"lag"`               // ticks behind the newest of the room
	LagMS     float64 `json:"lag_ms"`            // the same in time
	Hash      string  `json:"hash"`              // of the state after Tick; empty if the owner tells none
	Differs   bool    `json:"differs,omitempty"` // the hash is another than the sequencer's of that tick, or than that of any if its is not known
	Refused   uint64  `json:"refused"`           // appends
	Elections uint64  `json:"elections"`         // that it has won
	Diverged  uint64  `json:"diverged"`          // how often it computed otherwise than the others
}

// Stats are the counters of a node, over all rooms that it had a part in.
type Stats struct {
	core.Stats
	Unanswered   uint64 // calls that the store has not answered in time; most are tried again
	StoreTrouble uint64 // how often the server of NATS in this process was found out of order
	Saved        uint64 // snapshots
	Stopped      uint64 // stages that were stopped: their players are sent elsewhere

	Rooms     int           // in which the node has a part now
	Sequences int           // of which it makes the entries
	Behind    int           // entries that are known and not run, in the room with the most
	Silence   time.Duration // since the last entry, in the room with the longest that should have some: it stands still
}

// seen is what a room's owner leaves for other goroutines to read.
type seen struct {
	stats     core.Stats
	seq       uint64
	heard     time.Time
	awake     bool
	sequences bool
	behind    int
}

// statusTopic is asked by Status.
const statusTopic = "parley.status"

// note leaves what Stats reads. The owner calls it.
func (r *Room) note() {
	now := seen{stats: r.core.Stats(), seq: r.core.Seq(), awake: r.cfg.World.Awake(), sequences: r.core.Sequences(), behind: r.core.Behind()}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.heard = r.seen.heard; now.seq != r.seen.seq || now.awake && !r.seen.awake {
		now.heard = time.Now()
	}
	r.seen = now
}

// Stats returns the node's counters. Any goroutine may call it.
func (n *Node) Stats() Stats {
	n.mu.Lock()
	total, rooms := n.stats, slices.Collect(maps.Values(n.rooms))
	n.mu.Unlock()
	for _, r := range rooms {
		r.mu.Lock()
		s := r.seen
		r.mu.Unlock()
		add(&total.Stats, s.stats)
		total.Rooms++
		if s.sequences {
			total.Sequences++
		}
		total.Behind = max(total.Behind, s.behind)
		if s.awake && !s.heard.IsZero() {
			total.Silence = max(total.Silence, time.Since(s.heard))
		}
	}
	return total
}

// count changes the counters that are no room's.
func (n *Node) count(change func(*Stats)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change(&n.stats)
}

func add(to *core.Stats, s core.Stats) {
	to.Ran += s.Ran
	to.Made += s.Made
	to.Ahead += s.Ahead
	to.Undone += s.Undone
	to.Void += s.Void
	to.Fetched += s.Fetched
	to.Elections += s.Elections
	to.LostBids += s.LostBids
	to.Given += s.Given
	to.Taken += s.Taken
	to.Refused += s.Refused
	to.Repeated += s.Repeated
	to.Reasked += s.Reasked
	to.Deposed += s.Deposed
	to.Loaded += s.Loaded
	to.Diverged += s.Diverged
	to.Complaints += s.Complaints
	to.Malformed += s.Malformed
	to.Dropped += s.Dropped
	to.SkippedFor += s.SkippedFor
}

// Status returns this node's stage of the room. It is for the owner's goroutine.
func (r *Room) Status() StageStatus {
	w, s := r.cfg.World, r.core.Stats()
	status := StageStatus{
		Room: r.name, Node: NodeName(r.node.id), Sequences: r.core.Sequences(), Awake: w.Awake(), Epoch: w.Epoch(), Tick: w.Next(), Due: w.Due(), Behind: r.core.Behind(),
		Refused: s.Refused, Elections: s.Elections, Diverged: s.Diverged,
	}
	if s := r.node.natsServer(); s != nil {
		status.Leads = s.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, fmt.Sprint("parley-log-", streamOf(r.key)))
	}
	if r.cfg.Hash != nil {
		status.Hash = NodeName(r.cfg.Hash())
	}
	return status
}

// stages asks the owners of all rooms of this node.
func (n *Node) stages(ctx context.Context, _ []byte) []byte {
	ctx, cancel := context.WithTimeout(ctx, askTime/2)
	defer cancel()
	n.mu.Lock()
	rooms := slices.Collect(maps.Values(n.rooms))
	n.mu.Unlock()
	list := make([]StageStatus, 0, len(rooms))
	var work sync.WaitGroup
	var mu sync.Mutex
	for _, r := range rooms {
		work.Go(func() {
			told := make(chan StageStatus, 1)
			r.spawn(func() { r.post(func() { told <- r.Status() }) })
			s := StageStatus{Room: r.name, Node: NodeName(n.id), Stuck: true}
			select {
			case s = <-told:
			case <-ctx.Done():
			case <-r.ctx.Done():
				return
			}
			mu.Lock()
			list = append(list, s)
			mu.Unlock()
		})
	}
	work.Wait()
	b, err := json.Marshal(list)
	if err != nil { // no field can be the cause
		panic("cluster: status: " + err.Error())
	}
	return b
}

// Status asks all nodes for their stages. It returns what it has heard in time.
func (n *Node) Status(ctx context.Context) (Status, error) {
	all := n.Nodes()
	answers, err := n.Ask(ctx, statusTopic, nil)
	var silent *SilentError
	if err != nil && !errors.As(err, &silent) {
		return Status{}, err
	}
	s := Status{Cluster: n.cfg.Name}
	for _, info := range all {
		s.Nodes = append(s.Nodes, NodeStatus{NodeName(info.ID), answers[info.ID] == nil, info.About})
	}
	var stages []StageStatus
	for _, b := range answers {
		var list []StageStatus
		if err := json.Unmarshal(b, &list); err != nil {
			return Status{}, err
		}
		stages = append(stages, list...)
	}
	s.Rooms = byRoom(stages)
	return s, nil
}

// byRoom puts stages together, and reckons how far each is behind.
func byRoom(stages []StageStatus) (rooms []RoomStatus) {
	slices.SortFunc(stages, func(a, b StageStatus) int {
		return cmp.Or(strings.Compare(a.Room, b.Room), strings.Compare(a.Node, b.Node))
	})
	for len(stages) > 0 {
		n := 1
		for n < len(stages) && stages[n].Room == stages[0].Room {
			n++
		}
		r := RoomStatus{Room: stages[0].Room, Stages: stages[:n:n]}
		due := int64(0)
		for _, s := range r.Stages {
			if s.Sequences && s.Epoch >= r.Epoch {
				r.Sequencer = s.Node
			}
			r.Epoch, r.Tick, due = max(r.Epoch, s.Epoch), max(r.Tick, s.Tick), max(due, s.Due)
		}
		for i := range r.Stages {
			s := &r.Stages[i]
			if s.Room = ""; s.Due != 0 { // else it has run nothing yet, or is stuck
				s.Lag, s.LagMS = r.Tick-s.Tick, float64(due-s.Due)/1e3
			}
		}
		markDiffering(&r)
		rooms, stages = append(rooms, r), stages[n:]
	}
	return rooms
}

// markDiffering marks stages whose state is not that of the others. Only stages at the same tick can be compared, and the sequencer is right.
func markDiffering(r *RoomStatus) {
	var right StageStatus
	for _, s := range r.Stages {
		if s.Node == r.Sequencer {
			right = s
		}
	}
	for i := range r.Stages {
		s := &r.Stages[i]
		if s.Hash == "" || right.Tick == s.Tick && right.Hash == s.Hash {
			continue
		}
		s.Differs = slices.ContainsFunc(r.Stages, func(o StageStatus) bool { return o.Tick == s.Tick && o.Hash != "" && o.Hash != s.Hash })
	}
}
