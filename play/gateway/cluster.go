package gateway

import (
	"context"
	"time"

	"parley/cluster/core"
	"parley/world"
)

// Nodes are the servers that have a hub's rooms together. A program that makes none has none of the code for them: a hub reaches it by
// the interfaces below alone.
type Nodes struct {
	join  func(*Hub) together
	drain func()
}

// NewNodes has a hub share its rooms with the servers of a cluster.
func NewNodes(c core.Cluster) *Nodes {
	v := newVersions(c)
	return &Nodes{func(h *Hub) together { return newAlliance(h, c, v) }, c.Drain}
}

// farPeers are the participants of relay that other servers have of a room: relayFar is the only one.
type farPeers interface {
	count(n int)
	left(s *relaySeat)
	end()
}

// together is what a hub does otherwise whose rooms other servers run too: alliance is the only one.
type together interface {
	// Of the hub's goroutine.
	main(s Settings) (*Room, error)
	mainAgain(old *Room)
	begin() error
	ended(r *Room)
	seek(s *Seat, again func(why error))
	soon(fn func())
	sweep(now time.Time)

	// Of any goroutine.
	node() string
	note(t world.TokenHash, room string, then func(err error)) bool
	spend(ctx context.Context, list []spending)
	open(s Settings) error
	closeRoom(name string) error
	bring(ctx context.Context, name string) error
	elsewhere() ([]RoomElsewhere, error)
	order(o order, room string) (found bool, err error)
	end()
}

// elsewhere is what a room does otherwise that other servers run too: shared is the only one.
type elsewhere interface {
	work()
	returned()
	resume()
	next()
	close()
	ended()
	letGo()
	stands()
	wait(judges bool, fn func()) (waits, full bool)
	sequences() bool
	spent(serial world.Serial) bool
	void(list []world.TokenHash)
	join(s *Seat, name string)
	comeBack(s *Seat, p *Player) error
	leave(s *Seat, goodbye bool)
	goes(p world.PlayerID, since uint64, kind wishKind)
	waits() int
	holds() int
	missed(since uint64) []Line
	durable() uint64
	inject(action any) error
	far(st *relayStage) farPeers
	early(s *Seat, q *request)
	steer(s *Seat, q *request)
	act(s *Seat, q *request)
	say(s *Seat, tag uint32, text []byte) world.Reason
	mustAsk(kind wishKind, p world.PlayerID, text string)
}
