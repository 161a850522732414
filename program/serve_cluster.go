package program

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	front "parley"
	"parley/cluster"
	"parley/world"
)

// clusterFlags say with which other servers this one shares its rooms.
type clusterFlags struct {
	name                           string
	nats, listen, peers, advertise string
	cert, key, ca                  string
	host, label                    string

	node  *cluster.Node // nil: the server is alone
	about cluster.About // that the others know of it

	leave     chan struct{} // closed when an operator has asked this node to end
	leaveOnce *sync.Once
	looked    *lookedAt
}

func (f *clusterFlags) register(cmd *cobra.Command) {
	f.leave, f.leaveOnce, f.looked = make(chan struct{}), new(sync.Once), new(lookedAt)
	flags := cmd.Flags()
	flags.StringVar(&f.name, "cluster", "", "share rooms with the other servers of the cluster of this name")
	flags.StringVar(&f.nats, "nats", "", "the servers of a NATS with JetStream that keeps the cluster's rooms, as nats://a.example:4222,nats://b.example:4222")
	flags.StringVar(&f.listen, "cluster-listen", "", "run a server of NATS in this process, and listen at this address for those of the other nodes (TCP)")
	flags.StringVar(&f.peers, "cluster-peers", "", "where the other nodes listen, as 10.0.0.2:6222,10.0.0.3:6222; without them the cluster is this node alone")
	flags.StringVar(&f.advertise, "cluster-advertise", "", "the address under which the other nodes reach --cluster-listen, if it is another")
	flags.StringVar(&f.cert, "cluster-cert", "", "a file with this node's certificate: connections between nodes, and to --nats, are then encrypted, and both ends show one")
	flags.StringVar(&f.key, "cluster-key", "", "the file with the key of --cluster-cert")
	flags.StringVar(&f.ca, "cluster-ca", "", "a file with the certificates that the other nodes', or those of --nats, must be signed by")
	flags.StringVar(&f.host, "cluster-host", "", "the host name or address at which players reach this node, for the other nodes to tell (default: the address of each dialect, that of --cluster-advertise or --cluster-listen, or the machine's name)")
	flags.StringVar(&f.label, "node", "", "this node's name, for people (default: the machine's name)")
}

// nodeName is what people call this server.
func (f *clusterFlags) nodeName() string {
	if f.label != "" {
		return f.label
	}
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name
}

// check looks for flags that do not go together.
func (f *clusterFlags) check(of *serveFlags) error {
	if f.name == "" {
		for _, a := range []struct{ flag, value string }{
			{"nats", f.nats}, {"cluster-listen", f.listen}, {"cluster-peers", f.peers}, {"cluster-advertise", f.advertise}, {"cluster-cert", f.cert}, {"cluster-key", f.key}, {"cluster-ca", f.ca}, {"cluster-host", f.host},
		} {
			if a.value != "" {
				return fmt.Errorf("--%s is given without --cluster; name the cluster, with the same name on all its nodes", a.flag)
			}
		}
		return nil
	}
	switch {
	case f.nats == "" && f.listen == "":
		return errors.New("--cluster is given without --nats and --cluster-listen; give the servers of a NATS with JetStream, or an address to listen at for the other nodes")
	case f.nats != "" && f.listen != "":
		return errors.New("--nats and --cluster-listen are both given; use a NATS of your own or the one in this process, not both")
	case f.peers != "" && f.listen == "":
		return errors.New("--cluster-peers is given without --cluster-listen; give the address to listen at for those nodes")
	case f.advertise != "" && f.peers == "":
		return errors.New("--cluster-advertise is given without --cluster-peers; name the nodes that are to connect to that address")
	case f.cert != "" && f.key == "":
		return errors.New("--cluster-cert is given without --cluster-key; give both files")
	case f.key != "" && f.cert == "":
		return errors.New("--cluster-key is given without --cluster-cert; give both files")
	case f.cert != "" && f.ca == "":
		return errors.New("--cluster-cert is given without --cluster-ca; name the file of the certificates that the other nodes' are signed by")
	case f.ca != "" && f.cert == "" && f.listen != "":
		return errors.New("--cluster-ca is given without --cluster-cert; each node shows a certificate to the others, so give this node's too")
	case of.realm != front.Off && of.postgres == "":
		return errors.New("--cluster is given and accounts are in SQLite, which one server has for itself; name a database that all nodes have with --postgres, or give --realm off")
	case of.keepHistory:
		return errors.New("--keep-history is given with --cluster, which keeps the rooms itself; leave out --keep-history")
	case of.record != "":
		return errors.New("--record is given with --cluster, whose rooms run on several servers; leave out --record")
	}
	return f.checkAddresses()
}

