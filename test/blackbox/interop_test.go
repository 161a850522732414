package blackbox

import (
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"parley/internal/pagetest"
	"parley/internal/patient"
	"parley/internal/promise"
	"parley/play/bots"
)

// rough is a path that loses a tenth of all datagrams of a raw client, or swaps them with the next, each way.
type rough struct {
	net.Conn
	mu     sync.Mutex
	rng    *rand.Rand
	loss   float64
	swap   float64
	behind []byte // what was held back and goes after the next
}

func (c *rough) chance(share float64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rng.Float64() < share
}

func (c *rough) Write(b []byte) (int, error) {
	switch {
	case c.chance(c.loss):
		return len(b), nil
	case c.behind == nil && c.chance(c.swap):
		c.behind = append([]byte(nil), b...)
		return len(b), nil
	}
	n, err := c.Conn.Write(b)
	if held := c.behind; held != nil && err == nil {
		c.behind = nil
		_, err = c.Conn.Write(held)
	}
	return n, err
}

func (c *rough) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if err != nil || !c.chance(c.loss) {
			return n, err
		}
	}
}

// roughen gives the datagrams of a raw client a bad path. What goes over TCP is the system's to mend.
func roughen(c client, loss, swap float64) {
	path := func(d *datagrams, seed uint64) {
		d.conn = &rough{Conn: d.conn, rng: rand.New(rand.NewPCG(seed, 64)), loss: loss, swap: swap}
	}
	switch c := c.(type) {
	case *replicaClient:
		path(c.datagrams, 1)
	case *stampClient:
		path(c.datagrams, 2)
	case *relayClient:
		path(c.datagrams, 3)
	case *duplexClient:
		path(c.feed, 4)
	}
}

// stay steps a client for so long: what the server says keeps being understood.
func stay(c client, long time.Duration) error {
	over := time.Now().Add(long)
	return until(c, "it stays", func() bool { return !time.Now().Before(over) })
}

// T64: raw clients of each dialect, which know the pages only, against the program: what they did is the table of
// docs/interop.md.
func TestInterop(t *testing.T) {
	t.Parallel() // it mostly waits
	long := time.Second
	if promise.Full() {
		long = 30 * time.Second
	}
	t.Log("seeds 1 to 4 of each path")
	s := serve(t)
	columns := []string{"handshake and transfer", "loss of 10%", "reordering", "reconnect", "long run"}
	rows := pagetest.Tables(t, filepath.Join(pagetest.Root(t), "docs/interop.md"))["What was shown"]
	if len(rows) != 5 {
		t.Fatalf("docs/interop.md has %d rows", len(rows))
	}
	var wg sync.WaitGroup
	for d, dialect := range bots.Dialects {
		row := rows[d]
		if row["dialect"] != dialect {
			t.Errorf("row %d of the page is %s, and not %s", d, row["dialect"], dialect)
		}
		wg.Go(func() {
			done := 0
			for i, what := range columns {
				cell := row[what]
				if cell == "by TCP" && dialect != "realm" || cell != "by TCP" && cell != "yes" {
					t.Errorf("%s, %s: the page says %q", dialect, what, cell)
				}
				if cell == "by TCP" {
					done++
					continue
				}
				if err := interop(s, d, i, long); err != nil {
					t.Errorf("%s, %s: %v", dialect, what, err)
					return
				}
				done++
			}
			if done == len(columns) {
				promise.Kept(t, "T64", dialect, done)
			}
		})
	}
	patient.Done(wg.Wait)
}

// interop is one cell of the table.
func interop(s *server, dialect, column int, long time.Duration) error {
	for life := range 2 {
		c, err := five(s, 10*column+life+1)[dialect].come(func(c client) { // a number that no other cell has
			switch column {
			case 1:
				roughen(c, .1, 0)
			case 2:
				roughen(c, 0, .2)
			}
		})
		if err != nil {
			return fmt.Errorf("life %d: %w", life, err)
		}
		if column == 4 {
			err = stay(c, long)
		}
		c.close()
		if err != nil || column != 3 { // a reconnect has a second life
			return err
		}
	}
	return nil
}
