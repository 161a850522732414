package program

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"parley/cluster"
	"parley/web"
)

// statusFor is how old what the API tells of a cluster may be: all nodes are asked for it, however many operators look.
const statusFor = 500 * time.Millisecond

// lookedAt is what a node has last heard of its cluster.
type lookedAt struct {
	mu     sync.Mutex
	at     time.Time
	status cluster.Status
}

// forget has the next look ask: something was changed.
func (l *lookedAt) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = time.Time{}
}

// errAlone is what the API answers about the cluster of a server that is in none.
var errAlone = &web.Refusal{Status: http.StatusConflict, Err: errors.New("this server is in no cluster; start it with --cluster")}

// look asks all nodes for their stages, unless somebody just has.
func (f *clusterFlags) look(ctx context.Context) (cluster.Status, error) {
	f.looked.mu.Lock()
	defer f.looked.mu.Unlock()
	if time.Since(f.looked.at) < statusFor {
		return f.looked.status, nil
	}
	s, err := f.node.Status(ctx)
	if err == nil {
		f.looked.at, f.looked.status = time.Now(), s
	}
	return s, err
}

// Cluster says what the nodes and rooms of the cluster do.
func (o *operator) Cluster(ctx context.Context) (web.Cluster, error) {
	if o.cluster.node == nil {
		return web.Cluster{}, errAlone
	}
	s, err := o.cluster.look(ctx)
	if err != nil {
		return web.Cluster{}, refusal(err, http.StatusServiceUnavailable)
	}
	told := web.Cluster{Cluster: s.Cluster, Nodes: []web.ClusterNode{}, Rooms: []web.ClusterRoom{}}
	for _, n := range s.Nodes {
		addresses := n.Addrs
		if addresses == nil {
			addresses = map[string]string{}
		}
		told.Nodes = append(told.Nodes, web.ClusterNode{
			Node: n.Node, Name: n.Name, Here: n.Node == cluster.NodeName(o.cluster.node.ID()), Version: n.Version, Fingerprint: n.Fingerprint, Addresses: addresses,
			Players: n.Players, Rooms: n.Rooms, CPU: n.CPU, Draining: n.Draining, Silent: n.Silent, Waits: n.Waits,
		})
	}
	for _, r := range s.Rooms {
		room := web.ClusterRoom{Room: r.Room, Sequencer: r.Sequencer, Epoch: r.Epoch, Tick: r.Tick, Stages: []web.ClusterStage{}}
		for _, s := range r.Stages {
			room.Awake = room.Awake || s.Awake
			room.Stages = append(room.Stages, web.ClusterStage{
				Node: s.Node, Stuck: s.Stuck, Tick: s.Tick, Lag: s.Lag, LagMS: s.LagMS, Behind: s.Behind, Hash: s.Hash, Differs: s.Differs, Refused: s.Refused, Elections: s.Elections, Diverged: s.Diverged,
			})
		}
		told.Rooms = append(told.Rooms, room)
	}
	return told, nil
}

// Drain drains a node, and ends it.
func (o *operator) Drain(ctx context.Context, name string) error {
	if o.cluster.node == nil {
		return errAlone
	}
	id := o.cluster.node.ID()
	if name != "" {
		var err error
		if id, err = o.cluster.node.NodeCalled(name); err != nil {
			return refusal(err, 0)
		}
	}
	if !o.cluster.others(id) {
		return &web.Refusal{Status: http.StatusConflict, Err: errors.New("no other node of the cluster could take over: start one first, or end this one with a signal")}
	}
	if id == o.cluster.node.ID() {
		o.cluster.askToLeave()
		return nil
	}
	_, err := o.cluster.node.AskNode(ctx, id, leaveTopic, nil)
	if silent := (*cluster.SilentError)(nil); errors.As(err, &silent) {
		err = &web.Refusal{Status: http.StatusServiceUnavailable, Err: fmt.Errorf("the node %s does not answer", name)}
	}
	return refusal(err, 0)
}

// Move has a node make the entries of a room.
func (o *operator) Move(ctx context.Context, m web.MoveRoom) error {
	if o.cluster.node == nil {
		return errAlone
	}
	id, err := o.cluster.node.NodeCalled(m.Node)
	if err == nil {
		err = o.cluster.node.MoveRoom(ctx, m.Room, id)
		o.cluster.looked.forget()
	}
	if why := (*cluster.MoveError)(nil); errors.As(err, &why) {
		return &web.Refusal{Status: http.StatusConflict, Err: fmt.Errorf("the room %s is not moved to %s: %s", m.Room, m.Node, why.Why)}
	}
	return refusal(err, 0)
}