// checkAddresses looks at what is written in the flags.
func (f *clusterFlags) checkAddresses() error {
	for _, a := range splitList(f.nats) {
		if u, err := url.Parse(withScheme(a)); err != nil || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) {
			return errors.New("--nats has an address that is none; write nats://host:port, and a comma between two") // it may have a password in it
		}
	}
	for _, a := range []struct{ flag, list string }{{"cluster-listen", f.listen}, {"cluster-peers", f.peers}, {"cluster-advertise", f.advertise}} {
		for _, addr := range splitList(a.list) {
			host, port, err := net.SplitHostPort(addr)
			if n, wrong := strconv.ParseUint(port, 10, 16); err != nil || wrong != nil || n == 0 || host == "" && a.flag != "cluster-listen" {
				return fmt.Errorf("--%s has %q, which is no address of a node; write host:port, such as 10.0.0.1:6222", a.flag, addr)
			}
		}
	}
	if host, _, _ := net.SplitHostPort(f.listen); f.peers != "" && f.advertise == "" && isEvery(host) {
		return fmt.Errorf("--cluster-listen %s is every address of the machine; name the one that the other nodes reach with --cluster-advertise", f.listen)
	}
	if strings.ContainsAny(f.host, "/ ,") || strings.Count(f.host, ":") == 1 {
		return fmt.Errorf("--cluster-host is %q; give one host name or address, without a port", f.host)
	}
	return nil
}

func withScheme(a string) string {
	if strings.Contains(a, "://") {
		return a
	}
	return "nats://" + a
}

