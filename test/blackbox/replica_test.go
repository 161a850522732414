package blackbox

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// replicaClient speaks replica as the document has it, without what our own peers agree on.
type replicaClient struct {
	*datagrams
	sequence uint16
	zero     uint64    // the server's clock
	at       time.Time // when that was
	accepted bool
	proven   bool // a sync went through
	bye      string
	gone     bool
	kinds    map[uint16]replicaKind
	values   map[[2]uint16]map[uint16][]byte // by link and id, by variable
	messages map[string][]byte               // the last of each name
	seen     map[uint16]bool                 // sequences of reliable packets
}

type replicaKind struct {
	name      string
	variables map[string]uint16
}

func newReplica(addrs map[string]string) (*replicaClient, error) {
	d, err := dialUDP(addrs["replica"])
	if err != nil {
		return nil, err
	}
	c := &replicaClient{datagrams: d, kinds: map[uint16]replicaKind{}, values: map[[2]uint16]map[uint16][]byte{},
		messages: map[string][]byte{}, seen: map[uint16]bool{}}
	return c, nil
}

func (c *replicaClient) close()     { c.conn.Close() }
func (c *replicaClient) told() bool { return c.gone }

func (c *replicaClient) now() uint64 { return c.zero + uint64(time.Since(c.at).Microseconds()) }

func (c *replicaClient) number() uint16 {
	c.sequence++
	return c.sequence
}

// join shakes hands, asks for the table and accepts it.
func (c *replicaClient) join(string) error {
	if err := c.sure(0, []byte{0, 0, 0, 0, 0}); err != nil {
		return err
	}
	if err := until(c, "the handshake", func() bool { return c.proven }); err != nil {
		return err
	}
	if err := c.link(0); err != nil {
		return err
	}
	return until(c, "it is told which entity is its own", func() bool { return c.messages["parley.you"] != nil })
}

func (c *replicaClient) link(kind uint16) error {
	n := c.number()
	return c.sure(uint32(n), little(nil, uint8(4), uint8(3), n, kind))
}

// say sends an ordered message and waits for its confirmation: of a stranger one is under
// way at a time.
func (c *replicaClient) say(name string, data []byte) error {
	n := c.number()
	b := little(nil, uint8(6), uint8(3), n, c.now(), uint8(len(name)), name, uint16(len(data)), data)
	if err := c.sure(uint32(n), b); err != nil {
		return err
	}
	return until(c, name+" is acknowledged", func() bool { return c.pending[uint32(n)] == nil })
}

func (c *replicaClient) step() error {
	b, err := c.next()
	if err != nil {
		return err
	}
	r := &reader{b: b, order: binary.LittleEndian}
	switch kind := r.u8(); kind {
	case 0:
		err = c.connect(r)
	case 1:
		flags, sequence := r.u8(), r.u16()
		c.gone, c.bye = true, string(r.take(int(r.u8())))
		if flags&1 != 0 {
			err = c.ack(sequence)
		}
	case 2:
		err = c.sync(r)
	case 3:
		c.done(uint32(r.u16()))
	default:
		flags, sequence := r.u8(), r.u16()
		if flags&1 != 0 {
			err = c.ack(sequence)
		}
		if c.seen[sequence] {
			return err
		}
		c.seen[sequence] = true
		switch kind {
		case 4:
			err = c.table(r)
		case 5:
			c.replicate(r)
		case 6:
			r.u64()
			name := string(r.take(int(r.u8())))
			c.messages[name] = append([]byte{}, r.take(int(r.u16()))...)
		default:
			return fmt.Errorf("a packet of type %d", kind)
		}
	}
	if err == nil && (r.bad || len(r.b) > 0) {
		return fmt.Errorf("a packet that does not fit its layout: %x", b)
	}
	return err
}

func (c *replicaClient) ack(sequence uint16) error {
	return c.send(little(nil, uint8(3), sequence))
}

func (c *replicaClient) connect(r *reader) error {
	flags, sequence, what := r.u8(), r.u16(), r.u8()
	if what == 2 {
		return fmt.Errorf("rejected: %s", r.take(int(r.u8())))
	}
	received, sent := r.u64(), r.u64()
	interval := binary.LittleEndian.Uint32(r.take(4))
	if flags&1 == 0 || sequence != 1 || what != 1 || received > sent || interval == 0 {
		return fmt.Errorf("a bad accept: flags %d, sequence %d, interval %d", flags, sequence, interval)
	}
	if !c.accepted {
		c.accepted, c.zero, c.at = true, sent, time.Now()
		c.done(0)
		// Repeated until the first sync.init: under a number that no packet has.
		return c.sure(1<<16, little(nil, uint8(3), uint16(1)))
	}
	return nil
}

// sync answers sync.init with sync.ack, and takes the server's own.
func (c *replicaClient) sync(r *reader) error {
	sequence, what := r.u16(), r.u8()
	if what == 1 {
		r.u16()
		sent, received := r.u64(), r.u64()
		if sent < received {
			return fmt.Errorf("a sync.ack was sent at %d and received at %d", sent, received)
		}
		c.proven = true
		return nil
	}
	c.done(1 << 16)
	now := c.now()
	return c.send(little(nil, uint8(2), c.number(), uint8(1), sequence, now, now))
}

