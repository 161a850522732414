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

// ErrSettings means that a stream is there whose settings are others, and that NATS does not change them.
var ErrSettings = errors.New("cluster: NATS keeps a stream with settings that this release cannot use: go back to the release that made it, or begin a new world, with empty folders or another account of NATS")

// hopeless returns the error among several that does not go away by waiting for more nodes, nil if there is none.
func hopeless(err error) error {
	list := []error{err}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		list = several.Unwrap()
	}
	for _, err := range list {
		if errors.Is(err, ErrOtherCluster) || errors.Is(err, ErrSettings) {
			return err
		}
	}
	return nil
}

// makeBuckets makes the streams and buckets, or finds them.
func (n *Node) makeBuckets() error {
	ctx, cancel := context.WithTimeout(n.ctx, prepareTime)
	defer cancel()
	kinds := []struct {
		kv   *jetstream.KeyValue
		name string
		ttl  time.Duration
	}{
		{&n.records, "parley-rooms", 0}, {&n.nodes, "parley-nodes", lease}, {&n.directory, "parley-directory", 0}, {&n.entry, "parley-entry", 0}, {&n.bans, "parley-bans", 0},
	}
	all := []jetstream.StreamConfig{objects("parley-snapshots")}
	for i := range uint32(logStreams) {
		all = append(all, logConfig(i))
	}
	for _, k := range kinds {
		all = append(all, n.bucket(k.name, k.ttl))
	}
	if err := n.makeStreams(ctx, all); err != nil {
		return err
	}
	var err error
	for _, k := range kinds {
		if *k.kv, err = n.js.KeyValue(ctx, k.name); err != nil {
			return fmt.Errorf("bucket %s: %w", k.name, err)
		}
	}
	if n.snapshots, err = n.js.ObjectStore(ctx, "parley-snapshots"); err != nil {
		return fmt.Errorf("bucket parley-snapshots: %w", err)
	}
	return nil
}

// replicas returns how many replicas streams have: as many as can be of these numbers. With five, two servers may be lost.
func (n *Node) replicas() []int {
	switch peers := len(n.cfg.Peers); {
	case n.cfg.Listen == "":
		return []int{3, 1} // "replicas 3 where there are 3"
	case peers >= 4:
		return []int{5, 3}
	case peers >= 2:
		return []int{3}
	}
	return []int{1}
}

// isFew reports whether a NATS has fewer servers than a stream is to have replicas.
func isFew(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == noReplicas || api.ErrorCode == noPeers)
}

// What a NATS says that has too few servers, and of settings that it does not take.
const (
	noReplicas = 10074
	noPeers    = 10005
	noSettings = 10052
)

// makeStreams makes all at the same time: each elects a leader of its own, which takes a while. Those that are there with other settings are changed, if
// they are this cluster's: they are of an earlier release, or of a cluster that had fewer nodes.
func (n *Node) makeStreams(ctx context.Context, all []jetstream.StreamConfig) error {
	others, err := n.each(ctx, all, n.makeStream)
	if err == nil {
		_, err = n.each(ctx, others, n.isOurs)
	}
	if err == nil {
		_, err = n.each(ctx, others, n.changeStream)
	}
	return err
}

// each does something with all streams, and returns those that are there with other settings.
func (n *Node) each(ctx context.Context, all []jetstream.StreamConfig, do func(context.Context, jetstream.StreamConfig) error) (others []jetstream.StreamConfig, err error) {
	errs := make([]error, len(all))
	var work sync.WaitGroup
	for i, c := range all {
		work.Go(func() {
			if err := do(ctx, c); err != nil {
				errs[i] = fmt.Errorf("stream %s: %w", c.Name, err)
			}
		})
	}
	work.Wait()
	for i, err := range errs {
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			others, errs[i] = append(others, all[i]), nil
		}
	}
	return others, errors.Join(errs...)
}

// makeStream makes a stream, unless this node has done so.
func (n *Node) makeStream(ctx context.Context, c jetstream.StreamConfig) error {
	if n.stream(c.Name) != nil {
		return nil
	}
	var s jetstream.Stream
	var err error
	for _, c.Replicas = range n.replicas() {
		if s, err = n.js.CreateStream(ctx, c); !isFew(err) {
			break
		}
	}
	if err == nil {
		n.hasStream(c.Name, s)
	}
	return err
}

// isOurs returns an error if a stream is of another cluster. Those that do not say whose they are come with others that do.
func (n *Node) isOurs(ctx context.Context, c jetstream.StreamConfig) error {
	if c.Metadata == nil {
		return nil
	}
	s, err := n.js.Stream(ctx, c.Name)
	if err != nil {
		return err
	}
	if of := s.CachedInfo().Config.Metadata[clusterKey]; of != n.cfg.Name {
		return fmt.Errorf("%w: its name is %q", ErrOtherCluster, of)
	}
	return nil
}

// changeStream gives a stream the settings that it is to have, and as many replicas as there are servers for. It takes none away.
func (n *Node) changeStream(ctx context.Context, c jetstream.StreamConfig) error {
	s, err := n.js.Stream(ctx, c.Name)
	if err != nil {
		return err
	}
	has := s.CachedInfo().Config.Replicas
	for _, c.Replicas = range append(n.replicas(), has) {
		if c.Replicas < has {
			continue
		}
		if s, err = n.js.UpdateStream(ctx, c); !isFew(err) {
			break
		}
	}
	var api *jetstream.APIError
	switch {
	case errors.As(err, &api) && api.ErrorCode == noSettings:
		return fmt.Errorf("%w (%w)", ErrSettings, err)
	case err != nil:
		return err
	}
	n.cfg.Log.Info("a stream of NATS has the settings of this release", "stream", c.Name, "replicas", c.Replicas, "before", has)
	n.hasStream(c.Name, s)
	return nil
}

// stream returns a stream that this node has made or found, nil if it has not.
func (n *Node) stream(name string) jetstream.Stream {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.streams[name]
}

func (n *Node) hasStream(name string, s jetstream.Stream) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.streams[name] = s
}

// bucket is the stream of a bucket of keys. It is one of NATS' but for two things: reads go to the leader, as a replica that is behind would say that
// there is no such token; and what is stored is told to all nodes.
func (n *Node) bucket(name string, ttl time.Duration) jetstream.StreamConfig {
	c := jetstream.StreamConfig{
		Name: "KV_" + name, Subjects: []string{"$KV." + name + ".>"}, MaxMsgsPerSubject: 1, AllowRollup: true, DenyDelete: true,
		Discard: jetstream.DiscardNew, Duplicates: dedupe, MaxAge: ttl, AllowMsgTTL: true, SubjectDeleteMarkerTTL: markerTime,
		RePublish: &jetstream.RePublish{Source: "$KV." + name + ".>", Destination: toldOf(name) + ">"},
		Metadata:  map[string]string{clusterKey: n.cfg.Name},
	}
	if ttl != 0 { // what is gone after seconds anyway
		c.Storage, c.Duplicates, c.AllowMsgTTL, c.SubjectDeleteMarkerTTL, c.RePublish = jetstream.MemoryStorage, ttl, false, 0, nil
	}
	return c
}

// objects is the stream of a bucket of objects. Here too the leader answers: a replica whose disk was full is behind for good, and would give old snapshots.
func objects(name string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: "OBJ_" + name, Subjects: []string{"$O." + name + ".C.>", "$O." + name + ".M.>"}, AllowRollup: true, Discard: jetstream.DiscardNew,
	}
}

// toldOf is where all nodes are told what a bucket has stored.
func toldOf(bucket string) string { return "parley.now." + bucket + "." }
