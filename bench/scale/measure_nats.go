package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// appendCases are the rooms that append. At 20 a second each it is what they would do in a cluster, and at full speed
// what NATS takes at most on this machine.
var appendCases = []natsWith{
	{Replicas: 1, Streams: 8, Rooms: 100, Rate: 20, Bytes: 200, For: 8 * time.Second},
	{Replicas: 3, Streams: 8, Rooms: 100, Rate: 20, Bytes: 200, For: 8 * time.Second},
	{Replicas: 1, Streams: 8, Rooms: 400, Bytes: 200, For: 6 * time.Second},
	{Replicas: 3, Streams: 8, Rooms: 400, Bytes: 200, For: 6 * time.Second},
	{Replicas: 1, Streams: 1, Rooms: 400, Bytes: 200, For: 6 * time.Second},
	{Replicas: 3, Streams: 1, Rooms: 400, Bytes: 200, For: 6 * time.Second},
	{Replicas: 3, Streams: 8, Rooms: 50, Rate: 20, Bytes: 6000, For: 6 * time.Second},
}

// natsWith is what servers and the node are told.
type natsWith struct {
	Replicas, Streams, Rooms, Rate, Bytes int
	For                                   time.Duration

	Name  string
	Route int   // where this server listens for the others
	Peers []int // where they do
	Dir   string
	URL   string
}

type natsFigures struct {
	CPU      time.Duration
	Messages int64
}

type nodeFigures struct {
	CPU, Wall time.Duration
	Appends   int
	Refused   int
	Heard     int64
	P50, P99  time.Duration
}

