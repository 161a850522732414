package main

import (
	"cmp"
	"container/heap"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"parley/simnet"
)

// narrowLink is the link of W5 and W6: it carries IP packets between two network devices, so TCP meets it as it meets a real
// one. What becomes of a packet is decided by simnet's model, which `parley impair` uses too.
type narrowLink struct {
	began    time.Time
	up, down *narrowWay
}

// narrowWay is one direction.
type narrowWay struct {
	mu     sync.Mutex
	shaper *simnet.Shaper
	counts narrowCounts
	late   []time.Duration // how late each packet was that left since it was last asked
	under  underWay
	serial uint64
	ended  bool
	some   sync.Cond // on mu: something is under way, or it has ended
}

// narrowPacket is one under way.
type narrowPacket struct {
	at     time.Time
	serial uint64 // what is due at once goes in the order in which it came
	bytes  []byte
}

// underWay is a heap: with a jitter packets overtake each other.
type underWay []narrowPacket

func (u underWay) Len() int { return len(u) }
func (u underWay) Less(i, j int) bool {
	return cmp.Or(u[i].at.Compare(u[j].at), cmp.Compare(u[i].serial, u[j].serial)) < 0
}
func (u underWay) Swap(i, j int) { u[i], u[j] = u[j], u[i] }
func (u *underWay) Push(x any)   { *u = append(*u, x.(narrowPacket)) }
func (u *underWay) Pop() any {
	last := len(*u) - 1
	p := (*u)[last]
	*u = (*u)[:last]
	return p
}

// narrowSet is how the way down is from now on. The way up is the same without the rate.
type narrowSet struct {
	Rate   int           `json:"rate"` // bits a second; 0 is no limit
	Loss   float64       `json:"loss"`
	Delay  time.Duration `json:"delay"`  // 0 is narrowDelay
	Jitter time.Duration `json:"jitter"` // a packet is delayed by up to so much more
}

// narrowCounts is what the way down did so far, with all headers from IP's on.
type narrowCounts struct {
	Packets   int           `json:"packets"`
	Bytes     int64         `json:"bytes"`
	Dropped   int           `json:"dropped"` // of packets, by the full queue
	Used      int64         `json:"used"`    // bytes that were not
	Passed    int           `json:"passed"`  // packets that were neither dropped nor lost
	Waits     time.Duration `json:"waits"`   // the sum of their times in the queue
	WorstLate time.Duration `json:"late"`    // how late the link itself was at most since it was last asked
	LateP99   time.Duration `json:"late_p99"`
	Up        int64         `json:"up"` // bytes of the way up
}

func (c narrowCounts) since(then narrowCounts) narrowCounts {
	return narrowCounts{
		c.Packets - then.Packets, c.Bytes - then.Bytes, c.Dropped - then.Dropped, c.Used - then.Used, c.Passed - then.Passed,
		c.Waits - then.Waits, c.WorstLate, c.LateP99, c.Up - then.Up,
	}
}

const (
	narrowDelay = 20 * time.Millisecond
	narrowQueue = 200 * time.Millisecond
	narrowMTU   = 1500

	// simnetHeader is what simnet adds to a payload. Here the headers are part of the packet.
	simnetHeader = 28

	// maxUnderWay bounds the packets of one direction. The delay of a link without a limit holds fewer.
	maxUnderWay = 1 << 14

	// linkNap is the longest that the link sleeps while packets are under way: a sooner one may come meanwhile.
	linkNap = 200 * time.Microsecond
)

func (s narrowSet) profile() simnet.Profile {
	return simnet.Profile{Delay: cmp.Or(s.Delay, narrowDelay), Jitter: s.Jitter, Rate: s.Rate, Loss: s.Loss, Queue: narrowQueue}
}

// newNarrowLink carries packets between the devices of a server and a player, until these are closed.
func newNarrowLink(server, player *os.File, seed uint64, set narrowSet) *narrowLink {
	l := &narrowLink{began: time.Now(), up: newNarrowWay(seed, 0), down: newNarrowWay(seed, 1)}
	l.set(set)
	go l.carry(l.down, server, player)
	go l.carry(l.up, player, server)
	return l
}

func newNarrowWay(seed, stream uint64) *narrowWay {
	w := &narrowWay{shaper: simnet.NewShaper(seed, stream, narrowSet{}.profile())}
	w.some.L = &w.mu
	return w
}

// set changes the link.
func (l *narrowLink) set(s narrowSet) {
	l.down.change(s)
	s.Rate = 0
	l.up.change(s)
}

