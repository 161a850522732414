package blackbox

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"
	"time"

	"parley/internal/promise"
)

// windowClient behaves as the game's own client with a window does: it takes 50 ticks a second for granted and says each tick where it
// is, adopts whatever it is told of itself, stands still where the cell that it is told is not free, never asks for terrain, has 1,000
// temporary numbers, and crashes at a message of a tick before that of its log-in.
type windowClient struct {
	*realmClient
	land      map[[2]int16][]byte // chunks: 65,536 cells each
	x, y      float64
	corrected int // times that it was told where it is
	freed     int // temporary numbers of actions that came to nothing, and not those of realmClient
	temps     map[uint16]bool
	next      uint16
}

// now is the tick of the clock, at 50 a second.
func (c *windowClient) now() uint16 {
	return c.tick + uint16((uint64(time.Now().UnixMicro())-c.at)/20_000)
}

// solid reports whether a cell is a wall; what it does not know is none.
func (c *windowClient) solid(x, y int) bool {
	cells := c.land[[2]int16{int16(x >> 8), int16(y >> 8)}]
	return cells != nil && cells[(y&255)<<8|x&255] == 1
}

// stuck reports whether it would stand still at a place: the ends of its outline are in a wall.
func (c *windowClient) stuck(x, y float64) bool {
	cx, cy := int(math.Floor(x)), int(math.Floor(y))
	return c.solid(cx+10, cy) || c.solid(cx-10, cy) || c.solid(cx, cy+10) || c.solid(cx, cy-10)
}

// box reports whether anything around a place is a wall.
func (c *windowClient) box(x, y float64) bool {
	for dy := -11; dy <= 11; dy++ {
		for dx := -11; dx <= 11; dx++ {
			if c.solid(int(math.Floor(x))+dx, int(math.Floor(y))+dy) {
				return true
			}
		}
	}
	return false
}

// step reads one message.
func (c *windowClient) step() error {
	kind, err := c.in.r.Peek(1)
	if err != nil {
		return err
	}
	switch kind[0] {
	case 7, 8, 10, 12, 14, 15, 17, 21:
		head, err := c.in.r.Peek(5)
		if err != nil {
			return err
		}
		if tick := binary.BigEndian.Uint16(head[1:]); int16(tick-c.tick) < 0 {
			return fmt.Errorf("a message %d of tick %d after a log-in at %d", kind[0], tick, c.tick)
		}
		if id := binary.BigEndian.Uint16(head[3:]); kind[0] == 15 && id >= 64536 {
			c.freed++
			delete(c.temps, id)
		}
		if kind[0] == 8 || kind[0] == 21 {
			return c.terrain(kind[0])
		}
	case 19:
		c.in.take(5)
		c.config = []uint16{0}
		c.in.take(12)
		return c.in.err
	}
	own := c.own()
	was := c.entities[own]
	marked := was
	marked.kind, marked.bx = 99, -32768 // so that what is told shows
	if own != 0 {
		c.entities[own] = marked
	}
	if err := c.realmClient.step(); err != nil {
		return err
	}
	if e := c.entities[own]; own != 0 && e.bx != -32768 {
		c.corrected++
		c.x, c.y = float64(int(e.bx)<<8+int(e.x)), float64(int(e.by)<<8+int(e.y))
		if c.stuck(c.x, c.y) {
			return fmt.Errorf("it is told to be at (%v, %v), in a wall, and stands still for ever", c.x, c.y)
		}
	} else if own != 0 {
		c.entities[own] = was
	}
	for temporary := range c.renamed {
		delete(c.temps, temporary)
		delete(c.renamed, temporary)
	}
	return nil
}

// terrain reads chunks.
func (c *windowClient) terrain(kind uint8) error {
	c.in.take(3)
	count := 1
	if kind == 21 {
		count = int(c.in.u16())
	}
	for range count {
		bx, by, fill := int16(c.in.u16()), int16(c.in.u16()), c.in.u8()
		cells := make([]byte, 1<<16)
		for i := range cells {
			cells[i] = fill
		}
		for range int(c.in.u16()) {
			x, y := c.in.u8(), c.in.u8()
			cells[int(y)<<8|int(x)] = c.in.u8()
		}
		c.land[[2]int16{bx, by}] = cells
	}
	return c.in.err
}

// say sends where it is and where it goes.
func (c *windowClient) say(x, y float64, angle, norm float32) error {
	cx, cy := int(math.Floor(x)), int(math.Floor(y))
	return c.send(uint8(11), c.now(), c.own(), uint8(0xe0), int16(cx>>8), int16(cy>>8), uint8(cx), uint8(cy), angle, norm)
}