// measureAppends has rooms append to streams like those of package cluster.
func measureAppends(w natsWith) (c AppendCost, err error) {
	dir, err := os.MkdirTemp("", "scale")
	if err != nil {
		return c, err
	}
	var servers []*child
	defer func() {
		for _, s := range servers {
			s.stop()
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	ports, err := freePorts(w.Replicas)
	if err != nil {
		return c, err
	}
	var urls []string
	for i := range w.Replicas {
		with := w
		with.Name, with.Route, with.Peers = fmt.Sprintf("server-%d", i), ports[i], ports
		with.Dir = filepath.Join(dir, with.Name)
		var at string
		s, err := start("nats", with, &at)
		if err != nil {
			return c, err
		}
		servers, urls = append(servers, s), append(urls, at)
	}
	w.URL = urls[0]
	var ready bool
	node, err := start("node", w, &ready)
	if err != nil {
		return c, err
	}
	defer node.stop()
	look := func() (sum natsFigures, err error) {
		for _, s := range servers {
			var f natsFigures
			if err := s.ask([]byte("{}"), &f); err != nil {
				return sum, err
			}
			sum.CPU, sum.Messages = sum.CPU+f.CPU, sum.Messages+f.Messages
		}
		return sum, nil
	}
	before, err := look()
	if err != nil {
		return c, err
	}
	var f nodeFigures
	if err := node.ask([]byte("{}"), &f); err != nil {
		return c, err
	}
	after, err := look()
	if err != nil {
		return c, err
	}
	if f.Appends == 0 || f.Heard < int64(f.Appends-f.Refused) {
		return c, fmt.Errorf("%d entries were appended, %d tries refused, %d entries heard: none may be lost", f.Appends, f.Refused, f.Heard)
	}
	n := float64(f.Appends)
	return AppendCost{
		Replicas: w.Replicas, Streams: w.Streams, Rooms: w.Rooms, Rate: w.Rate, Bytes: w.Bytes, PerSecond: n / f.Wall.Seconds(), Refused: f.Refused,
		Servers: float64(after.CPU-before.CPU) / n, Node: float64(f.CPU) / n, Messages: float64(after.Messages-before.Messages) / n,
		P50MS: float64(f.P50) / 1e6, P99MS: float64(f.P99) / 1e6,
	}, nil
}

// freePorts returns ports that nobody listened at a moment ago.
func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// natsServer is a server of NATS, with the options of package cluster.
func natsServer(with json.RawMessage) (any, func() (any, error), error) {
	var w natsWith
	if err := json.Unmarshal(with, &w); err != nil {
		return nil, nil, err
	}
	o := &server.Options{
		ServerName: w.Name, Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, JetStream: true, StoreDir: w.Dir,
		JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 8 << 30, DisableJetStreamBanner: true,
	}
	if w.Replicas > 1 {
		o.Cluster = server.ClusterOpts{Name: "scale", Host: "127.0.0.1", Port: w.Route}
		for _, p := range w.Peers {
			o.Routes = append(o.Routes, &url.URL{Scheme: "nats-route", Host: fmt.Sprintf("127.0.0.1:%d", p)})
		}
	}
	s, err := server.NewServer(o)
	if err != nil {
		return nil, nil, err
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		return nil, nil, errors.New("NATS does not listen")
	}
	ask := func() (any, error) {
		v, err := s.Varz(nil)
		if err != nil {
			return nil, err
		}
		return natsFigures{CPU: processTime(), Messages: v.InMsgs + v.OutMsgs}, nil
	}
	return s.ClientURL(), ask, nil
}

// natsNode is a node of a cluster, as far as NATS knows: its rooms append, each with one entry under way, and it hears them.
func natsNode(with json.RawMessage) (any, func() (any, error), error) {
	var w natsWith
	if err := json.Unmarshal(with, &w); err != nil {
		return nil, nil, err
	}
	nc, err := nats.Connect(w.URL)
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	streams := make([]jetstream.Stream, w.Streams)
	for i := range streams {
		if streams[i], err = makeStream(ctx, js, i, w.Replicas); err != nil {
			return nil, nil, err
		}
	}
	told := &counter{}
	if _, err := nc.Subscribe("parley.told.*", func(*nats.Msg) { told.add() }); err != nil {
		return nil, nil, err
	}
	rooms := make([]*natsRoom, w.Rooms)
	for i := range rooms {
		rooms[i] = &natsRoom{js: js, stream: streams[i%w.Streams], subject: fmt.Sprintf("parley.log.%d.room-%d", i%w.Streams, i), body: make([]byte, w.Bytes)}
	}
	if err := appendAll(rooms, w, time.Second); err != nil { // what is done once is done
		return nil, nil, err
	}
	return true, func() (any, error) {
		for _, r := range rooms {
			r.times, r.refused = r.times[:0], 0
		}
		heard := told.get()
		cpu, began := processTime(), time.Now()
		if err := appendAll(rooms, w, w.For); err != nil {
			return nil, err
		}
		f := nodeFigures{Wall: time.Since(began)}
		var all []time.Duration
		for _, r := range rooms {
			all = append(all, r.times...)
			f.Refused += r.refused
		}
		f.Appends = len(all)
		f.Heard = told.wait(heard + int64(len(all)))
		f.Heard -= heard
		f.CPU = processTime() - cpu
		slices.Sort(all)
		if len(all) > 0 {
			f.P50, f.P99 = all[len(all)/2], all[len(all)*99/100]
		}
		return f, nil
	}, nil
}

// makeStream makes a stream like those of package cluster. Servers that have just met need a while until they agree.
func makeStream(ctx context.Context, js jetstream.JetStream, i, replicas int) (s jetstream.Stream, err error) {
	subjects := fmt.Sprintf("parley.log.%d.*", i)
	try := func() (jetstream.Stream, error) {
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second) // without a leader nobody answers
		defer cancel()
		return js.CreateStream(ctx, jetstream.StreamConfig{
			Name: fmt.Sprintf("parley-log-%d", i), Subjects: []string{subjects}, Replicas: replicas, Storage: jetstream.FileStorage, Duplicates: 2 * time.Minute,
			RePublish: &jetstream.RePublish{Source: subjects, Destination: "parley.told.{{wildcard(1)}}"},
		})
	}
	for ctx.Err() == nil {
		if s, err = try(); err == nil {
			return s, nil
		}
		time.Sleep(250 * time.Millisecond)
	}
	return nil, err
}

// natsRoom appends its log.
type natsRoom struct {
	js      jetstream.JetStream
	stream  jetstream.Stream
	subject string
	body    []byte
	last    uint64 // sequence of its last entry
	n       uint64
	times   []time.Duration
	refused int
}

// appendAll has all rooms append for a time.
func appendAll(rooms []*natsRoom, w natsWith, long time.Duration) error {
	var wg sync.WaitGroup
	failed := make([]error, len(rooms))
	begin := time.Now()
	for i, r := range rooms {
		wg.Go(func() {
			due := begin
			if w.Rate > 0 {
				due = due.Add(time.Second / time.Duration(w.Rate) * time.Duration(i) / time.Duration(len(rooms))) // not all at once
			}
			for time.Since(begin) < long && failed[i] == nil {
				if w.Rate > 0 {
					time.Sleep(time.Until(due))
					due = due.Add(time.Second / time.Duration(w.Rate))
				}
				failed[i] = r.append()
			}
		})
	}
	wg.Wait()
	return errors.Join(failed...)
}

// append appends one entry, as package cluster does: what is refused or not answered is looked for in the log first.
func (r *natsRoom) append() error {
	r.n++
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	began := time.Now()
	for {
		m := &nats.Msg{Subject: r.subject, Data: r.body, Header: nats.Header{}}
		m.Header.Set(jetstream.MsgIDHeader, r.subject+"."+strconv.FormatUint(r.n, 36))
		m.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(r.last, 10))
		ack, err := r.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
		if err == nil {
			r.last, r.times = ack.Sequence, append(r.times, time.Since(began))
			return nil
		}
		r.refused++
		if ctx.Err() != nil {
			return fmt.Errorf("%s: entry %d: %w", r.subject, r.n, err)
		}
		if m, err := r.stream.GetLastMsgForSubject(ctx, r.subject); err == nil && m.Sequence > r.last {
			r.last, r.times = m.Sequence, append(r.times, time.Since(began)) // only this room appends to it
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// counter counts what comes, and can be waited for.
type counter struct {
	mu sync.Mutex
	n  int64
}

func (c *counter) add() { c.mu.Lock(); c.n++; c.mu.Unlock() }

func (c *counter) get() int64 { c.mu.Lock(); defer c.mu.Unlock(); return c.n }

// wait waits until so many have come, at most ten seconds.
func (c *counter) wait(n int64) int64 {
	for range 1000 {
		if c.get() >= n {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return c.get()
}
