package blackbox

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"syscall"
	"testing"
	"time"
)

// reader takes numbers from the front of bytes. A read past the end makes it bad for good.
type reader struct {
	b     []byte
	order binary.ByteOrder
	bad   bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.bad, r.b = true, nil
		return make([]byte, n)
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) u8() uint8   { return r.take(1)[0] }
func (r *reader) u16() uint16 { return r.order.Uint16(r.take(2)) }
func (r *reader) u32() uint32 { return r.order.Uint32(r.take(4)) }
func (r *reader) u64() uint64 { return r.order.Uint64(r.take(8)) }

// little and big write numbers behind one another.
func little(b []byte, values ...any) []byte { return put(b, binary.LittleEndian, values) }
func big(b []byte, values ...any) []byte    { return put(b, binary.BigEndian, values) }

func put(b []byte, o binary.AppendByteOrder, values []any) []byte {
	for _, v := range values {
		switch v := v.(type) {
		case uint8:
			b = append(b, v)
		case uint16:
			b = o.AppendUint16(b, v)
		case int16:
			b = o.AppendUint16(b, uint16(v))
		case uint32:
			b = o.AppendUint32(b, v)
		case uint64:
			b = o.AppendUint64(b, v)
		case float32:
			b = o.AppendUint32(b, math.Float32bits(v))
		case string:
			b = append(b, v...)
		case []byte:
			b = append(b, v...)
		default:
			panic(fmt.Sprintf("no layout for %T", v))
		}
	}
	return b
}

// stream reads numbers from a TCP connection, big endian. After an error all are 0.
type stream struct {
	r   *bufio.Reader
	err error
}

func (s *stream) take(n int) []byte {
	b := make([]byte, n)
	if s.err == nil {
		_, s.err = io.ReadFull(s.r, b)
	}
	return b
}

func (s *stream) u8() uint8   { return s.take(1)[0] }
func (s *stream) u16() uint16 { return binary.BigEndian.Uint16(s.take(2)) }
func (s *stream) u64() uint64 { return binary.BigEndian.Uint64(s.take(8)) }

// datagrams is a UDP socket and what is to be sent again until it is confirmed.
type datagrams struct {
	conn    net.Conn
	pending map[uint32][]byte
	buf     []byte
}

// resendEvery is how long a client waits before it sends again what was not confirmed: a
// loopback loses packets too, if a buffer is full.
const resendEvery = 300 * time.Millisecond

func dialUDP(addr string) (*datagrams, error) {
	c, err := net.Dial("udp", addr)
	if err != nil {
		return nil, err
	}
	return &datagrams{conn: c, pending: map[uint32][]byte{}, buf: make([]byte, 65536)}, nil
}

// send sends once.
func (d *datagrams) send(b []byte) error {
	_, err := d.conn.Write(b)
	return err
}

// sure sends until it is confirmed, by done(number).
func (d *datagrams) sure(number uint32, b []byte) error {
	d.pending[number] = b
	return d.send(b)
}

func (d *datagrams) done(number uint32) { delete(d.pending, number) }

// next returns the next datagram, and sends again what is not confirmed while there is none.
func (d *datagrams) next() ([]byte, error) {
	for begin := time.Now(); time.Since(begin) < patience; {
		d.conn.SetReadDeadline(time.Now().Add(resendEvery))
		n, err := d.conn.Read(d.buf)
		if errors.Is(err, syscall.ECONNREFUSED) {
			// The system tells of a port that is closed before what came from it: a goodbye may still be there to be read.
			n, err = d.conn.Read(d.buf)
		}
		if err == nil {
			return d.buf[:n], nil
		}
		if timeout := net.Error(nil); !errors.As(err, &timeout) || !timeout.Timeout() {
			return nil, err
		}
		for _, b := range d.pending {
			if err := d.send(b); err != nil {
				return nil, err
			}
		}
	}
	return nil, errors.New("nothing came")
}

// client is a raw client of some dialect.
type client interface {
	// join enters the game. Of the dialects only realm has names.
	join(name string) error

	// step takes one packet or message of the server, and answers it as the protocol wants.
	step() error

	// told reports whether the server has said goodbye.
	told() bool

	close()
}

// until steps until something holds.
func until(c client, what string, cond func() bool) error {
	for begin := time.Now(); !cond(); {
		if time.Since(begin) > patience {
			return fmt.Errorf("%s: it did not happen", what)
		}
		if err := c.step(); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

// await steps until something holds, or fails the test.
func await(t testing.TB, c client, what string, cond func() bool) {
	t.Helper()
	if err := until(c, what, cond); err != nil {
		t.Fatal(err)
	}
}

// goodbye waits until the server has said goodbye.
func goodbye(c client) error { return until(c, "the server says goodbye", c.told) }
