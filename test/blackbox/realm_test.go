package blackbox

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"
)

// realmClient speaks realm over TLS.
type realmClient struct {
	conn     net.Conn
	in       *stream
	exit     int // the code, -1 before
	name     string
	register int
	login    int
	tick     uint16
	at       uint64 // Unix µs of the start of that tick
	config   []uint16
	chunks   int
	entities map[uint16]realmEntity
	players  map[uint16]string
	order    []string // of what came after the log-in
	said     []string
	throws   []realmThrow
	renamed  map[uint16]uint16
	freed    map[uint16]bool // what was destroyed: a temporary number is, if its action came to nothing
}

type realmEntity struct {
	bx, by int16
	x, y   uint8
	kind   uint16
	attrs  map[uint16]uint16
}

type realmThrow struct {
	by, tick, ball uint16
}

func newRealm(addrs map[string]string) (*realmClient, error) {
	conn, err := tls.Dial("tcp", addrs["realm"], &tls.Config{InsecureSkipVerify: true}) // the server's own certificate is known to no one
	if err != nil {
		return nil, err
	}
	conn.SetReadDeadline(time.Now().Add(2 * patience))
	return &realmClient{conn: conn, in: &stream{r: bufio.NewReader(conn)}, exit: -1, register: -1, login: -1,
		entities: map[uint16]realmEntity{}, players: map[uint16]string{}, renamed: map[uint16]uint16{}, freed: map[uint16]bool{}}, nil
}

func (c *realmClient) close()     { c.conn.Close() }
func (c *realmClient) told() bool { return c.exit >= 0 }

func (c *realmClient) send(values ...any) error {
	_, err := c.conn.Write(big(nil, values...))
	return err
}

// join registers and logs in, with the password "correct horse".
func (c *realmClient) join(name string) error { return c.enter(c, 9, name) }

// enter registers and logs in as a client of a version, which reads by steps of its own.
func (c *realmClient) enter(own client, version uint16, name string) error {
	const password = "correct horse"
	c.name = name
	if err := c.send(uint8(18), version); err != nil {
		return err
	}
	if err := until(own, "config", func() bool { return c.config != nil }); err != nil {
		return err
	}
	account := big(nil, uint16(len(name)), name, uint16(len(password)), password)
	if err := c.send(uint8(5), account); err != nil {
		return err
	}
	if err := until(own, "the answer to register", func() bool { return c.register >= 0 }); err != nil || c.register != 0 {
		return fmt.Errorf("register is answered by %d, %v", c.register, err)
	}
	if err := c.send(uint8(3), account); err != nil {
		return err
	}
	if err := until(own, "the answer to login", func() bool { return c.login >= 0 }); err != nil || c.login != 0 {
		return fmt.Errorf("login is answered by %d, %v", c.login, err)
	}
	return until(own, "it is announced itself", func() bool { return c.own() != 0 })
}

// own returns its own entity: the one whose player has its name.
func (c *realmClient) own() uint16 {
	for id, name := range c.players {
		if name == c.name {
			return id
		}
	}
	return 0
}

// now is the server's tick, by the clock and at 20 a second.
func (c *realmClient) now() uint16 {
	return c.tick + uint16((uint64(time.Now().UnixMicro())-c.at)/50_000)
}

