package cluster

import (
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// current is the way to the server of NATS in this process, which is another after a restart.
type current struct{ node *Node }

// InProcessConn connects to the server.
func (c current) InProcessConn() (net.Conn, error) { return c.node.natsServer().InProcessConn() }

func (n *Node) natsServer() *server.Server {
	n.serverMu.Lock()
	defer n.serverMu.Unlock()
	return n.server
}

// mend looks after the server of NATS in this process. One whose disk was full or has failed stores nothing more until it is started again, even when
// the disk is well. It would go on leading logs that it cannot write, and answer nobody, until the next of its files fails: so it leads nothing any more,
// and takes no part until its disk is well. Meanwhile the other nodes go on, and this node's stages with them.
func (n *Node) mend(password string) {
	look := time.NewTicker(mendEach)
	defer look.Stop()
	said, began := time.Time{}, time.Time{}
	for {
		s, what := n.natsServer(), ""
		select {
		case <-n.ctx.Done():
			return
		case what = <-n.fails:
		case <-look.C:
			if what = trouble(s); what == "" {
				continue
			}
		}
		now := time.Now()
		if now.Sub(said) > time.Minute {
			said = now
			n.cfg.Log.Error("this node's part of the store is out of order; it is started again when its disk takes something", "dir", n.cfg.Dir, "err", what)
		}
		n.count(func(s *Stats) { s.StoreTrouble++ })
		if s.JetStreamEnabled() {
			handOver(s)
			_ = s.ShutdownJetStream() // it says what is wrong, and there is nothing to be done about it
		}
		if now.Sub(began) < restartEach || tryDisk(n.cfg.Dir) != nil {
			continue
		}
		n.restart(password)
		began = now
	}
}

// trouble says what is wrong with a server that only a new start mends, or nothing.
func trouble(s *server.Server) string {
	if !s.JetStreamEnabled() {
		return "JetStream is off"
	}
	for _, e := range s.Healthz(&server.HealthzOptions{Details: true}).Errors {
		if strings.Contains(e.Error, "write error") {
			return e.Error
		}
	}
	return ""
}

// tryDisk writes a file of some size, and removes it.
func tryDisk(dir string) error {
	f, err := os.CreateTemp(dir, "try-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(make([]byte, tryBytes))
	if err == nil {
		err = f.Sync()
	}
	if end := f.Close(); err == nil {
		err = end
	}
	return err
}

// restart starts the server again. The node's connection finds the new one by itself.
func (n *Node) restart(password string) {
	old := n.natsServer()
	old.Shutdown()
	old.WaitForShutdown()
	select {
	case <-n.fails: // what the old one has said meanwhile
	default:
	}
	for n.ctx.Err() == nil {
		s, err := startServer(n, password)
		if err == nil {
			n.serverMu.Lock()
			n.server = s
			n.serverMu.Unlock()
			n.cfg.Log.Info("this node's part of the store goes on", "dir", n.cfg.Dir)
			return
		}
		n.cfg.Log.Error(fmt.Sprintf("this node's part of the store does not start: %v", err))
		select {
		case <-n.ctx.Done():
		case <-time.After(mendEach):
		}
	}
}

// handOver has other servers lead what this one leads, before it ends: else they would miss it first. NATS has no name for all of them.
func handOver(s *server.Server) {
	if !s.JetStreamIsClustered() {
		return
	}
	led := false
	for _, name := range streamNames() {
		if s.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, name) {
			led = s.JetStreamStepdownStream(server.DEFAULT_GLOBAL_ACCOUNT, name) == nil || led
		}
	}
	if led {
		time.Sleep(leaveTime) // what says so is on its way
	}
}

// streamNames are those of all streams of a cluster.
func streamNames() []string {
	list := []string{"KV_parley-rooms", "KV_parley-nodes", "KV_parley-directory", "KV_parley-entry", "KV_parley-bans", "OBJ_parley-snapshots"}
	for i := range logStreams {
		list = append(list, fmt.Sprint("parley-log-", i))
	}
	return list
}
