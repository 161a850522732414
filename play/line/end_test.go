package line

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/arena"
)

// A connection that ends itself, as the server runs another game, has nothing running any more when it has been read: Close waits for that.
func TestNothingHangsUpAfterTheEnd(t *testing.T) {
	schema, err := arena.Game().Schema()
	if err != nil {
		t.Fatal(err)
	}
	for name, end := range map[string]func(c *Conn){"another game": func(c *Conn) { c.differs("") }, "more ticks": (*Conn).hurries} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var begun, done atomic.Int32
				c := &Conn{line: &Line{cfg: Config{Schema: schema}}}
				c.hang = func(ctx context.Context) error {
					begun.Add(1)
					time.Sleep(time.Second / 2)
					done.Add(1)
					return nil
				}
				c.run = func() error { end(c); return nil }
				c.read(t.Context())
				if begun.Load() != 2 || done.Load() != 2 {
					t.Errorf("the connection was hung up %d times, and %d of these are over", begun.Load(), done.Load())
				}
			})
		})
	}
}