// throw throws a ball under one of its numbers.
func (c *windowClient) throw(angle float32) error {
	for c.temps[64536+c.next] {
		c.next = (c.next + 1) % 1000
	}
	id := 64536 + c.next
	c.next = (c.next + 1) % 1000
	c.temps[id] = true
	return c.send(uint8(13), c.now(), uint16(0), angle, id)
}

// reads reads what came until the next tick of its own.
func (c *windowClient) reads(until time.Time) error {
	for {
		c.conn.SetReadDeadline(until)
		if _, err := c.in.r.Peek(1); err != nil {
			if time.Now().Before(until) {
				return err
			}
			return nil
		}
		c.conn.SetReadDeadline(time.Now().Add(2 * patience))
		if err := c.step(); err != nil {
			return err
		}
	}
}

// The game's own client plays: a few seconds here, a minute in the gate.
func TestTheWindowClientPlays(t *testing.T) {
	t.Parallel() // it mostly waits
	s := serve(t, "--realm-profile", "miko")
	c := entered(t, s, func(addrs map[string]string) (*windowClient, error) {
		r, err := newRealm(addrs)
		return &windowClient{realmClient: r, land: map[[2]int16][]byte{}, temps: map[uint16]bool{}}, err
	}, (*windowClient).join)
	if err := until(c, "17 by 17 chunks that it never asked for", func() bool { return len(c.land) >= 17*17 }); err != nil {
		t.Fatalf("%d chunks: %v", len(c.land), err)
	}
	ticks := 200
	if promise.Full() {
		ticks = 3000
	}
	began, corrected, throws, angle := c.now(), c.corrected, 0, float32(0)
	next := time.Now()
	for n := range ticks {
		next = next.Add(20 * time.Millisecond)
		if err := c.reads(next); err != nil {
			t.Fatalf("tick %d: %v", n, err)
		}
		dx, dy := .8*math.Cos(float64(angle)), .8*math.Sin(float64(angle))
		norm := float32(.8)
		if c.box(c.x+dx, c.y+dy) { // it turns at a wall, and stands there for a tick
			angle, norm = float32(math.Mod(float64(angle)+math.Pi/2, 2*math.Pi)), 0
		} else {
			c.x, c.y = c.x+dx, c.y+dy
		}
		if err := c.say(c.x, c.y, angle, norm); err != nil {
			t.Fatal(err)
		}
		if n%30 == 0 || n%30 == 5 { // the second is too soon, and comes to nothing
			throws++
			if err := c.throw(angle); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.conn.SetReadDeadline(time.Now().Add(2 * patience))
	if err := until(c, "every temporary number is free again", func() bool { return len(c.temps) == 0 }); err != nil {
		t.Fatalf("%d of %d are not: %v", len(c.temps), throws, err)
	}
	// On a slow machine the second was not too soon, or all were late: then it throws two at once, of which one comes to nothing.
	for more := 0; (c.freed == 0 || c.freed == throws) && more < 100; more++ {
		for range 2 {
			throws++
			if err := c.throw(angle); err != nil {
				t.Fatal(err)
			}
		}
		await(t, c, "two temporary numbers are free again", func() bool { return len(c.temps) == 0 })
	}
	if c.freed == 0 || c.freed == throws {
		t.Errorf("of %d throws %d came to nothing", throws, c.freed)
	}
	// It is told where it is when something was refused, at most twice a second, and never where it said that it is.
	if got, most := c.corrected-corrected, int(c.now()-began)/25+3; got > most {
		t.Errorf("it was told %d times where it is, %d is the bound", got, most)
	}
	t.Logf("%d ticks, told %d times where it is, %d throws, of which %d came to nothing, %d chunks", ticks, c.corrected-corrected, throws, c.freed, len(c.land))
}

// join registers and logs in, as version 10.
func (c *windowClient) join(name string) error {
	err := c.enter(c, 10, name)
	e := c.entities[c.own()]
	c.x, c.y = float64(int(e.bx)<<8+int(e.x)), float64(int(e.by)<<8+int(e.y))
	return err
}

// Behind a proxy a player's address has no connection: with --realm-time-for-all it reads the clock all the same.
func TestTheWindowClientReadsTheClockBehindAProxy(t *testing.T) {
	s := serve(t, "--realm-profile", "miko", "--realm-plain", "--realm-time-for-all")
	d, err := dialUDP(s.addrs["realm-time"])
	if err != nil {
		t.Fatal(err)
	}
	defer d.conn.Close()
	if err := d.sure(10, []byte("8 bytes.")); err != nil {
		t.Fatal(err)
	}
	defer d.done(10)
	if b, err := d.next(); err != nil || len(b) != 16 || string(b[:8]) != "8 bytes." {
		t.Fatalf("eight bytes are answered by %x, %v", b, err)
	}
}