func (c *realmClient) step() error {
	kind := c.in.u8()
	if errors.Is(c.in.err, io.EOF) {
		return fmt.Errorf("the stream ended without an exit")
	}
	var tick uint16
	switch kind {
	case 7, 8, 10, 12, 14, 15, 17, 21:
		tick = c.in.u16()
	}
	switch kind {
	case 0:
		if err := c.send(uint8(1)); err != nil {
			return err
		}
	case 1:
	case 2:
		c.exit = int(c.in.u8())
	case 4:
		if c.login = int(c.in.u8()); c.login == 0 {
			c.tick, c.at = c.in.u16(), c.in.u64()
		}
	case 6:
		c.register = int(c.in.u8())
	case 7:
		id, what := c.in.u16(), c.in.u8()
		c.note("meta_action")
		if what == 0 {
			c.players[id] = string(c.in.take(int(c.in.u16())))
		} else {
			delete(c.players, id)
		}
	case 8:
		c.chunk()
	case 10:
		for range int(c.in.u16()) {
			if err := c.block(); err != nil {
				return err
			}
		}
	case 12:
		for range int(c.in.u16()) {
			by, action := c.in.u16(), c.in.u16()
			if action != 0 {
				return fmt.Errorf("the action %d", action)
			}
			c.in.take(4)
			c.throws = append(c.throws, realmThrow{by, tick, c.in.u16()})
		}
	case 14:
		c.note("entity_create")
		return c.block()
	case 15:
		id := c.in.u16()
		delete(c.entities, id)
		c.freed[id] = true
	case 17:
		id := c.in.u16()
		c.said = append(c.said, fmt.Sprintf("%d: %s", id, c.in.take(int(c.in.u16()))))
	case 19:
		c.config = []uint16{c.in.u16(), c.in.u16()}
	case 20:
		temporary, real := c.in.u16(), c.in.u16()
		c.renamed[temporary] = real
	case 21:
		c.note("chunks_update")
		for range int(c.in.u16()) {
			c.chunk()
		}
	default:
		return fmt.Errorf("a message of type %d, %v", kind, c.in.err)
	}
	return c.in.err
}

// note remembers the order of what comes after the log-in.
func (c *realmClient) note(what string) {
	if n := len(c.order); n < 16 && (n == 0 || c.order[n-1] != what) {
		c.order = append(c.order, what)
	}
}

func (c *realmClient) chunk() {
	head := c.in.take(7)
	c.in.take(3 * int(binary.BigEndian.Uint16(head[5:])))
	c.chunks++
}

// block reads an entity. All attributes of the arena have two bytes.
func (c *realmClient) block() error {
	id, has := c.in.u16(), c.in.u8()
	if id == 0 || id >= 64536 || has&0x18 != 0 {
		return fmt.Errorf("a block of %d with the bits %x", id, has)
	}
	e := c.entities[id]
	if e.attrs == nil {
		e.attrs = map[uint16]uint16{}
	}
	if has&0x80 != 0 {
		e.bx, e.by, e.x, e.y = int16(c.in.u16()), int16(c.in.u16()), c.in.u8(), c.in.u8()
	}
	if has&0x40 != 0 {
		c.in.take(4)
	}
	if has&0x20 != 0 {
		c.in.take(4)
	}
	if has&0x04 != 0 {
		e.kind = c.in.u16()
	}
	if has&0x02 != 0 {
		c.in.u16()
	}
	if has&0x01 != 0 {
		for range int(c.in.u16()) {
			attr := c.in.u16()
			if attr > 2 && attr != 30000 {
				return fmt.Errorf("the attribute %d", attr)
			}
			e.attrs[attr] = c.in.u16()
		}
	}
	c.entities[id] = e
	return nil
}

