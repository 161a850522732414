package parley

import (
	"parley/cluster/core"
	"parley/play/gateway"
)

// Cluster is what a server needs to share its rooms with others: see Config.Cluster.
type Cluster struct{ nodes *gateway.Nodes }

// ClusterOf returns the cluster that a node belongs to. The node outlives the server.
func ClusterOf(node core.Cluster) *Cluster { return &Cluster{gateway.NewNodes(node)} }
