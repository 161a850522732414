package gateway

import (
	"parley/cluster/core"
	"parley/world"
)

// Nodes are the servers that have a hub's rooms together. A program that makes none has none of the code for them: a hub reaches it by
// this type alone.
type Nodes struct {
	share func(*Room) error
	drain func()
}

// NewNodes has a hub share its rooms with the servers of a cluster.
func NewNodes(c core.Cluster) *Nodes {
	return &Nodes{func(r *Room) error { return r.share(c) }, c.Drain}
}

// elsewhere is what a room does otherwise that other servers run too: shared is the only one.
type elsewhere interface {
	work()
	returned()
	resume()
	next()
	close()
	ended()
	wait(fn func()) bool
	sequences() bool
	join(s *Seat, name string)
	comeBack(s *Seat, p *Player) error
	leave(s *Seat, goodbye bool)
	goes(p world.PlayerID, since uint64, kind wishKind)
	waits() int
	missed(since uint64) []Line
	early(s *Seat, q *request)
	steer(s *Seat, q *request)
	act(s *Seat, q *request)
	say(s *Seat, tag uint32, text []byte) world.Reason
	mustAsk(kind wishKind, p world.PlayerID, text string)
}
