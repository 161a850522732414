package blackbox

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"
)

// stampClient watches over stamp.
type stampClient struct {
	*datagrams
	zero     uint64
	at       time.Time
	accepted bool
	gone     bool
	bye      string
	packets  int
	records  map[uint16][]byte // kind and fields
	seen     map[uint16]bool
}

func newStamp(addrs map[string]string) (*stampClient, error) {
	d, err := dialUDP(addrs["stamp"])
	if err != nil {
		return nil, err
	}
	return &stampClient{datagrams: d, records: map[uint16][]byte{}, seen: map[uint16]bool{}}, nil
}

func (c *stampClient) close()     { c.conn.Close() }
func (c *stampClient) told() bool { return c.gone }

func (c *stampClient) now() uint64 { return c.zero + uint64(time.Since(c.at).Microseconds()) }

func (c *stampClient) join(string) error {
	init := little(nil, uint8(0), uint8(0), uint16(0), uint64(0), uint8(0))
	if err := c.sure(0, init); err != nil {
		return err
	}
	return until(c, "the first entity packet", func() bool { return c.packets > 0 })
}

// ack is a header and nothing more: "the header's sequence is the acknowledged one".
func (c *stampClient) ack(sequence uint16) []byte {
	return little(nil, uint8(1), uint8(0), sequence, c.now())
}

func (c *stampClient) step() error {
	b, err := c.next()
	if err != nil {
		return err
	}
	r := &reader{b: b, order: binary.LittleEndian}
	kind, flags, sequence, sent := r.u8(), r.u8(), r.u16(), r.u64()
	switch kind {
	case 0:
		switch what := r.u8(); {
		case what == 1 && sequence == 1:
			if !c.accepted {
				c.accepted, c.zero, c.at = true, sent, time.Now()
				c.done(0)
				err = c.sure(1, c.ack(1)) // until the first entity packet
			}
		case what == 2:
			c.gone, c.bye = true, string(r.take(int(r.u8())))
			err = c.send(c.ack(sequence))
		default:
			return fmt.Errorf("a connect packet %d with the sequence %d", what, sequence)
		}
	case 1:
	case 2:
		c.done(1)
		c.packets++
		if flags&1 != 0 {
			err = c.send(c.ack(sequence))
		}
		if !c.seen[sequence] {
			c.seen[sequence] = true
			c.read(r)
		}
	default:
		return fmt.Errorf("a packet of type %d", kind)
	}
	if err == nil && (r.bad || len(r.b) > 0) {
		return fmt.Errorf("a packet that does not fit its layout: %x", b)
	}
	return err
}

// read reads records: entity u16, kind u8, size u8, fields; size 0 is gone.
func (c *stampClient) read(r *reader) {
	for len(r.b) > 0 {
		id, kind := r.u16(), r.u8()
		fields := r.take(int(r.u8()))
		if len(fields) == 0 {
			delete(c.records, id)
		} else {
			c.records[id] = append([]byte{kind}, fields...)
		}
	}
}

func TestStampByTheByte(t *testing.T) {
	s := serve(t)
	c := entered(t, s, newStamp, (*stampClient).join)
	entered(t, s, newReplica, (*replicaClient).join) // somebody to be seen
	await(t, c, "it sees the player", func() bool { return len(c.records) == 1 })
	for id, record := range c.records {
		// x and y f64, angle and norm f32, sprite u16, health u16, cooldown u16
		if id == 0 || record[0] != 1 || len(record) != 1+2*8+2*4+3*2 {
			t.Errorf("entity %d is %x", id, record)
		}
		if health := binary.LittleEndian.Uint16(record[1+26:]); health != 100 {
			t.Errorf("its health is %d", health)
		}
	}
	if s.stop(t, c); c.bye == "" {
		t.Error("it was told nothing")
	}
}