func (w *narrowWay) change(s narrowSet) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shaper.SetProfile(s.profile())
}

// count returns what the way down did so far, and how late both ways were.
func (l *narrowLink) count() narrowCounts {
	counts, late := l.down.count()
	up, lateUp := l.up.count()
	late = append(late, lateUp...)
	slices.Sort(late)
	counts.WorstLate, counts.LateP99, counts.Up = quantile(late, 1), quantile(late, .99), up.Bytes
	return counts
}

func (w *narrowWay) count() (counts narrowCounts, late []time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	late, w.late = w.late, nil
	return w.counts, late
}

// carry moves packets of one direction.
func (l *narrowLink) carry(w *narrowWay, from, to *os.File) {
	defer w.end()
	go w.deliver(to)
	for {
		b := make([]byte, narrowMTU)
		n, err := from.Read(b)
		if err != nil {
			return // the device is gone, and the run over
		}
		now := time.Since(l.began)
		if at, ok := w.enter(now, n); ok {
			w.put(l.began.Add(at), b[:n])
		}
	}
}

func (w *narrowWay) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	w.some.Signal()
}

func (w *narrowWay) put(at time.Time, b []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.under) == maxUnderWay {
		return
	}
	w.serial++
	heap.Push(&w.under, narrowPacket{at, w.serial, b})
	if len(w.under) == 1 {
		w.some.Signal()
	}
}

// enter says when a packet arrives, and false if it does not.
func (w *narrowWay) enter(now time.Duration, n int) (at time.Duration, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := &w.counts
	c.Packets++
	c.Bytes += int64(n)
	full := w.shaper.Stats().QueueFull
	var room [1]simnet.Arrival
	arrivals := w.shaper.Pass(now, max(0, n-simnetHeader), room[:0])
	if w.shaper.Stats().QueueFull > full {
		c.Dropped++
		return 0, false
	}
	c.Used += int64(n)
	if len(arrivals) == 0 {
		return 0, false
	}
	at = arrivals[0].At
	c.Passed++
	c.Waits += max(0, at-now-narrowDelay-timeOf(n, w.shaper.Profile().Rate))
	return at, true
}

// timeOf is how long a link of a rate takes for so many bytes.
func timeOf(bytes, rate int) time.Duration {
	if rate == 0 {
		return 0
	}
	return time.Duration(float64(bytes) * 8 / float64(rate) * float64(time.Second))
}

// deliver writes packets when they are due.
func (w *narrowWay) deliver(to *os.File) {
	for {
		p, wait, ok := w.next()
		switch {
		case !ok:
			return
		case wait > 0:
			// The timers of the runtime may be late by a millisecond.
			t := unix.NsecToTimespec(int64(min(wait, linkNap)))
			_ = unix.Nanosleep(&t, nil)
		default:
			_, _ = to.Write(p.bytes) // a device that takes none is one whose run is over
		}
	}
}

// next returns what is due, or how long it is until something is. It waits until something is under way, and reports false when
// the link has ended.
func (w *narrowWay) next() (p narrowPacket, wait time.Duration, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.under) == 0 && !w.ended {
		w.some.Wait()
	}
	if w.ended {
		return p, 0, false
	}
	if wait := time.Until(w.under[0].at); wait > 0 {
		return p, wait, true
	}
	p = heap.Pop(&w.under).(narrowPacket)
	w.late = append(w.late, time.Since(p.at))
	return p, 0, true
}

// narrowLinkWith says which link a child is to be.
type narrowLinkWith struct {
	narrowSet
	Seed uint64 `json:"seed"`
}

// narrowLinkRole is a link between the devices that the child was given.
func narrowLinkRole() map[string]deed {
	var link *narrowLink
	return map[string]deed{
		"open": func(with json.RawMessage) (any, error) {
			w, err := decode[narrowLinkWith](with)
			if err != nil {
				return nil, err
			}
			if link != nil {
				return nil, fmt.Errorf("the link is open")
			}
			link = newNarrowLink(os.NewFile(firstFile, "server"), os.NewFile(firstFile+1, "player"), w.Seed, w.narrowSet)
			return nil, nil
		},
		"set": func(with json.RawMessage) (any, error) {
			s, err := decode[narrowSet](with)
			if err == nil {
				link.set(s)
			}
			return nil, err
		},
		"count": func(json.RawMessage) (any, error) { return link.count(), nil },
	}
}
