package main

import (
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// W3: many clients, 32 bytes up and 200 down at 20 Hz.
var crowdWork = work{
	name: "W3", title: "W3: clients that each send 32 bytes and get 200, 20 times a second",
	cases: []string{"1000", "4000"}, quick: []string{"1000"}, lanes: 1,
	columns: []column{
		{"cpu", "server CPU %", 1}, {"each", "µs/exchange", 2}, {"xfloor", "× floor", 2}, {"flooreach", "floor's", 2}, {"xgathered", "× gathered floor", 2}, {"kernel", "kernel %", 0}, {"switches", "switches/1,000", 0}, {"floorswitches", "floor's", 0}, {"resident", "KiB/client", 1}, {"own", "Go's own", 1},
		{"p50", "p50 ms", 2}, {"p99", "p99 ms", 2}, {"floorp99", "floor's p99", 2}, {"delivered", "delivered %", 2},
	},
	takes: func(p Peer) bool { return p.Crowd },
	once:  crowdOnce,
}

const (
	crowdUp    = 32
	crowdDown  = 200
	crowdEvery = 50 * time.Millisecond
)

type crowdWith struct {
	Peer    string         `json:"peer"`
	Addr    netip.AddrPort `json:"addr"`
	Clients int            `json:"clients"`
	Size    int            `json:"size"`
	Every   time.Duration  `json:"every"`
	For     time.Duration  `json:"for"`
	Listen  bool           `json:"listen"` // and send nothing

	Patience time.Duration `json:"patience"` // for the last ones
}

type crowded struct {
	Sent int           `json:"sent"`
	Took time.Duration `json:"took"` // what was meant to take For
	tally
}

// floorOf is what a peer is held against: the same datagrams, and nothing else.
func floorOf(p Peer) string {
	if p.Down {
		return "udp batched down"
	}
	return "udp batched"
}

// floorsOf are all floors of a peer: our servers gather datagrams before they read, so they are also held against a floor
// that does.
func floorsOf(p Peer) []string {
	switch {
	case floorOf(p) == p.Name:
		return nil
	case p.Ours && !p.Down:
		return []string{floorOf(p), "udp gathered"}
	}
	return []string{floorOf(p)}
}

// site is a server and its clients.
type site struct {
	peer           Peer
	with           crowdWith
	server, client *child
	used           cpu
	crowded
}

func crowdOnce(o *options, p Peer, kase string, round int) (map[string]float64, error) {
	var all family
	defer func() { all.stop() }()
	var clients int
	if _, err := fmt.Sscan(kase, &clients); err != nil {
		return nil, err
	}
	s, err := openSite(&all, p, clients)
	if err != nil {
		return nil, err
	}
	// Memory is what clients add to a server that has served some already: its buffers are
	// then there and were used.
	few := clients / 10
	if err := s.gather(few, o.pace.crowdWarm); err != nil {
		return nil, err
	}
	var some, full memory
	if err := s.server.ask("memory", nil, &some); err != nil {
		return nil, err
	}
	if err := s.gather(clients, o.pace.crowdWarm); err != nil {
		return nil, err
	}
	sites := []*site{s}
	for _, name := range floorsOf(p) {
		floor, _ := peerNamed(name)
		f, err := openSite(&all, floor, clients)
		if err != nil {
			return nil, err
		}
		if err := f.gather(clients, o.pace.crowdWarm); err != nil {
			return nil, err
		}
		sites = append(sites, f)
	}
	stop, err := o.profileOf(s.server, p, "W3", kase, round)
	if err != nil {
		return nil, err
	}
	// By turns, so that what disturbs the one disturbs the other.
	for i := range o.pace.crowds * len(sites) {
		if err := sites[i%len(sites)].run(o.pace.crowd); err != nil {
			return nil, err
		}
	}
	if err := stop(); err != nil {
		return nil, err
	}
	if err := s.server.ask("memory", nil, &full); err != nil {
		return nil, err
	}
	return crowdFigures(sites, some, full, float64(clients-few)), nil
}

// crowdFigures says what the first site cost, and by those of the floors if there are any.
func crowdFigures(sites []*site, some, full memory, added float64) map[string]float64 {
	s := sites[0]
	slices.Sort(s.Late)
	figures := map[string]float64{
		"cpu": 100 * s.used.all().Seconds() / s.Took.Seconds(), "each": s.each(), "kernel": 100 * s.used.kernel(), "switches": s.switches(),
		"resident": float64(full.Resident-some.Resident) / 1024 / added,
		"p50":      millis(quantile(s.Late, .5)), "p99": millis(quantile(s.Late, .99)), "delivered": 100 * float64(s.Got) / float64(s.Sent),
	}
	if full.Own > 0 {
		figures["own"] = float64(full.Own-some.Own) / 1024 / added
	}
	if len(sites) > 1 {
		f := sites[1]
		slices.Sort(f.Late)
		figures["xfloor"], figures["floorp99"] = s.each()/f.each(), millis(quantile(f.Late, .99))
		figures["flooreach"], figures["floorswitches"] = f.each(), f.switches()
	}
	if len(sites) > 2 {
		figures["xgathered"] = s.each() / sites[2].each()
	}
	return figures
}

// openSite starts a server for so many clients, and the process of these.
func openSite(all *family, p Peer, clients int) (s *site, err error) {
	s = &site{peer: p, with: crowdWith{Peer: p.Name, Size: crowdUp, Every: crowdEvery, Listen: p.Down, Patience: time.Second}}
	if p.Reliable {
		s.with.Patience = 10 * time.Second
	}
	if s.server, err = all.add(p, "server"); err != nil {
		return nil, err
	}
	if s.client, err = all.add(p, "client"); err != nil {
		return nil, err
	}
	return s, s.server.ask("listen", serveWith{Peer: p.Name, Answer: answerSize, Bytes: crowdDown, Clients: clients}, &s.with.Addr)
}

// gather has clients come until there are n, and warms up.
func (s *site) gather(n int, warm time.Duration) error {
	s.with.Clients = n
	if err := s.client.ask("gather", s.with, nil); err != nil {
		return err
	}
	err := s.run(warm)
	s.crowded, s.used = crowded{}, cpu{}
	return err
}

// each is the CPU time of the server for one message each way, in µs.
func (s *site) each() float64 { return s.used.all().Seconds() * 1e6 / float64(s.Sent) }

// switches are the context switches of the server for 1,000 messages each way.
func (s *site) switches() float64 { return 1000 * float64(s.used.Switches) / float64(s.Sent) }

// run has clients send for a while, or the server if messages go down only, and adds what
// that came to.
func (s *site) run(length time.Duration) error {
	var before, after cpu
	if err := s.server.ask("cpu", nil, &before); err != nil {
		return err
	}
	r, err := s.exchange(length)
	if err != nil {
		return err
	}
	if err := s.server.ask("cpu", nil, &after); err != nil {
		return err
	}
	used := after.since(before)
	s.used.User += used.User
	s.used.System += used.System
	s.used.Switches += used.Switches
	s.Sent, s.Got, s.Took, s.Late = s.Sent+r.Sent, s.Got+r.Got, s.Took+r.Took, append(s.Late, r.Late...)
	return nil
}

func (s *site) exchange(length time.Duration) (r crowded, err error) {
	w := s.with
	w.For = length
	if !w.Listen {
		err = s.client.ask("crowd", w, &r)
		return r, err
	}
	w.For += pushTail
	done := make(chan error, 1)
	go func() { done <- s.client.ask("crowd", w, &r) }()
	var sent pushed
	err = s.server.ask("push", pushWith{Every: w.Every, For: length}, &sent)
	if err := <-done; err != nil {
		return r, err
	}
	r.Sent, r.Took = sent.Sent, sent.Took
	return r, err
}

// pushTail is how long clients listen after the server's last message.
const pushTail = 100 * time.Millisecond
