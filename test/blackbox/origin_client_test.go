package blackbox

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// originClient is a client of the game: what it asks for, what it takes for granted, and what makes it give up.
//
//   - Whatever it cannot decode ends its whole session, and so do NotJoined, an error of a join or an open, a Left that it did not ask
//     for, a target that is lost, and a player's number above 3.
//   - While it plays it pings once a second, unreliably, and once in ten seconds, reliably. Ten reliable pings without an answer are an
//     error.
//   - All that it asks for reliably is unordered.
type originClient struct {
	*originLibrary
	name       string
	main, game netip.AddrPort

	player  int // -1 before it has joined
	ready   int // the readiness of the game
	leaving bool
	left    bool
	gaveUp  string // why, if it has

	opened   bool
	peers    map[int]bool
	nextPing uint32
	looseAt  time.Time
	sureAt   time.Time
	asked    map[uint32]time.Time // reliable pings without an answer
	pongs    int

	spoken  int                                           // messages to the others
	heard   map[int][]int                                 // what came, by the sender
	arrived func(now time.Time, from, seq int, mode byte) // a message of another came
}

func newOriginClient(name string, seed uint64, main netip.AddrPort) *originClient {
	c := &originClient{originLibrary: newOriginLibrary(seed), name: name, main: main, player: -1,
		peers: map[int]bool{}, asked: map[uint32]time.Time{}, heard: map[int][]int{}}
	c.deliver = c.take
	c.failed = func(target netip.AddrPort) { c.giveUp("%v does not confirm", target) }
	return c
}

func (c *originClient) giveUp(format string, args ...any) {
	if c.gaveUp == "" && !c.left {
		c.gaveUp = fmt.Sprintf(format, args...)
	}
}

// again makes the client ready for another game, over the library that it has.
func (c *originClient) again() {
	c.player, c.ready, c.leaving, c.left, c.opened = -1, 0, false, false, false
	c.game, c.peers, c.asked, c.heard, c.spoken = netip.AddrPort{}, map[int]bool{}, map[uint32]time.Time{}, map[int][]int{}, 0
}

// openGame asks for a game in which so many can play.
func (c *originClient) openGame(now time.Time, players int) {
	c.send(now, c.main, originUnordered|originServer, []byte{1, byte(players - 1)})
}

// joinGame asks to play the game at a port.
func (c *originClient) joinGame(now time.Time, port uint16) {
	c.game = netip.AddrPortFrom(c.main.Addr(), port)
	c.send(now, c.game, originUnordered|originServer, []byte{1})
}

// step says how far the client is.
func (c *originClient) step(now time.Time, readiness int) {
	c.send(now, c.game, originUnordered|originServer, []byte{3, byte(readiness)})
}

// leave leaves the game.
func (c *originClient) leave(now time.Time) {
	c.leaving = true
	c.send(now, c.game, originUnordered|originServer, []byte{2})
}

// say tells the others something, numbered.
func (c *originClient) say(now time.Time, mode byte) (seq int) {
	text := strconv.Itoa(c.spoken)
	c.spoken++
	c.send(now, c.game, mode, append([]byte{0, byte(len(text))}, text...))
	return c.spoken - 1
}

// HandleTimeout pings, beside what the library does.
func (c *originClient) HandleTimeout(now time.Time) {
	c.originLibrary.HandleTimeout(now)
	if c.player < 0 || c.leaving || c.gaveUp != "" {
		return
	}
	if !now.Before(c.looseAt) {
		c.looseAt = c.looseAt.Add(time.Second)
		c.ping(now, originUnreliable)
	}
	if !now.Before(c.sureAt) {
		c.sureAt = c.sureAt.Add(10 * time.Second)
		c.asked[c.ping(now, originUnordered)] = now
		if len(c.asked) > 10 {
			c.giveUp("ten reliable pings have no answer")
		}
	}
}

func (c *originClient) ping(now time.Time, mode byte) uint32 {
	n := c.nextPing
	c.nextPing++
	c.send(now, c.game, mode|originServer, originNumber([]byte{0}, uint64(n)))
	return n
}

// NextTimeout is when there is something to do.
func (c *originClient) NextTimeout() (time.Time, bool) {
	next, ok := c.originLibrary.NextTimeout()
	if c.player < 0 || c.leaving || c.gaveUp != "" {
		return next, ok
	}
	for _, at := range []time.Time{c.looseAt, c.sureAt} {
		if !ok || at.Before(next) {
			next, ok = at, true
		}
	}
	return next, ok
}

