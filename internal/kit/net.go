package kit

import (
	"net/netip"
	"testing"
	"time"

	"parley/simnet"
)

// ServerAddr is where a server is, and ClientAddr the first of its clients.
var (
	ServerAddr = netip.MustParseAddrPort("10.0.0.1:7000")
	ClientAddr = netip.MustParseAddrPort("10.0.0.2:5000")
)

// Lan is a path without loss.
func Lan() simnet.Profile { return simnet.Profile{Delay: 10 * time.Millisecond} }

// Net is a simulated network whose waits fail the test when they take too long.
type Net struct {
	*simnet.Network
	T   testing.TB
	Log []string // what the server saw, for messages
}

// NewNet returns a network, all of whose paths are alike.
func NewNet(t testing.TB, seed uint64, path simnet.Profile) Net {
	n := simnet.New(seed)
	n.Default(path)
	n.SetLimits(simnet.Limits{Steps: 20_000_000})
	return Net{Network: n, T: t}
}

// Pass lets time pass.
func (n *Net) Pass(d time.Duration) {
	n.T.Helper()
	if err := n.Run(d); err != nil {
		n.T.Fatal(err)
	}
}

// Until runs until cond holds, for at most limit.
func (n *Net) Until(what string, limit time.Duration, cond func() bool) {
	n.T.Helper()
	if err := n.RunUntil(cond, limit); err != nil {
		n.T.Fatalf("%s: %v\nserver: %v", what, err, n.Log)
	}
}
