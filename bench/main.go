package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// options are what the command line says.
type options struct {
	quick bool
	works []string
	peers []string
}

func main() {
	var o options
	role := flag.String("role", "", "for the program itself: be a child")
	works := flag.String("work", "W1,W2,W3", "which works, of W1, W2, W3")
	names := flag.String("peers", "", "which peers, by a part of their names; all if empty")
	flag.BoolVar(&o.quick, "quick", false, "a few minutes, with figures to match")
	flag.Parse()
	if *role != "" {
		serveRequests(roles[*role]())
		return
	}
	o.works = strings.Split(*works, ",")
	if *names != "" {
		o.peers = strings.Split(*names, ",")
	}
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// chosen returns the peers that the command line wants and that can run here.
func (o *options) chosen() (list []Peer) {
	for _, p := range peers {
		wanted := len(o.peers) == 0 || slices.ContainsFunc(o.peers, func(part string) bool { return strings.Contains(p.Name, part) })
		if !wanted {
			continue
		}
		if p.Missing != nil {
			if why := p.Missing(); why != "" {
				fmt.Printf("%s is left out: %s\n", p.Name, why)
				continue
			}
		}
		list = append(list, p)
	}
	return list
}

func (o *options) run() error {
	list := o.chosen()
	for _, work := range o.works {
		var err error
		switch work {
		case "W1":
			err = o.echo(list)
		case "W2":
			err = o.rush(list)
		case "W3":
			err = o.crowd(list)
		default:
			err = fmt.Errorf("there is no work %q; they are W1, W2 and W3", work)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// echo runs W1: each peer at each loss.
func (o *options) echo(list []Peer) error {
	seconds := 30
	if o.quick {
		seconds = 8
	}
	fmt.Printf("\nW1: 64 bytes at 60 Hz, echoed over 25 ms + 0–5 ms each way; milliseconds\n%-22s %5s %8s %8s %8s %8s %10s %10s\n",
		"", "loss", "p50", "p95", "p99", "max", "delivered", "bytes/msg")
	for _, p := range list {
		if !p.Reliable {
			continue
		}
		for _, loss := range []string{"0", "0.02", "0.05", "0.1"} {
			r, net, err := echoOnce(p, loss, seconds, 1)
			if err != nil {
				fmt.Printf("%-22s %5s failed: %v\n", p.Name, loss, err)
				continue
			}
			l := r.Latencies
			slices.Sort(l)
			q := func(f float64) float64 {
				if len(l) == 0 {
					return 0
				}
				return l[min(int(f*float64(len(l))), len(l)-1)].Seconds() * 1000
			}
			n := seconds*60 + 120
			fmt.Printf("%-22s %5s %8.1f %8.1f %8.1f %8.1f %9.2f%% %10.1f  (network late by p99 %d µs)\n", p.Name, loss, q(.5), q(.95), q(.99), q(1),
				100*float64(r.Delivered)/float64(seconds*60), float64(net.Bytes)/float64(n), net.LateP99)
		}
	}
	return nil
}

func echoOnce(p Peer, loss string, seconds int, seed uint64) (r echoed, net impaired, err error) {
	server, err := start("server")
	if err != nil {
		return r, net, err
	}
	defer server.stop()
	path, err := start("impair")
	if err != nil {
		return r, net, err
	}
	defer path.stop()
	client, err := start("client")
	if err != nil {
		return r, net, err
	}
	defer client.stop()
	w := echoWith{Peer: p.Name, Size: 64, Messages: seconds * 60, Every: time.Second / 60, Patience: 5 * time.Second}
	with := impairWith{TCP: p.Name == "tcp", Profile: "delay=25ms jitter=5ms loss=" + loss, Seed: seed}
	if err := server.ask("listen", serveWith{Peer: p.Name}, &with.To); err != nil {
		return r, net, err
	}
	if err := path.ask("listen", with, &w.Addr); err != nil {
		return r, net, err
	}
	if err := client.ask("echo", w, &r); err != nil {
		return r, net, err
	}
	return r, net, path.ask("stats", nil, &net)
}

// rush runs W2.
func (o *options) rush(list []Peer) error {
	length := 5 * time.Second
	if o.quick {
		length = 2 * time.Second
	}
	fmt.Printf("\nW2: one connection, 64 bytes as fast as they go\n%-22s %12s %14s %12s\n", "", "messages/s", "CPU-s/million", "delivered")
	for _, p := range list {
		if !p.Reliable {
			continue
		}
		server, err := start("server")
		if err != nil {
			return err
		}
		client, err := start("client")
		if err != nil {
			return err
		}
		if err := rushOnce(p, server, client, length); err != nil {
			fmt.Printf("%-22s failed: %v\n", p.Name, err)
		}
		client.stop()
		server.stop()
	}
	return nil
}

func rushOnce(p Peer, server, client *child, length time.Duration) error {
	w := rushWith{Peer: p.Name, Size: 64, For: length}
	var r rushed
	var got uint64
	if err := server.ask("listen", serveWith{Peer: p.Name, Reply: -1}, &w.Addr); err != nil {
		return err
	}
	begin := time.Now()
	if err := client.ask("rush", w, &r); err != nil {
		return err
	}
	for wait := time.Now(); got < r.Sent && time.Since(wait) < 10*time.Second; {
		if err := server.ask("count", nil, &got); err != nil {
			return err
		}
	}
	took := time.Since(begin)
	var a, b usage
	if err := server.ask("usage", nil, &a); err != nil {
		return err
	}
	if err := client.ask("usage", nil, &b); err != nil {
		return err
	}
	million := float64(got) / 1e6
	fmt.Printf("%-22s %12.0f %14.2f %11.2f%%\n", p.Name, float64(got)/took.Seconds(), (a.CPU+b.CPU).Seconds()/million, 100*float64(got)/float64(r.Sent))
	return nil
}

// crowd runs W3.
func (o *options) crowd(list []Peer) error {
	fmt.Printf("\nW3: 32 bytes up and 200 down at 20 Hz for each client\n%-22s %8s %12s %14s %9s %9s %10s\n",
		"", "clients", "server CPU", "KiB/client", "p50 ms", "p99 ms", "delivered")
	sizes := []int{1000, 4000}
	if o.quick {
		sizes = sizes[:1]
	}
	for _, p := range list {
		for _, n := range sizes {
			if err := crowdOnce(p, n, o.quick); err != nil {
				fmt.Printf("%-22s %8d failed: %v\n", p.Name, n, err)
			}
		}
	}
	return nil
}

func crowdOnce(p Peer, n int, quick bool) error {
	server, err := start("server")
	if err != nil {
		return err
	}
	defer server.stop()
	client, err := start("client")
	if err != nil {
		return err
	}
	defer client.stop()
	w := crowdWith{Peer: p.Name, Clients: n, Size: 32, Every: time.Second / 20}
	if err := server.ask("listen", serveWith{Peer: p.Name, Reply: 200}, &w.Addr); err != nil {
		return err
	}
	var empty, before, after usage
	var r crowded
	if err := server.ask("usage", nil, &empty); err != nil {
		return err
	}
	if err := client.ask("crowd", w, &r); err != nil {
		return err
	}
	w.For = time.Second
	if err := client.ask("crowd", w, &r); err != nil {
		return err
	}
	if err := server.ask("usage", nil, &before); err != nil {
		return err
	}
	w.For = 10 * time.Second
	if quick {
		w.For = 4 * time.Second
	}
	if err := client.ask("crowd", w, &r); err != nil {
		return err
	}
	if err := server.ask("usage", nil, &after); err != nil {
		return err
	}
	slices.Sort(r.Latencies)
	q := func(f float64) float64 {
		if len(r.Latencies) == 0 {
			return 0
		}
		return r.Latencies[min(int(f*float64(len(r.Latencies))), len(r.Latencies)-1)].Seconds() * 1000
	}
	fmt.Printf("%-22s %8d %11.1f%% %14.1f %9.2f %9.2f %9.2f%%\n", p.Name, n, 100*(after.CPU-before.CPU).Seconds()/after.At.Sub(before.At).Seconds(),
		float64(after.RSS-empty.RSS)/1024/float64(n), q(.5), q(.99), 100*float64(r.Got)/float64(r.Sent))
	return nil
}
