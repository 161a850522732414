package cluster

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"parley/cluster/core"
)

// About is what a node says of itself, each second.
type About struct {
	Name        string            `json:"name,omitempty"`        // for people; the same after a restart
	Addrs       map[string]string `json:"addrs,omitempty"`       // where players reach it, by dialect or carrier
	Version     string            `json:"version,omitempty"`     // of the game
	Fingerprint string            `json:"fingerprint,omitempty"` // of the game's schema: rooms of it run on nodes that have the same
	Players     int               `json:"players"`
	Rooms       int               `json:"rooms"`
	CPU         float64           `json:"cpu"`                // of all cores, 0 to 1
	Draining    bool              `json:"draining,omitempty"` // it takes no new players and no rooms
	Waits       string            `json:"waits,omitempty"`    // why it runs no rooms yet, for people
}

// NodeInfo is a node that lives, and what it said last.
type NodeInfo struct {
	ID uint64 `json:"-"`
	About
}

// peer is what a node knows of one.
type peer struct {
	about  About
	heard  time.Time
	placed int // rooms that this node has given it since
}

// SetAbout changes what the node says of itself, and says it. Draining stays as it is once it is true.
func (n *Node) SetAbout(a About) {
	n.mu.Lock()
	a.Addrs = maps.Clone(a.Addrs)
	a.Draining = a.Draining || n.about.Draining
	n.about = a
	n.mu.Unlock()
	n.renew()
}

func (n *Node) fingerprint() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.about.Fingerprint
}

// NodeName writes the ID of a node, for people and for programs whose numbers have fewer bits.
func NodeName(id uint64) string { return core.NodeName(id) }

const nodesPrefix = "$KV.parley-nodes."

// renew says that this node lives. Nobody waits for the store: all nodes hear what goes to it, and it comes again.
func (n *Node) renew() {
	select {
	case <-n.ready:
	default:
		return
	}
	n.mu.Lock()
	text, err := json.Marshal(n.about)
	if n.rooms == nil {
		n.mu.Unlock()
		return
	}
	n.peers[n.id] = &peer{about: n.about, heard: time.Now()}
	n.mu.Unlock()
	if err == nil {
		_ = n.conn.Publish(nodesPrefix+NodeName(n.id), text) // it comes again
	}
}

// leave says that this node is gone. Without it the others notice after the lease.
func (n *Node) leave() {
	m := &nats.Msg{Subject: nodesPrefix + NodeName(n.id), Header: nats.Header{}}
	m.Header.Set("KV-Operation", "DEL")
	_ = n.conn.PublishMsg(m)
	_ = n.conn.FlushTimeout(leaveTime)
}

// hear takes what a node says of itself.
func (n *Node) hear(m *nats.Msg) {
	n.heard(strings.TrimPrefix(m.Subject, nodesPrefix), m.Data, m.Header.Get("KV-Operation") != "", time.Now())
}

func (n *Node) heard(key string, value []byte, gone bool, now time.Time) {
	id, err := strconv.ParseUint(key, 16, 64)
	if err != nil || id == n.id {
		return
	}
	var about About
	gone = gone || json.Unmarshal(value, &about) != nil
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case gone:
		delete(n.peers, id)
	case n.peers[id] != nil || len(n.peers) < maxNodes:
		n.peers[id] = &peer{about: about, heard: now}
	}
}

// meet reads which nodes were there before this one.
func (n *Node) meet() {
	w, err := n.nodes.WatchAll(n.ctx)
	if err != nil {
		return // each says it again within a second
	}
	defer w.Stop()
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-time.After(appendTime):
			return
		case e := <-w.Updates():
			if e == nil {
				return
			}
			if age := time.Since(e.Created()); age < lease {
				n.heard(e.Key(), e.Value(), e.Operation() != 0, time.Now().Add(-max(age, 0)))
			}
		}
	}
}

// Nodes returns the nodes that live, this one among them once the node is ready, by their IDs. It asks nobody.
func (n *Node) Nodes() (list []NodeInfo) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	for id, p := range n.peers {
		if now.Sub(p.heard) > lease {
			delete(n.peers, id)
			continue
		}
		list = append(list, NodeInfo{id, p.about})
	}
	slices.SortFunc(list, func(a, b NodeInfo) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// load is how much a node does that was just given some rooms: a tenth of its cores weighs as much as 100 players, and a room as ten.
func (a About) load(given int) float64 {
	return math.Round(a.CPU*10)*100 + float64(a.Players+10*given)
}

// LeastLoaded returns the node that a new room is best given to: of the same schema, not draining, with the least of its cores busy, then
// with the fewest players. A room that is given away counts at once, so that many in one second are spread.
func (n *Node) LeastLoaded(fingerprint string) (best NodeInfo, ok bool) {
	list := n.Nodes()
	n.mu.Lock()
	defer n.mu.Unlock()
	least := math.Inf(1)
	for _, info := range list {
		p := n.peers[info.ID]
		if p == nil || info.Draining || info.Waits != "" || info.Fingerprint != fingerprint {
			continue
		}
		if load := info.load(p.placed); load < least {
			least, best, ok = load, info, true
		}
	}
	if ok {
		n.peers[best.ID].placed++
	}
	return best, ok
}
