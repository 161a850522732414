package cluster

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// startServer starts a server of NATS in this process. Its only client is this process: a server that speaks to others must listen for
// clients too, so it does on the loopback address, and wants a password that nobody else has.
func startServer(n *Node, password string) (*server.Server, error) {
	c := &n.cfg
	o := &server.Options{
		ServerName: NodeName(n.id), Host: "127.0.0.1", Port: server.RANDOM_PORT, Username: "parley", Password: password, NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: c.Dir, JetStreamMaxMemory: maxMemory, JetStreamMaxStore: maxStore, SyncAlways: c.SyncAlways, SyncInterval: syncEach,
		DisableJetStreamBanner: true,
	}
	host, port, err := hostPort(c.Listen)
	if err != nil {
		return nil, err
	}
	if len(c.Peers) > 0 {
		if wasAlone(c.Dir) {
			return nil, fmt.Errorf("%w: %s", ErrAlone, c.Dir)
		}
		if ip := net.ParseIP(host); c.Advertise == "" && (host == "" || ip != nil && ip.IsUnspecified()) {
			return nil, fmt.Errorf("cluster: %q is every address of the machine: say in Advertise which one the other nodes reach", c.Listen)
		}
		free, err := net.Listen("tcp", c.Listen) // NATS would say that its port is taken in its log only
		if err != nil {
			return nil, fmt.Errorf("cluster: %w", err)
		}
		free.Close()
		o.ServerName = "parley-" + safeName(cmp.Or(c.Advertise, c.Listen)) // the same after a restart: its part of the logs is on its disk
		name, err := token(c.Name)
		if err != nil {
			return nil, err
		}
		o.Cluster = server.ClusterOpts{Name: name, Host: host, Port: port, Advertise: c.Advertise}
		if c.TLS != nil {
			o.Cluster.TLSConfig, o.Cluster.TLSTimeout = bothWays(c.TLS), tlsSeconds
		}
		for _, peer := range c.Peers {
			if _, _, err := hostPort(peer); err != nil {
				return nil, err
			}
			o.Routes = append(o.Routes, &url.URL{Scheme: "nats-route", Host: peer})
		}
	}
	s, err := server.NewServer(o)
	if err != nil {
		return nil, fmt.Errorf("cluster: NATS: %w", err)
	}
	s.SetLoggerV2(&natsLog{to: c.Log, fails: n.fails}, false, false, false)
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		s.Shutdown()
		s.WaitForShutdown()
		return nil, fmt.Errorf("cluster: NATS does not listen at %s: is the port taken?", c.Listen)
	}
	return s, nil
}

// ErrAlone means that the folder of a node is of one that was alone.
var ErrAlone = errors.New("cluster: the folder is of a node that was alone, and NATS removes its logs from a cluster: start this node without peers to keep its rooms, or all nodes with empty folders")

// wasAlone reports whether a folder has streams of a server of NATS that was in no cluster. In one it would take them for what other servers have
// removed while it was down.
func wasAlone(dir string) bool {
	streams, err := os.ReadDir(filepath.Join(dir, "jetstream", server.DEFAULT_GLOBAL_ACCOUNT, "streams"))
	if err != nil || len(streams) == 0 {
		return false
	}
	_, err = os.Stat(filepath.Join(dir, "jetstream", server.DEFAULT_SYSTEM_ACCOUNT, "_js_", "_meta_"))
	return errors.Is(err, os.ErrNotExist)
}

// bothWays wants of whoever connects what is wanted of those that are connected to.
func bothWays(c *tls.Config) *tls.Config {
	c = c.Clone()
	if c.ClientCAs == nil {
		c.ClientCAs = c.RootCAs
	}
	c.ClientAuth, c.MinVersion = tls.RequireAndVerifyClientCert, max(c.MinVersion, tls.VersionTLS13)
	return c
}

func hostPort(addr string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(addr)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil || port <= 0 || port > 65535 {
		return "", 0, fmt.Errorf("cluster: %q is no address: write host:port, such as 10.0.0.1:6222", addr)
	}
	return host, port, nil
}

// safeName makes an address part of a server's name.
func safeName(addr string) string {
	b := []byte(addr)
	for i, c := range b {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			b[i] = '-'
		}
	}
	return string(b)
}

// connect connects to the server in this process, or to those that the operator runs.
func connect(n *Node, password string) (*nats.Conn, error) {
	c := &n.cfg
	options := []nats.Option{
		nats.Name(NodeName(n.id)), nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond), nats.RetryOnFailedConnect(true),
		nats.NoEcho(), nats.PingInterval(pingEach), nats.MaxPingsOutstanding(maxPings), nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { n.unmet.Store(&err) }),
	}
	if n.server != nil {
		return nats.Connect("", append(options, nats.InProcessServer(current{n}), nats.UserInfo("parley", password))...)
	}
	if len(c.URLs) == 0 {
		return nil, errors.New("cluster: neither the address of a NATS nor one to listen at: give one of them")
	}
	if c.TLS != nil {
		options = append(options, nats.Secure(c.TLS))
	}
	return nats.Connect(strings.Join(c.URLs, ","), options...)
}
