package parley

import (
	"context"

	"parley/cluster/core"
	"parley/play/gateway"
)

// Cluster is what a server needs to share its rooms with others: see Config.Cluster.
type Cluster struct {
	nodes *gateway.Nodes
	join  func(*Server) others
}

// ClusterOf returns the cluster that a node belongs to. The node outlives the server.
func ClusterOf(node core.Cluster) *Cluster {
	return &Cluster{gateway.NewNodes(node), func(s *Server) others { return newAllies(s, node) }}
}

// others are the other servers of a cluster: allies are the only ones. A game without a cluster has none of their code.
type others interface {
	loadBans() error
	begin() error
	ban(b Ban) error
	unban(b Ban) error
	players(here []Player) ([]Player, error)
	match(ctx context.Context, r MatchRequest) (MatchResult, error)
	open(rooms []Room) (addrs []map[string]string, errs []error)
	end()
}

// ErrOtherVersion is Start's error while other servers of the cluster run its rooms with another Game.Version. Try again until they have ended: this one
// then goes on with their rooms.
var ErrOtherVersion = gateway.ErrOtherVersion

// ErrOtherSchema is Start's error if the cluster's main room is of a game with another schema.
var ErrOtherSchema = gateway.ErrOtherSchema