// table reads what is linked, and accepts it.
func (c *replicaClient) table(r *reader) error {
	if what := r.u16(); what != 1 {
		return fmt.Errorf("a link packet of type %d", what)
	}
	variables, entities := int(r.u8()), int(r.u8())
	for range variables {
		r.u16()
		r.u8()
		r.take(int(r.u8()))
	}
	for range entities {
		link := r.u16()
		k := replicaKind{name: string(r.take(int(r.u8()))), variables: map[string]uint16{}}
		for range int(r.u8()) {
			id := r.u8()
			r.u8() // its type
			k.variables[string(r.take(int(r.u8())))] = uint16(id)
		}
		c.kinds[link] = k
	}
	return c.link(2)
}

func (c *replicaClient) replicate(r *reader) {
	r.u64()
	entities, variables := int(r.u8()), int(r.u8())
	for range entities {
		link := r.u16()
		for range int(r.u8()) {
			variable := r.u16()
			for range int(r.u8()) {
				id := r.u8()
				data := append([]byte{}, r.take(int(r.u8()))...)
				key := [2]uint16{link, uint16(id)}
				if c.values[key] == nil {
					c.values[key] = map[uint16][]byte{}
				}
				c.values[key][variable] = data
			}
		}
	}
	for range variables {
		r.u16()
		r.take(int(r.u8()))
	}
}

// own returns a variable of the client's own entity, nil if it is not known.
func (c *replicaClient) own(name string) []byte {
	you := c.messages["parley.you"]
	if len(you) != 3 {
		return nil
	}
	link := binary.LittleEndian.Uint16(you)
	return c.values[[2]uint16{link, uint16(you[2])}][c.kinds[link].variables[name]]
}

// entered reports whether it was told its session and its world.
func (c *replicaClient) entered() bool {
	var e entry
	session, world := &reader{b: c.messages["parley.session"], order: binary.LittleEndian}, &reader{b: c.messages["parley.world"], order: binary.LittleEndian}
	e.readSession(session)
	e.readWorld(world)
	return !session.bad && !world.bad && len(session.b)+len(world.b) == 0 && e.whole()
}

// fate returns the newest number that is done: of tick u32, number u32, margin i8.
func (c *replicaClient) fate() uint32 {
	if b := c.messages["parley.tick"]; len(b) == 9 {
		return binary.LittleEndian.Uint32(b[4:])
	}
	return 0
}

func TestReplicaByTheByte(t *testing.T) {
	s := serve(t)
	c := entered(t, s, newReplica, (*replicaClient).join)
	x := func() float64 {
		if b := c.own("x"); len(b) == 8 {
			return math.Float64frombits(binary.LittleEndian.Uint64(b))
		}
		return math.NaN()
	}
	var start float64
	for _, step := range []func() error{
		func() error { return until(c, "it knows its own place", func() bool { return x() == x() }) },
		func() error {
			if len(c.own("entity")) != 2 {
				return fmt.Errorf("its own entity has the number %x", c.own("entity"))
			}
			start = x()
			return c.say("steer", little(nil, float32(0.5), float32(1)))
		},
		func() error { return until(c, "it walks", func() bool { return math.Abs(x()-start) > 2 }) },
		func() error { return c.say("chat", []byte("hello")) },
		func() error {
			return until(c, "it reads what it said", func() bool { return strings.HasSuffix(string(c.messages["chat"]), "hello") })
		},
		func() error { return c.say("throw", little(nil, float32(1), uint16(0))) },
		func() error {
			// entity link u16 and id u8, tick u32, angle f32, entity u16
			return until(c, "it sees its throw", func() bool { return len(c.messages["throw"]) == 2+1+4+4+2 })
		},
		func() error { return until(c, "it is told its session and its world", c.entered) },
		// number u32, tick u32, shown u32 behind a steer and an act. Tick 0 is long ago, so they are done at once.
		func() error {
			return c.say("steer", little(nil, float32(0.5), float32(0), uint32(7), uint32(0), uint32(0)))
		},
		func() error {
			return until(c, "it is told that the steer is done", func() bool { return c.fate() == 7 })
		},
		func() error {
			return c.say("throw", little(nil, float32(1), uint16(0), uint32(8), uint32(0), uint32(0)))
		},
		func() error {
			return until(c, "it is told that the act is done or refused", func() bool { return c.fate() == 8 })
		},
		func() error { return c.say("terrain", little(nil, int16(0), int16(0))) },
		func() error {
			return until(c, "it gets the chunk", func() bool { return c.messages["terrain"] != nil })
		},
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	if you := c.messages["parley.you"]; string(c.messages["throw"][:3]) != string(you) {
		t.Errorf("the throw is that of %x, and it is %x itself", c.messages["throw"][:3], you)
	}
	chunk := &reader{b: c.messages["terrain"], order: binary.LittleEndian}
	bx, by, _, count := chunk.u16(), chunk.u16(), chunk.u8(), int(chunk.u16())
	if bx != 0 || by != 0 || count == 0 || len(chunk.b) != 3*count {
		t.Errorf("the chunk (%d, %d) has %d cells in %d bytes", bx, by, count, len(chunk.b))
	}
	if name := c.messages["chat"]; int(name[0]) != len(name)-1-len("hello") {
		t.Errorf("the line is %q", name)
	}
	if s.stop(t, c); c.bye == "" {
		t.Error("it was told nothing")
	}
}