// isEvery reports whether a host stands for every address of the machine.
func isEvery(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

// start starts this server's node. The game is the one that it serves.
func (f *clusterFlags) start(of *serveFlags, game world.Game, log *slog.Logger) error {
	schema, err := game.Schema()
	if err != nil {
		return err
	}
	f.about = cluster.About{Name: f.nodeName(), Version: thisBuild("").Version, Fingerprint: fmt.Sprintf("%016x", schema.Fingerprint())}
	c := cluster.Config{
		Name: f.name, URLs: splitList(f.nats), Listen: f.listen, Advertise: f.advertise, Dir: filepath.Join(of.data, "nats"), SyncAlways: of.keep == "tick", About: f.about, Log: log,
	}
	if of.keep != "tick" {
		c.Batch = time.Second
	}
	for _, peer := range splitList(f.peers) {
		if peer != f.listen && peer != f.advertise { // so that all nodes can have the same list
			c.Peers = append(c.Peers, peer)
		}
	}
	if c.TLS, err = f.tls(); err != nil {
		return err
	}
	if f.listen != "" {
		if err := os.MkdirAll(c.Dir, 0o700); err != nil {
			return fmt.Errorf("--data: the folder of the cluster's logs: %w", err)
		}
	}
	f.node, err = cluster.Start(c)
	file := (*fs.PathError)(nil)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("--cluster-listen: %w; choose another port, or end the program that has it", err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("--cluster-listen: %w; name an address of this machine, and with --cluster-advertise the one that the other nodes reach", err)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("--data: %w; make room on the disk of %s", err, c.Dir)
	case errors.As(err, &file):
		return fmt.Errorf("--data: %w; choose a --data folder that you may write to", err)
	}
	return err
}

// tls returns what nodes show each other, nil for nothing.
func (f *clusterFlags) tls() (*tls.Config, error) {
	if f.ca == "" {
		return nil, nil
	}
	text, err := os.ReadFile(f.ca)
	if err != nil {
		return nil, fmt.Errorf("--cluster-ca: %w", err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: x509.NewCertPool()}
	if !c.RootCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("--cluster-ca: %s has no certificate; give a file in the PEM format", f.ca)
	}
	if f.cert == "" {
		return c, nil
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, fmt.Errorf("--cluster-cert and --cluster-key: %w", err)
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}

// sayWaits is how long a server that starts is silent while the cluster has too few nodes.
const sayWaits = 2 * time.Second

// wait waits until the cluster has enough nodes. It returns false if the operator has interrupted it.
func (f *clusterFlags) wait(cmd *cobra.Command) (bool, error) {
	ctx, stop := signal.NotifyContext(cmd.Context(), stopSignals()...)
	defer stop()
	go func() {
		select {
		case <-f.node.Ready():
		case <-ctx.Done():
		case <-time.After(sayWaits):
			say(cmd.OutOrStdout(), fmt.Sprintf("the cluster %s has too few nodes yet: waiting for others\n", f.name))
		}
	}()
	err := f.node.Wait(ctx)
	if ctx.Err() != nil && cmd.Context().Err() == nil {
		return false, nil
	}
	return err == nil, err
}

// tryEach is how often a node tries again whose game has another schema than the room main, or another version than the other nodes run.
const tryEach = 3 * time.Second

// isOther reports whether a node cannot run rooms yet as its game is not that of the cluster.
func isOther(err error) bool {
	return errors.Is(err, front.ErrOtherSchema) || errors.Is(err, front.ErrOtherVersion)
}

// waitForRoom has a node wait whose game is not that of the cluster. Operators see why at all nodes. It returns false if it is to end.
func (f *clusterFlags) waitForRoom(cmd *cobra.Command, why error) bool {
	reason := why.Error()
	for _, err := range []error{front.ErrOtherSchema, front.ErrOtherVersion} {
		reason = strings.TrimPrefix(reason, err.Error()+": ")
	}
	if f.about.Waits != reason {
		f.about.Waits = reason
		say(cmd.OutOrStdout(), "this node takes no rooms yet: "+f.about.Waits+"\n")
	}
	f.node.SetAbout(f.about)
	ctx, stop := signal.NotifyContext(cmd.Context(), stopSignals()...)
	defer stop()
	select {
	case <-ctx.Done():
		return false
	case <-f.leave:
		return false
	case <-time.After(tryEach):
		return true
	}
}

// aboutEach is how often a node says what it does.
const aboutEach = time.Second

// tell has the other nodes know this one, until stop is called: where players reach it, and how much it does.
func (f *clusterFlags) tell(s *front.Server, addrs []front.Addr) (stop func()) {
	about := f.about
	about.Addrs, about.Waits = f.reachedAt(addrs), ""
	quit, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		each := time.NewTicker(aboutEach)
		defer each.Stop()
		load := newLoad()
		for {
			world := s.WorldStats()
			seats := world.Seats
			about.Players = seats.Replica + seats.Stamp + seats.Relay + seats.Duplex + seats.Realm - world.Spectators // those of other nodes are in the world too
			about.Rooms, about.CPU = world.Rooms, load.since()
			f.node.SetAbout(about)
			select {
			case <-quit:
				return
			case <-each.C:
			}
		}
	}()
	return func() { close(quit); <-over }
}

// reachedAt is where players reach what listens at addresses.
func (f *clusterFlags) reachedAt(addrs []front.Addr) map[string]string {
	fallback := f.host
	for _, addr := range []string{f.advertise, f.listen} {
		if host, _, err := net.SplitHostPort(addr); fallback == "" && err == nil && !isEvery(host) {
			fallback = host
		}
	}
	if fallback == "" {
		fallback, _ = os.Hostname()
	}
	told := map[string]string{}
	for _, a := range addrs {
		if a.Name == "web" {
			continue // it is for operators
		}
		host := f.host
		if host == "" && !a.Addr.Addr().IsUnspecified() {
			host = a.Addr.Addr().String()
		}
		name := a.Name
		if name == "play" {
			name = "ws"
		}
		told[name] = net.JoinHostPort(strings.Trim(cmp.Or(host, fallback), "[]"), strconv.Itoa(int(a.Addr.Port())))
	}
	return told
}

// stats are the counters of this node. held is how much a room has the server do that it has not done yet: entries wait there too.
func (f *clusterFlags) stats(held int) *clusterStats {
	st := clusterStats{f.node.Stats(), len(f.node.Nodes())}
	st.Behind = max(st.Behind, held)
	return &st
}

// stillFor is for how long no entry may come before a server says that it is not ready: longer than an election.
const stillFor = 10 * time.Second

// trouble says what is wrong with the cluster as this server sees it.
func (f *clusterFlags) trouble() error {
	if f.node == nil {
		return nil
	}
	if slices.ContainsFunc(f.node.Nodes(), func(n cluster.NodeInfo) bool { return n.ID == f.node.ID() && n.Draining }) {
		return fmt.Errorf("this node of the cluster %s is draining, and takes no new players", f.name)
	}
	if still := f.node.Stats().Silence; still > stillFor {
		return fmt.Errorf("rooms of the cluster %s stand still for %v: too few nodes are there, or this one does not reach them", f.name, still.Round(time.Second))
	}
	return nil
}
