package blackbox

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

// duplexClient has a main and a feed. step reads main; feed is read by feedStep.
type duplexClient struct {
	main     net.Conn
	in       *stream
	feed     *datagrams
	sequence uint64
	player   int16
	token    uint32
	syncs    int
	gone     bool
	elements map[int16][]byte // kind and fields
	said     []string
	done     [][]byte
	replies  map[uint8][]byte // by code: status and data
	updates  int
}

// playerBytes and ballBytes are the sizes of the arena's kinds: x and y f64, angle and norm
// f32, sprite u16, and two fields of two bytes.
const playerBytes, ballBytes = 30, 30

var magic = []byte{0xff, 0x1c, 0xec, 0x0f, 0xfe, 0xed, 0xef, 0xec}

func newDuplex(addrs map[string]string) (*duplexClient, error) {
	main, err := net.Dial("tcp", addrs["duplex"])
	if err != nil {
		return nil, err
	}
	main.SetReadDeadline(time.Now().Add(2 * patience))
	c := &duplexClient{main: main, in: &stream{r: bufio.NewReader(main)}, elements: map[int16][]byte{}, replies: map[uint8][]byte{}}
	if c.feed, err = dialUDP(addrs["duplex-feed"]); err != nil {
		main.Close()
		return nil, err
	}
	return c, nil
}

func (c *duplexClient) close() {
	c.main.Close()
	c.feed.conn.Close()
}

func (c *duplexClient) told() bool { return c.gone }

func (c *duplexClient) send(b ...byte) error {
	_, err := c.main.Write(b)
	return err
}

// join has both channels and a first sync.
func (c *duplexClient) join(string) error {
	if err := c.send(6); err != nil { // CONN_INIT
		return err
	}
	if code := c.in.u8(); code != 3 {
		return fmt.Errorf("CONN_INIT is answered by %d, %v", code, c.in.err)
	}
	c.player = int16(c.in.u16())
	c.token = binary.BigEndian.Uint32(c.in.take(4))
	if c.player <= 0 || c.token == 0 {
		return fmt.Errorf("the player is %d with the token %d", c.player, c.token)
	}
	if err := c.feedInit(); err != nil {
		return err
	}
	if err := c.send(8); err != nil { // CONN_OK
		return err
	}
	return until(c, "the first sync has its own entity", func() bool { return c.syncs > 0 && c.elements[c.player] != nil })
}

func (c *duplexClient) feedInit() error {
	if err := c.feed.sure(0, c.datagram(big(nil, uint8(4), c.player, c.token))); err != nil {
		return err
	}
	for {
		b, err := c.feed.next()
		if err != nil {
			return fmt.Errorf("no feed: %w", err)
		}
		if len(b) == 21 && string(b[:8]) == string(magic) && b[16] == 5 && binary.BigEndian.Uint32(b[17:]) == c.token {
			c.feed.done(0)
			return nil
		}
	}
}

func (c *duplexClient) datagram(message []byte) []byte {
	c.sequence++
	return big(nil, magic, c.sequence, message)
}

// steer sends UPDATE_MSG of its own SID.
func (c *duplexClient) steer(angle, norm float32) error {
	return c.feed.send(c.datagram(big(nil, uint8(1), c.player, angle, norm)))
}

// feedStep takes a datagram of the feed.
func (c *duplexClient) feedStep() error {
	b, err := c.feed.next()
	if err != nil {
		return err
	}
	r := &reader{b: b, order: binary.BigEndian}
	if string(r.take(8)) != string(magic) || r.u64() == 0 {
		return fmt.Errorf("a bad header: %x", b)
	}
	switch code := r.u8(); code {
	case 1:
		sid := int16(r.u16())
		c.updates++
		c.elements[sid] = append([]byte{}, r.take(len(r.b))...)
	case 5:
	default:
		return fmt.Errorf("the code %d on the feed", code)
	}
	return nil
}

func (c *duplexClient) step() error {
	code := c.in.u8()
	if err := c.in.err; errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		c.gone = true // duplex has no other goodbye
		return nil
	}
	switch {
	case code == 2:
		if err := c.sync(); err != nil {
			return err
		}
	case code == 10: // SYNC_START
	case code == 11: // SYNC_END
		c.syncs++
		if err := c.send(12); err != nil {
			return err
		}
	case code == 194:
		status := c.in.u8()
		data := []byte{status}
		if status == 0 {
			head := c.in.take(7)
			data = append(data, head...)
			data = append(data, c.in.take(3*int(binary.BigEndian.Uint16(head[5:])))...)
		}
		c.replies[code] = data
	case code >= 192:
		c.replies[code] = []byte{c.in.u8()}
	default:
		return fmt.Errorf("the code %d on main, %v", code, c.in.err)
	}
	return c.in.err
}

