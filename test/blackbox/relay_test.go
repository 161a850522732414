package blackbox

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
)

// relayClient is a participant of relay's room.
type relayClient struct {
	*datagrams
	reliable uint32 // the next id
	proven   bool
	gone     bool
	you      uint16
	records  map[uint16][]byte
	said     []string
	done1    [][]byte // actions that were done
	seen     map[uint32]bool
	session  entry // what it was told on entering
	fate     uint32
}

// The bits of flags.
const (
	relayConfirms  = 0x80
	relayUnordered = 0x20
	relaySemi      = 0x40
	relayServer    = 0x10
)

func newRelay(addrs map[string]string) (*relayClient, error) {
	d, err := dialUDP(addrs["relay"])
	if err != nil {
		return nil, err
	}
	return &relayClient{datagrams: d, records: map[uint16][]byte{}, seen: map[uint32]bool{}}, nil
}

func (c *relayClient) close()     { c.conn.Close() }
func (c *relayClient) told() bool { return c.gone }

// join sends a first package: "an address joins with its first valid package".
func (c *relayClient) join(string) error {
	if err := c.tell(relaySemi, big(nil, uint8(0), float32(0), float32(0))); err != nil {
		return err
	}
	return until(c, "it is told which entity is its own, and is proven", func() bool {
		return c.proven && c.you != 0 && c.records[c.you] != nil
	})
}

// tell sends a reliable package to the server.
func (c *relayClient) tell(mode uint8, payload []byte) error {
	id := c.reliable
	c.reliable++
	return c.sure(id, big(nil, uint32(mode|relayServer)<<24|id, payload))
}

func (c *relayClient) step() error {
	b, err := c.next()
	if err != nil {
		return err
	}
	if len(b) < 4 {
		return fmt.Errorf("a short datagram: %x", b)
	}
	head := binary.BigEndian.Uint32(b)
	flags, id, b := uint8(head>>24), head&0xffffff, b[4:]
	if flags == relayConfirms {
		if id != 0 || len(b) == 0 || len(b)%3 != 0 {
			return fmt.Errorf("a bad confirmation of %d bytes", len(b))
		}
		for ; len(b) > 0; b = b[3:] {
			c.done(uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]))
		}
		return nil
	}
	if flags&(relayUnordered|relaySemi) == 0 {
		if len(b) == 0 {
			c.gone = true // "a removed one is told by an empty unreliable package with bit 4 set"
			return nil
		}
		return c.read(b)
	}
	if err := c.send(big(nil, uint32(relayConfirms)<<24, uint8(id>>16), uint16(id))); err != nil {
		return err
	}
	if c.seen[id] || flags&relayServer == 0 || len(b) == 0 {
		return nil
	}
	c.seen[id] = true
	return c.read(b)
}

// read reads what the server says of the world: the first byte says what.
func (c *relayClient) read(b []byte) error {
	r := &reader{b: b, order: binary.BigEndian}
	switch what := r.u8(); what {
	case 0, 8:
		if what == 8 { // tick u32, number u32, margin i8, then records
			r.u32()
			c.fate = r.u32()
			r.u8()
			if len(r.b) < 2 || binary.BigEndian.Uint16(r.b) != c.you {
				return fmt.Errorf("behind a fate: %x, and its own entity is %d", r.b, c.you)
			}
		}
		for len(r.b) > 0 {
			entity, kind := r.u16(), r.u8()
			if fields := r.take(int(r.u8())); len(fields) == 0 {
				delete(c.records, entity)
			} else {
				c.records[entity] = append([]byte{kind}, fields...)
			}
		}
	case 1:
		c.done1 = append(c.done1, append([]byte{}, r.take(len(r.b))...))
	case 2:
		name := string(r.take(int(r.u8())))
		c.said = append(c.said, name+": "+string(r.take(len(r.b))))
	case 3:
		c.you = r.u16()
	case 4:
		c.session.readSession(r)
	case 7:
		c.session.readWorld(r)
	case 255:
		// "One that sends the same payload to the server is proven."
		c.proven = true
		nonce := r.u64()
		if err := c.tell(relayUnordered, big(nil, uint8(255), nonce)); err != nil {
			return err
		}
	default:
		return fmt.Errorf("a payload of type %d", what)
	}
	if r.bad || len(r.b) > 0 {
		return fmt.Errorf("a payload that does not fit its layout: %x", b)
	}
	return nil
}

func (c *relayClient) x() float64 {
	if record := c.records[c.you]; record != nil {
		return math.Float64frombits(binary.BigEndian.Uint64(record[1:]))
	}
	return math.NaN()
}

func TestRelayByTheByte(t *testing.T) {
	s := serve(t)
	c := entered(t, s, newRelay, (*relayClient).join)
	start := c.x()
	if err := c.tell(relaySemi, big(nil, uint8(0), float32(0.5), float32(1))); err != nil {
		t.Fatal(err)
	}
	await(t, c, "it walks", func() bool { return math.Abs(c.x()-start) > 2 })
	if err := c.tell(relaySemi, big(nil, uint8(2), "hello")); err != nil {
		t.Fatal(err)
	}
	if err := c.tell(relaySemi, big(nil, uint8(1), uint16(0), float32(1), uint16(0))); err != nil {
		t.Fatal(err)
	}
	await(t, c, "it reads what it said and sees its throw", func() bool { return len(c.said) == 1 && len(c.done1) == 1 })
	if !strings.HasPrefix(c.said[0], "guest-") || !strings.HasSuffix(c.said[0], ": hello") {
		t.Errorf("the line is %q", c.said[0])
	}
	// entity u16, action u16, angle f32, entity u16
	if done := c.done1[0]; len(done) != 10 || binary.BigEndian.Uint16(done) != c.you || binary.BigEndian.Uint16(done[2:]) != 0 {
		t.Errorf("the throw is %x, and its own entity %d", done, c.you)
	}
	await(t, c, "it is told its session and its world", c.session.whole)
	// number u32, tick u32, shown u32 behind a steer and an act. Tick 0 is long ago, so they are done at once.
	if err := c.tell(relaySemi, big(nil, uint8(0), float32(0.5), float32(0), uint32(7), uint32(0), uint32(0))); err != nil {
		t.Fatal(err)
	}
	await(t, c, "it is told that the steer is done", func() bool { return c.fate == 7 })
	if err := c.tell(relaySemi, big(nil, uint8(1), uint16(0), float32(1), uint16(0), uint32(8), uint32(0), uint32(0))); err != nil {
		t.Fatal(err)
	}
	await(t, c, "it is told that the act is done or refused", func() bool { return c.fate == 8 })
	s.stop(t, c)
}
