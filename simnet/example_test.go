package simnet_test

import (
	"fmt"
	"net/netip"
	"os"
	"time"

	"parley/simnet"
)

// greeter sends "hello" every second until it is answered, and answers what it gets if it is a server.
type greeter struct {
	server   netip.AddrPort // not valid for the server itself
	next     time.Time
	isDue    bool
	answerTo netip.AddrPort
	answered time.Time
}

func (g *greeter) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	if g.server.IsValid() {
		g.answered = now
		return
	}
	g.answerTo = from
}

func (g *greeter) HandleTimeout(now time.Time) {
	g.isDue = true
	g.next = now.Add(time.Second)
}

func (g *greeter) NextTimeout() (time.Time, bool) {
	return g.next, g.server.IsValid() && g.answered.IsZero()
}

func (g *greeter) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	to := g.answerTo
	g.answerTo = netip.AddrPort{}
	if g.isDue {
		g.isDue, to = false, g.server
	}
	return copy(buf, "hello"), to, to.IsValid()
}

// A client that repeats itself reaches a server over a link that loses half of what it carries.
func Example() {
	net := simnet.New(30)
	net.Default(simnet.Profile{Delay: 25 * time.Millisecond, Loss: 0.5})

	serverAddr := netip.MustParseAddrPort("10.0.0.1:4000")
	client := &greeter{server: serverAddr, next: net.Now()}
	net.Add(serverAddr, &greeter{})
	net.Add(netip.MustParseAddrPort("10.0.0.2:4000"), client)

	err := net.RunUntil(func() bool { return !client.answered.IsZero() }, time.Minute)
	fmt.Println(net.Elapsed(), err)
	fmt.Println(net.Stats().Sent, "sent,", net.Stats().Lost, "lost")
	// Output:
	// 4.05s <nil>
	// 7 sent, 4 lost
}

// A plan is a script of faults. RandomPlan draws one from a seed; this one was written by hand.
func ExamplePlan_Apply() {
	plan, err := simnet.ParsePlan(`
		link *>* delay=50ms
		cut client>server       # from the start
		at 2.5s heal client server
	`)
	if err != nil {
		fmt.Println(err)
		return
	}
	net := simnet.New(plan.Seed)
	serverAddr := netip.MustParseAddrPort("10.0.0.1:4000")
	client := &greeter{server: serverAddr, next: net.Now()}
	hosts := []*simnet.Host{
		net.Add(serverAddr, &greeter{}).Named("server"),
		net.Add(netip.MustParseAddrPort("10.0.0.2:4000"), client).Named("client"),
	}
	if err := plan.Apply(net, nil, hosts...); err != nil {
		fmt.Println(err)
		return
	}
	err = net.RunUntil(func() bool { return !client.answered.IsZero() }, time.Minute)
	fmt.Println(net.Elapsed(), err)
	// Output: 3.1s <nil>
}

// What a swarm test prints for a seed that fails.
func ExampleReport() {
	plan := simnet.RandomPlan(42, []string{"server", "client"}, simnet.PlanLimits{MaxCrashes: -1, MaxRebinds: -1})
	fmt.Println(simnet.Report(42, plan))
	// Output:
	// simnet: seed=42 fails. Run it again with: go test -run <this test> -seed 42
	// or give this plan to simnet.ParsePlan, simnet.New its seed, and take lines away while it fails:
	//
	// seed 42
	// link server>client delay=118ms loss=0.0449 corrupt=0.0023 reorder=0.4189/36ms
	// link client>server delay=492ms loss=0.2532 corrupt=0.004 reorder=0.4413/27ms
	// skew server -301.6
	// skew client 358
	// at 1.115s cut server>client
	// at 24.417s link server>client delay=688ms loss=0.4007 corrupt=0.01 reorder=0.0951/49ms
	// at 30.248s heal server client
	// at 40s heal * *
	// at 40s link server>* delay=10ms
	// at 40s link *>server delay=10ms
	// calm 40s
}

// The trace shows what became of each datagram.
func ExampleNetwork_TraceTo() {
	net := simnet.New(1)
	net.TraceTo(os.Stdout)
	serverAddr := netip.MustParseAddrPort("10.0.0.1:4000")
	net.Add(serverAddr, &greeter{}).Named("server")
	net.Add(netip.MustParseAddrPort("10.0.0.2:4000"), &greeter{server: serverAddr, next: net.Now()}).Named("client")
	net.Default(simnet.Profile{Delay: 10 * time.Millisecond, MTU: 1200})
	if err := net.Run(100 * time.Millisecond); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 0.000000000 profile delay=10ms mtu=1200
	// 0.000000000 script start
	// 0.000000000 poke server
	// 0.000000000 script start
	// 0.000000000 poke client
	// 0.000000000 timeout client
	// 0.000000000 send client>server 5 bytes 9a71bb4c
	// 0.010000000 delivered client>server 5 bytes 9a71bb4c
	// 0.010000000 send server>client 5 bytes 9a71bb4c
	// 0.020000000 delivered server>client 5 bytes 9a71bb4c
}

// Named profiles can be changed, in code and in text.
func ExampleParseProfile() {
	p, err := simnet.ParseProfile("satellite loss=0.02")
	fmt.Println(p, err)
	// Output:
	// delay=280ms jitter=30ms inorder loss=0.02 burst=0.0005/0.1/0/1 rate=15000000 queue=500ms mtu=1400 <nil>
}

// Code that wants a net.PacketConn gets one from a Live. In a test with delays it belongs into a bubble of testing/synctest:
// synctest.Test(t, func(t *testing.T) { live := simnet.NewLive(1); ... }).
func ExampleLive() {
	live := simnet.NewLive(1)
	live.Default(simnet.Profile{Duplicate: 1})
	a, errA := live.Listen(netip.MustParseAddrPort("10.0.0.1:4000"))
	b, errB := live.Listen(netip.MustParseAddrPort("10.0.0.2:4000"))
	if errA != nil || errB != nil {
		fmt.Println(errA, errB)
		return
	}
	a.WriteTo([]byte("hello"), b.LocalAddr())
	for range 2 {
		buf := make([]byte, 1500)
		n, from, err := b.ReadFrom(buf)
		fmt.Printf("%q from %v, %v\n", buf[:n], from, err)
	}
	// Output:
	// "hello" from 10.0.0.1:4000, <nil>
	// "hello" from 10.0.0.1:4000, <nil>
}