func TestRealmByTheByte(t *testing.T) {
	s := serve(t)
	c := entered(t, s, newRealm, (*realmClient).join)
	// "ok is followed, in this order, by: the chunk …, entity_create …, meta_action …"
	if len(c.order) < 3 || c.order[0] != "chunks_update" || c.order[1] != "entity_create" || c.order[2] != "meta_action" {
		t.Errorf("after the log-in come %v", c.order)
	}
	if c.config[0] != 20 || s.addrs["realm-time"] != fmt.Sprintf("127.0.0.1:%d", c.config[1]) {
		t.Errorf("config is %v, and the time server at %s", c.config, s.addrs["realm-time"])
	}
	own := c.own()
	start := c.entities[own]
	if start.kind != 1 || start.attrs[1] != 100 {
		t.Errorf("its own entity is %+v", start)
	}
	// entity_update: speed angle and norm. What is late by more than the server's history is refused, and said again.
	at := func(e realmEntity) int { return int(e.bx)*256 + int(e.x) }
	var steered time.Time
	err := until(c, "it walks", func() bool {
		if time.Since(steered) > time.Second {
			steered = time.Now()
			c.send(uint8(11), c.now(), own, uint8(0x60), float32(0.5), float32(1))
		}
		return at(c.entities[own]) != at(start)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.send(uint8(16), uint16(5), "hello"); err != nil {
		t.Fatal(err)
	}
	await(t, c, "it reads what it said", func() bool { return len(c.said) == 1 })
	if want := fmt.Sprintf("%d: hello", own); c.said[0] != want {
		t.Errorf("the line is %q, want %q", c.said[0], want)
	}
	// One that is late comes to nothing, or is done at the server's tick: then it throws again, as a player would.
	for temporary := uint16(64536); ; temporary++ {
		done := c.now()
		if err := c.send(uint8(13), done, uint16(0), float32(1), temporary); err != nil {
			t.Fatal(err)
		}
		thrown := len(c.throws)
		await(t, c, "it sees its throw, and knows the ball", func() bool {
			return c.freed[temporary] || len(c.throws) > thrown && c.renamed[temporary] != 0
		})
		last := temporary == 64536+100
		if c.freed[temporary] {
			if last {
				t.Fatal("a hundred throws came to nothing")
			}
			continue
		}
		got := c.throws[thrown]
		if got.by != own || got.ball != c.renamed[temporary] {
			t.Errorf("the throw is %+v; it is %d itself, the ball %d", got, own, c.renamed[temporary])
		}
		if got.tick == done {
			break
		}
		if last {
			t.Fatalf("the throw is %+v, and was done at %d", got, done)
		}
	}
	before := c.chunks
	if err := c.send(uint8(9), uint8(1), int16(1), int16(-2)); err != nil {
		t.Fatal(err)
	}
	await(t, c, "it gets the chunk", func() bool { return c.chunks > before })
	askTime(t, s.addrs["realm-time"])
	if s.stop(t, c); c.exit != 1 {
		t.Errorf("it was told %d", c.exit)
	}
}

// askTime asks the time server in both of its ways.
func askTime(t *testing.T, addr string) {
	t.Helper()
	d, err := dialUDP(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer d.conn.Close()
	if err := d.sure(10, []byte("8 bytes.")); err != nil {
		t.Fatal(err)
	}
	b, err := d.next()
	if err != nil || len(b) != 16 || string(b[:8]) != "8 bytes." {
		t.Fatalf("eight bytes are answered by %x, %v", b, err)
	}
	d.done(10)
	if err := d.send(nil); err != nil {
		t.Fatal(err)
	}
	for i, last := 0, uint64(0); i < 10; i++ {
		b, err := d.next()
		for err == nil && len(b) == 16 { // eight bytes that were sent again, as their answer was late
			b, err = d.next()
		}
		if err != nil || len(b) != 8 {
			t.Fatalf("answer %d is %x, %v", i, b, err)
		}
		now := binary.BigEndian.Uint64(b)
		if now <= last {
			t.Errorf("the time goes from %d to %d", last, now)
		}
		last = now
	}
}

func TestRealmRefusesWhatIsNoVersion(t *testing.T) {
	s := serve(t)
	for _, tt := range []struct {
		name  string
		first []any
		want  int
	}{
		{"an older client", []any{uint8(18), uint16(8)}, 6},
		{"a newer client", []any{uint8(18), uint16(99)}, 7},
		{"a login first", []any{uint8(3), uint16(3), "ann", uint16(3), "ann"}, 2},
		{"no message at all", []any{uint8(200)}, 2},
	} {
		// A connection that is late to say its first word is cut off, and is made again.
		c := entered(t, s, newRealm, func(c *realmClient, _ string) error {
			if err := c.send(tt.first...); err != nil {
				return err
			}
			return goodbye(c)
		})
		if c.exit != tt.want {
			t.Errorf("%s is answered by exit %d; want %d", tt.name, c.exit, tt.want)
		}
	}
}
