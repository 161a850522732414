package cluster

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"parley/cluster/core"
)

// Config sets up a node. It needs a Name, and URLs or Listen.
type Config struct {
	// Name is the cluster's. Nodes of different names do not meet.
	Name string

	// URLs are the servers of an existing NATS with JetStream.
	URLs []string

	// Listen is where this node's own server of NATS listens for the other nodes, and Peers are where theirs do. Without Peers it does not
	// listen, and the cluster is this node alone.
	Listen string
	Peers  []string

	// Advertise is where the others reach Listen, if that is another address: behind a translation of addresses. Default: Listen.
	Advertise string

	// Dir is the folder of the node's own server.
	Dir string

	// SyncAlways has the node's own server sync each entry to the disk before it acknowledges it. With URLs it is for the operator to set
	// ("jetstream { sync_interval: always }"): a client cannot ask a NATS for it, so the node says once that it has not been checked.
	SyncAlways bool

	// Batch is for how long a room that runs on this node alone is run before its log has what was run. Appends of such a room are fewer by that, and a
	// node that dies loses it: see core.Config. Default: not at all.
	Batch time.Duration

	// TLS is for connections between nodes, and to URLs. Its Certificates are the node's, for both ends of a connection, and its RootCAs those that
	// the others' must be signed by, in both directions. Default: none, and whoever reaches Listen can read and write all rooms.
	TLS *tls.Config

	// About is what the node says of itself to the others first.
	About About

	// Log gets what an operator should know. Default: none.
	Log *slog.Logger
}

// Node is this process' part of a cluster.
type Node struct {
	cfg    Config
	id     uint64
	conn   *nats.Conn
	js     jetstream.JetStream
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	serverMu sync.Mutex
	server   *server.Server // nil with URLs
	fails    chan string    // what it says when it cannot write

	ready   chan struct{}         // closed when the streams and buckets are there
	unready atomic.Pointer[error] // why they are not
	unmet   atomic.Pointer[error] // why the last try to connect has failed
	buckets                       // once it is ready

	mu      sync.Mutex
	rooms   map[string]*Room // nil once the node is closed
	streams map[string]jetstream.Stream
	about   About
	peers   map[uint64]*peer
	answers map[string]func(ctx context.Context, body []byte) []byte
	stats   Stats // of no room, and of those that are closed
}

// Start starts a node. It does not wait for other nodes.
func Start(c Config) (*Node, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Name == "" {
		return nil, errors.New("cluster: the cluster has no name: give one, the same to all its nodes")
	}
	var b [8]byte
	rand.Read(b[:])
	password := rand.Text()
	n := &Node{
		cfg: c, id: binary.LittleEndian.Uint64(b[:]) | 1, ready: make(chan struct{}), rooms: map[string]*Room{}, streams: map[string]jetstream.Stream{},
		fails: make(chan string, 1), about: c.About, peers: map[uint64]*peer{}, answers: map[string]func(context.Context, []byte) []byte{},
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	var err error
	if c.Listen != "" {
		if n.server, err = startServer(n, password); err != nil {
			return nil, err
		}
	}
	if n.conn, err = connect(n, password); err == nil {
		n.js, err = jetstream.New(n.conn)
	}
	if err == nil {
		_, err = n.conn.Subscribe(nodesPrefix+"*", n.hear)
	}
	if err == nil {
		err = n.Answer(statusTopic, n.stages)
	}
	if err == nil {
		err = n.Answer(moveTopic, n.moveAway)
	}
	if err != nil {
		n.Close()
		return nil, fmt.Errorf("cluster: %w", err)
	}
	n.spawn(n.prepare)
	if n.server != nil {
		n.spawn(func() { n.mend(password) })
	}
	n.follow("parley-rooms", func() jetstream.KeyValue { return n.records }, n.tellRecord)
	return n, nil
}

// ID tells this run of this node from all others. No player may know it.
func (n *Node) ID() uint64 { return n.id }

// Ready is closed when the node can read and write: enough nodes are there.
func (n *Node) Ready() <-chan struct{} { return n.ready }

// Wait waits until the node can read and write, for at most a minute. Its error says what is missing.
func (n *Node) Wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	look := time.NewTicker(prepareEach)
	defer look.Stop()
	for {
		select {
		case <-n.ready:
			return nil
		case <-n.ctx.Done():
			return errors.New("cluster: the node is closed")
		case <-ctx.Done():
			return n.missing()
		case <-look.C:
			if why := n.unready.Load(); why != nil && hopeless(*why) != nil {
				return hopeless(*why)
			}
		}
	}
}