// take takes a package.
func (c *originClient) take(now time.Time, from netip.AddrPort, flags byte, payload []byte) {
	r := originReader{b: payload}
	for len(r.b) > 0 && !r.bad && c.gaveUp == "" {
		switch {
		case from == c.main:
			c.fromMain(now, &r)
		case flags&originServer != 0:
			c.fromGame(now, from, &r)
		default:
			c.fromPlayer(now, flags, &r)
		}
	}
	if r.bad {
		c.giveUp("invalid data: %x from port %d", payload, from.Port())
	}
}

func (c *originClient) fromMain(now time.Time, r *originReader) {
	switch r.number(2) {
	case 0:
		r.number(math.MaxUint32)
	case 1:
		port := uint16(r.number(math.MaxUint16))
		if r.bad || c.opened && c.game.Port() != port {
			c.giveUp("the port of the game changed")
			return
		}
		c.opened, c.game = true, netip.AddrPortFrom(c.main.Addr(), port)
		c.send(now, c.game, originUnordered|originServer, originNumber([]byte{0}, math.MaxUint32)) // opens a way through a NAT
	case 2:
		r.number(0)
		c.giveUp("the game cannot be opened")
	}
}

func (c *originClient) fromGame(now time.Time, from netip.AddrPort, r *originReader) {
	switch r.number(7) {
	case 0:
		delete(c.asked, uint32(r.number(math.MaxUint32)))
		c.pongs++
	case 1:
		if from == c.game {
			c.giveUp("not joined")
		}
	case 2:
		if p := r.number(3); !r.bad {
			c.player, c.looseAt, c.sureAt = int(p), now.Add(time.Second), now.Add(10*time.Second)
		}
	case 3:
		c.giveUp("error %d of a join", r.number(3))
	case 4:
		if c.left = c.leaving; !c.left && from == c.game {
			c.giveUp("it was kicked")
		}
	case 5:
		c.peers[int(r.number(3))] = true
	case 6:
		delete(c.peers, int(r.number(3)))
	case 7:
		c.ready = int(r.number(3))
	}
}

func (c *originClient) fromPlayer(now time.Time, flags byte, r *originReader) {
	from := int(r.number(3))
	entity := func() { r.number(3); r.number(math.MaxUint32) }
	switch kind := r.number(6); kind {
	case 0:
		text := string(r.bytes(int(r.number(140))))
		if text == "" || !utf8.ValidString(text) {
			r.bad = true
		}
		if seq, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && !r.bad {
			c.heard[from] = append(c.heard[from], seq)
			if c.arrived != nil {
				c.arrived(now, from, seq, flags)
			}
		}
	case 1:
		entity()
		r.number(3)
		r.number([]uint64{1, 0}[r.number(1)])
		r.bytes(7 * 4)
	case 2:
		entity()
	case 3:
		entity()
		if r.number(1) == 1 {
			r.bytes(8 * int(r.number(59)))
		}
	case 4:
		entity()
		r.bytes(7 * 4)
	case 5:
		entity()
		r.bytes(4)
	case 6:
		r.number(0)
		r.bytes(6 * 4)
	}
}

// originReader decodes as the game does.
type originReader struct {
	b   []byte
	bad bool
}

func (r *originReader) bytes(n int) []byte {
	if r.bad || n > len(r.b) {
		r.bad, r.b = true, nil
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *originReader) number(most uint64) (v uint64) {
	first := r.bytes(1)
	if r.bad {
		return 0
	}
	switch first[0] {
	case 251:
		if b := r.bytes(2); !r.bad {
			v = uint64(binary.BigEndian.Uint16(b))
		}
	case 252:
		if b := r.bytes(4); !r.bad {
			v = uint64(binary.BigEndian.Uint32(b))
		}
	case 253, 254, 255:
		r.bad = true
	default:
		v = uint64(first[0])
	}
	if v > most {
		r.bad = true
	}
	if r.bad {
		return 0
	}
	return v
}

func originNumber(b []byte, v uint64) []byte {
	switch {
	case v < 251:
		return append(b, byte(v))
	case v < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, 251), uint16(v))
	}
	return binary.BigEndian.AppendUint32(append(b, 252), uint32(v))
}
