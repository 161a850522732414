package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// buckets are what all rooms share.
type buckets struct {
	records   jetstream.KeyValue // who sequences a room
	nodes     jetstream.KeyValue // what nodes say of themselves
	directory jetstream.KeyValue // the rooms there are
	entry     jetstream.KeyValue // tokens of sessions, and spent tickets
	bans      jetstream.KeyValue
	snapshots jetstream.ObjectStore
}

// ErrOtherCluster means that the operator's NATS has a cluster of another name. Two clusters need two accounts of NATS.
var ErrOtherCluster = errors.New("cluster: this NATS has another cluster: give each its own NATS, or its own account there")

// clusterKey is where a bucket says whose it is.
const clusterKey = "parley-cluster"

// makeBuckets makes the buckets, or finds them.
func (n *Node) makeBuckets() error {
	ctx, cancel := context.WithTimeout(n.ctx, prepareTime)
	defer cancel()
	n.replicas = 1
	if n.natsServer() == nil || len(n.cfg.Peers) >= 2 {
		n.replicas = 3
	}
	err := n.makeWith(ctx)
	var api *jetstream.APIError
	if n.natsServer() == nil && errors.As(err, &api) && (api.ErrorCode == noReplicas || api.ErrorCode == noPeers) {
		n.replicas = 1 // "replicas 3 where there are 3"
		err = n.makeWith(ctx)
	}
	return err
}

// What a NATS says that has fewer than three servers.
const (
	noReplicas = 10074
	noPeers    = 10005
)

// makeWith makes all at the same time: each elects a leader of its own, which takes a while.
func (n *Node) makeWith(ctx context.Context) error {
	var b buckets
	kinds := []struct {
		kv   *jetstream.KeyValue
		name string
		ttl  time.Duration
	}{
		{&b.records, "parley-rooms", 0}, {&b.nodes, "parley-nodes", lease}, {&b.directory, "parley-directory", 0}, {&b.entry, "parley-entry", 0}, {&b.bans, "parley-bans", 0},
	}
	errs := make([]error, len(kinds)+1)
	var work sync.WaitGroup
	for i, k := range kinds {
		work.Go(func() { *k.kv, errs[i] = n.bucket(ctx, k.name, k.ttl) })
	}
	work.Go(func() {
		b.snapshots, errs[len(kinds)] = n.objects(ctx, "parley-snapshots")
	})
	work.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	n.buckets = b
	return nil
}

// bucket makes a bucket of keys. It is one of NATS' but for two things: reads go to the leader, as a replica that is behind would say that
// there is no such token; and what is stored is told to all nodes.
func (n *Node) bucket(ctx context.Context, name string, ttl time.Duration) (jetstream.KeyValue, error) {
	c := jetstream.StreamConfig{
		Name: "KV_" + name, Subjects: []string{"$KV." + name + ".>"}, Replicas: n.replicas, MaxMsgsPerSubject: 1, AllowRollup: true, DenyDelete: true,
		Discard: jetstream.DiscardNew, Duplicates: dedupe, MaxAge: ttl, AllowMsgTTL: true, SubjectDeleteMarkerTTL: markerTime,
		RePublish: &jetstream.RePublish{Source: "$KV." + name + ".>", Destination: toldOf(name) + ">"},
		Metadata:  map[string]string{clusterKey: n.cfg.Name},
	}
	if ttl != 0 { // what is gone after seconds anyway
		c.Storage, c.Duplicates, c.AllowMsgTTL, c.SubjectDeleteMarkerTTL, c.RePublish = jetstream.MemoryStorage, ttl, false, 0, nil
	}
	if _, err := n.js.CreateStream(ctx, c); err != nil {
		if s, look := n.js.Stream(ctx, c.Name); look == nil {
			if of := s.CachedInfo().Config.Metadata[clusterKey]; of != n.cfg.Name {
				return nil, fmt.Errorf("%w: its name is %q", ErrOtherCluster, of)
			}
		}
		return nil, fmt.Errorf("bucket %s: %w", name, err)
	}
	return n.js.KeyValue(ctx, name)
}

// objects makes a bucket of objects. Here too the leader answers: a replica whose disk was full is behind for good, and would give old snapshots.
func (n *Node) objects(ctx context.Context, name string) (jetstream.ObjectStore, error) {
	_, err := n.js.CreateStream(ctx, jetstream.StreamConfig{
		Name: "OBJ_" + name, Subjects: []string{"$O." + name + ".C.>", "$O." + name + ".M.>"}, Replicas: n.replicas, AllowRollup: true, Discard: jetstream.DiscardNew,
	})
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", name, err)
	}
	return n.js.ObjectStore(ctx, name)
}

// toldOf is where all nodes are told what a bucket has stored.
func toldOf(bucket string) string { return "parley.now." + bucket + "." }
