package web

import (
	"flag"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/promise"
)

var seedFlag = flag.Uint64("seed", 0, "the seed of random tests; 0 is the clock's")

// pieces are what random bodies are made of.
var pieces = []string{
	`{`, `}`, `[`, `]`, `:`, `,`, `"`, `\`, `null`, `true`, `false`, `-1`, `0`, `1e999`, `18446744073709551616`, `-0.0`, `""`, `"a"`, `"\u0000"`, `"\ud800"`, "\"\xff\"", "\x00", "\ufeff", ` `, "\n",
	`"name":`, `"seed":`, `"mode":`, `"max_players":`, `"open":`, `"accounts":`, `"idle":`, `"reason":`, `"address":`, `"account":`, `"until":`, `"room":`, `"text":`, `"ttl":`, `"players":`, `"level":`,
	`"0.0.0.0/0"`, `"::ffff:1.2.3.4"`, `"fe80::1%eth0"`, `"9999-12-31T23:59:59Z"`, `"0000-01-01T00:00:00Z"`, `"NAME":`, `"\u006eame":"b"`, `{"a":{"a":{"a":`,
}

// T74: whatever the bytes of a body are, the API answers with a status of its document, in JSON, and what reaches the server is
// within its bounds.
func TestRandomBodies(t *testing.T) {
	n := promise.Keeps(t, "T74", "bodies", promise.Tier(2000, 100_000, 1_000_000))
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	f := newFake()
	h := Handler(operated(f))
	d := readDocument(t, h)
	var with []*call
	for i := range calls {
		if calls[i].example != nil {
			with = append(with, &calls[i])
		}
	}
	done, refused := 0, 0
	for i := 0; i < n && !t.Failed(); i++ {
		c := with[random.IntN(len(with))]
		q := c.right()
		q.body = mutated(random, q.body)
		f.last = nil
		w := q.send(h)
		d.judge(t, c, w)
		switch {
		case w.Code < 300:
			done++
			bounded(t, f.last)
		case w.Code == 400 || w.Code == 413:
			refused++
		default:
			t.Errorf("status %d", w.Code)
		}
		if t.Failed() {
			t.Logf("%s %s %q: %s", q.method, q.path, q.body, w.Body)
		}
	}
	if done < n/100 || refused < n/100 {
		t.Errorf("of %d bodies %d were taken and %d refused", n, done, refused)
	}
}

// mutated changes a body in some places.
func mutated(random *rand.Rand, body string) string {
	b := []byte(body)
	for range random.IntN(4) {
		at := random.IntN(len(b) + 1)
		switch random.IntN(5) {
		case 0:
			b = slices.Insert(b, at, []byte(pieces[random.IntN(len(pieces))])...)
		case 1:
			b = slices.Delete(b, at, min(len(b), at+random.IntN(8)))
		case 2:
			if at < len(b) {
				b[at] = byte(random.Uint32())
			}
		case 3: // a field more, or once again
			i := 25 + random.IntN(16)
			b = append([]byte("{"+pieces[i]+pieces[random.IntN(len(pieces))]+","), b[min(1, len(b)):]...)
		case 4:
			b = append(b[:at:at], []byte(strings.Repeat(string(b[at:]), 1+random.IntN(3)))...)
		}
	}
	return string(b)
}

// bounded holds what reached the server against what the API promises to it.
func bounded(t *testing.T, body any) {
	t.Helper()
	switch b := body.(type) {
	case NewRoom:
		if b.Name == "" || b.Idle < -1 || b.Idle > maxSeconds {
			t.Errorf("%+v", b)
		}
	case Ban:
		if (b.Address == "") == (b.Account == "") || len(b.Reason) > maxReason {
			t.Errorf("%+v", b)
		}
	case Banned:
		if (b.Address == "") == (b.Account == "") {
			t.Errorf("%+v", b)
		}
	case string: // the reason of a kick
		if len(b) > maxReason {
			t.Errorf("%q", b)
		}
	case Say:
		if b.Text == "" {
			t.Errorf("%+v", b)
		}
	case NewTicket:
		if b.TTL < 0 || b.TTL > maxSeconds {
			t.Errorf("%+v", b)
		}
	}
}