func (c *duplexClient) sync() error {
	switch sid := int16(c.in.u16()); {
	case sid == -1:
		name := string(c.in.take(int(c.in.u8())))
		c.said = append(c.said, name+": "+string(c.in.take(int(c.in.u16()))))
	case sid == -2: // entity i16, action u16, tick u16, angle f32, entity u16
		c.done = append(c.done, c.in.take(12))
	case sid <= 0:
		return fmt.Errorf("the SID %d", sid)
	default:
		sizes := map[uint8]int{0: 0, 1: playerBytes, 2: ballBytes}
		kind := c.in.u8()
		size, ok := sizes[kind]
		if !ok {
			return fmt.Errorf("the kind %d", kind)
		}
		if c.elements[sid] = append([]byte{kind}, c.in.take(size)...); kind == 0 {
			delete(c.elements, sid)
		}
	}
	return nil
}

func (c *duplexClient) x() float64 {
	if e := c.elements[c.player]; len(e) == 1+playerBytes {
		return math.Float64frombits(binary.BigEndian.Uint64(e[1:]))
	}
	return math.NaN()
}

func TestDuplexByTheByte(t *testing.T) {
	s := serve(t)
	c := entered(t, s, newDuplex, (*duplexClient).join)
	start := c.x()
	for begin, steered := time.Now(), (time.Time{}); !(math.Abs(c.x()-start) > 2); {
		if time.Since(steered) > time.Second { // the feed promises nothing
			if steered = time.Now(); c.steer(0.5, 1) != nil {
				t.Fatal("it cannot steer")
			}
		}
		if err := c.feedStep(); err != nil || time.Since(begin) > patience {
			t.Fatalf("it does not walk: %v, %d updates", err, c.updates)
		}
	}
	// UPDATE_MSG of −6: number u32, tick u32, shown u32, angle f32, norm f32. Tick 0 is long ago, so it is done at once. The answer is
	// UPDATE_MSG of −5: tick u32, number u32, margin i8, and its own entity.
	number := func() uint32 {
		if fate := c.elements[-5]; len(fate) == 9+1+playerBytes {
			return binary.BigEndian.Uint32(fate[4:])
		}
		return 0
	}
	for begin, steered := time.Now(), (time.Time{}); number() != 7; {
		if time.Since(steered) > time.Second {
			steered = time.Now()
			if err := c.feed.send(c.datagram(big(nil, uint8(1), int16(-6), uint32(7), uint32(0), uint32(0), float32(0.5), float32(0)))); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.feedStep(); err != nil || time.Since(begin) > patience {
			t.Fatalf("it is not told that its steer is done: %v, %x", err, c.elements[-5])
		}
	}
	// Queries: say, act, and ask for a chunk.
	text := "hello"
	if _, err := c.main.Write(big(nil, uint8(65), uint16(len(text)), text, uint8(64), uint16(0), float32(1), uint16(0), uint8(66), int16(-1), int16(1))); err != nil {
		t.Fatal(err)
	}
	err := until(c, "all is answered, and told", func() bool { return len(c.replies) == 3 && len(c.said) == 1 && len(c.done) == 1 })
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(c.said[0], "guest-") || !strings.HasSuffix(c.said[0], ": hello") {
		t.Errorf("the line is %q", c.said[0])
	}
	if by := int16(binary.BigEndian.Uint16(c.done[0])); by != c.player {
		t.Errorf("the throw is by %d, and it is %d itself", by, c.player)
	}
	if c.replies[193][0] != 0 || c.replies[192][0] != 0 {
		t.Errorf("the replies are %x and %x", c.replies[193], c.replies[192])
	}
	if chunk := c.replies[194]; len(chunk) < 8 || string(chunk[:5]) != "\x00\xff\xff\x00\x01" {
		t.Errorf("the chunk is %x", chunk)
	}
	// A text of two bytes more than it may have is refused, and nothing else happens.
	long := strings.Repeat("x", 513)
	clear(c.replies)
	if _, err := c.main.Write(big(nil, uint8(65), uint16(len(long)), long)); err != nil {
		t.Fatal(err)
	}
	if err := until(c, "the reply to a long line", func() bool { return c.replies[193] != nil }); err != nil || c.replies[193][0] == 0 {
		t.Errorf("a long line is answered by %x, %v", c.replies[193], err)
	}
	// Query 70: action u16, number u32, tick u32, shown u32, parameters. It is done, or denied as too soon.
	if _, err := c.main.Write(big(nil, uint8(70), uint16(0), uint32(8), uint32(0), uint32(0), float32(1), uint16(0))); err != nil {
		t.Fatal(err)
	}
	if err := until(c, "the reply to an act with a stamp", func() bool { return c.replies[198] != nil }); err != nil || c.replies[198][0] != 0 && c.replies[198][0] != 3 {
		t.Errorf("an act with a stamp is answered by %x, %v", c.replies[198], err)
	}
	// SYNC_REQ: everything once more.
	syncs := c.syncs
	if err := c.send(9); err != nil {
		t.Fatal(err)
	}
	await(t, c, "it is told everything again", func() bool { return c.syncs > syncs })
	s.stop(t, c)
}
