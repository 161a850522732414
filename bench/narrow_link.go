package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"parley/simnet"
)

// narrowLink is the narrow link of W6: it carries IP packets between two network devices, so TCP meets it as it meets a real
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
	queue  chan narrowPacket
}

// narrowPacket is one under way.
type narrowPacket struct {
	at    time.Time
	bytes []byte
}

// narrowSet is how the way down is from now on. The way up has the delay and the loss only.
type narrowSet struct {
	Rate int     `json:"rate"` // bits a second; 0 is no limit
	Loss float64 `json:"loss"`
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
}

func (c narrowCounts) since(then narrowCounts) narrowCounts {
	return narrowCounts{
		c.Packets - then.Packets, c.Bytes - then.Bytes, c.Dropped - then.Dropped, c.Used - then.Used, c.Passed - then.Passed,
		c.Waits - then.Waits, c.WorstLate,
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
)

func (s narrowSet) profile() simnet.Profile {
	return simnet.Profile{Delay: narrowDelay, Rate: s.Rate, Loss: s.Loss, Queue: narrowQueue}
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
	return &narrowWay{shaper: simnet.NewShaper(seed, stream, narrowSet{}.profile()), queue: make(chan narrowPacket, maxUnderWay)}
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

// count returns what the way down did so far.
func (l *narrowLink) count() narrowCounts {
	l.down.mu.Lock()
	defer l.down.mu.Unlock()
	counts := l.down.counts
	l.down.counts.WorstLate = 0
	return counts
}

// carry moves packets of one direction.
func (l *narrowLink) carry(w *narrowWay, from, to *os.File) {
	defer close(w.queue)
	go w.deliver(to)
	for {
		b := make([]byte, narrowMTU)
		n, err := from.Read(b)
		if err != nil {
			return // the device is gone, and the run over
		}
		now := time.Since(l.began)
		if at, ok := w.enter(now, n); ok {
			w.queue <- narrowPacket{l.began.Add(at), b[:n]}
		}
	}
}

// enter says when a packet arrives, and false if it does not. One without a jitter never overtakes another.
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
	for p := range w.queue {
		time.Sleep(time.Until(p.at))
		late := time.Since(p.at)
		w.mu.Lock()
		w.counts.WorstLate = max(w.counts.WorstLate, late)
		w.mu.Unlock()
		_, _ = to.Write(p.bytes) // a device that takes none is one whose run is over
	}
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