// missing says why the node cannot read and write.
func (n *Node) missing() error {
	err := errors.New("nothing is known")
	if why := n.unready.Load(); why != nil {
		err = firstLine(*why)
	}
	switch {
	case n.natsServer() != nil:
		return fmt.Errorf("cluster: %q has not had enough nodes for %v: start the others, or check that they reach each other (%w)", n.cfg.Name, settleTime, err)
	case !n.conn.IsConnected():
		if last := n.unmet.Load(); last != nil {
			err = *last
		}
		return fmt.Errorf("cluster: no NATS answers at %s: start it, or check its address and who may connect (%w)", n.where(), err)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return fmt.Errorf("cluster: the NATS at %s has no JetStream: start it with JetStream, for this account too (%w)", n.where(), err)
	}
	return fmt.Errorf("cluster: the NATS at %s does not keep anything: check that most of its servers run, and that its disks have room (%w)", n.where(), err)
}

// firstLine is the first of several errors: the rest says the same of other buckets.
func firstLine(err error) error {
	if several, ok := err.(interface{ Unwrap() []error }); ok && len(several.Unwrap()) > 0 {
		return several.Unwrap()[0]
	}
	return err
}

// where are the servers of NATS that the operator runs, without passwords.
func (n *Node) where() string {
	var list []string
	for _, a := range n.cfg.URLs {
		if !strings.Contains(a, "://") {
			a = "nats://" + a
		}
		if u, err := url.Parse(a); err == nil {
			list = append(list, u.Host)
		}
	}
	return strings.Join(list, ", ")
}

// Close ends the node's part in all rooms. Others go on with them.
func (n *Node) Close() {
	n.cancel()
	n.mu.Lock()
	rooms := n.rooms
	n.rooms = nil
	n.mu.Unlock()
	for _, r := range rooms {
		r.end()
	}
	n.work.Wait()
	select {
	case <-n.ready:
		n.leave()
	default:
	}
	if n.conn != nil {
		n.conn.Close()
	}
	if s := n.natsServer(); s != nil {
		handOver(s)
		s.Shutdown()
		s.WaitForShutdown()
	}
}

// spawn runs fn, which ends when the node's context does. Close waits for it. After Close nothing is run.
func (n *Node) spawn(fn func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.rooms != nil {
		n.work.Go(fn)
	}
}

// prepare makes the buckets, as soon as the cluster has enough nodes, and then says each second that this node lives.
func (n *Node) prepare() {
	said := ""
	for n.ctx.Err() == nil {
		err := n.makeBuckets()
		if err == nil {
			break
		}
		n.unready.Store(&err)
		switch why := hopeless(err); {
		case why != nil && said != "hopeless":
			said = "hopeless"
			n.cfg.Log.Error(why.Error(), "cluster", n.cfg.Name)
		case said == "":
			said = "waits"
			n.cfg.Log.Info("the cluster waits for more nodes", "cluster", n.cfg.Name, "err", firstLine(err))
		}
		select {
		case <-n.ctx.Done():
			return
		case <-time.After(prepareEach):
		}
	}
	if n.ctx.Err() != nil {
		return
	}
	close(n.ready)
	n.cfg.Log.Info("the cluster is there", "cluster", n.cfg.Name, "node", NodeName(n.id), "replicas", n.kept())
	if n.cfg.SyncAlways && n.natsServer() == nil {
		n.cfg.Log.Warn("whether this NATS syncs each entry to the disk cannot be asked: see that it has sync_interval: always, or a loss of power takes up to two minutes of what it has acknowledged")
	}
	n.meet()
	renew := time.NewTicker(renewEach)
	defer renew.Stop()
	for {
		n.renew()
		select {
		case <-n.ctx.Done():
			return
		case <-renew.C:
		}
	}
}

// kept returns how many replicas logs have.
func (n *Node) kept() int { return n.stream(logName(0)).CachedInfo().Config.Replicas }

// tellRecord tells a room who sequences it.
func (n *Node) tellRecord(key string, value []byte, revision uint64) {
	r := n.room(nameOf(key))
	if r == nil {
		return
	}
	rec := readRecord(value, revision)
	r.spawn(func() { r.post(func() { r.core.HandleRecord(time.Now(), rec) }) }) // an owner that is busy holds up no other room
}

func (n *Node) room(log string) *Room {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.rooms[log]
}

func readRecord(b []byte, revision uint64) core.Record {
	rec := core.Record{Revision: revision}
	if len(b) == 16 {
		rec.Node, rec.Epoch = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	}
	return rec
}
