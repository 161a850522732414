// Command counter is the smallest replicated game: one number that everybody sees, and
// that everybody can add to. It uses the replica dialect alone, without a world.
//
//	go run ./examples/counter serve 127.0.0.1:7000
//	go run ./examples/counter watch 127.0.0.1:7000        # prints the number as it changes
//	go run ./examples/counter add 127.0.0.1:7000 5        # adds five and leaves
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"time"

	"parley/protocol/replica"
	"parley/protocol/replica/core"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "counter:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 2 && args[0] == "serve":
		return serve(ctx, args[1], func(addr string) { fmt.Println("serving on", addr) })
	case len(args) == 2 && args[0] == "watch":
		return watch(ctx, args[1], func(n int64) { fmt.Println(n) })
	case len(args) == 3 && args[0] == "add":
		return add(ctx, args[1], args[2])
	}
	return errors.New("usage: counter serve ADDR | watch ADDR | add ADDR NUMBER")
}

// serve keeps the number and replicates it twenty times a second.
func serve(ctx context.Context, addr string, ready func(addr string)) error {
	var total int64
	s, err := replica.Listen(addr, replica.Config{}, func(_ *replica.Conn, ev replica.Event) {
		if ev.Kind == replica.EventMessage && string(ev.Name) == "add" && len(ev.Data) == 8 {
			total += int64(binary.LittleEndian.Uint64(ev.Data))
		}
	})
	if err != nil {
		return err
	}
	var link uint16
	if doErr := s.Do(func() { link, err = s.Store().AddVariable("total", core.DataInt64) }); doErr != nil || err != nil {
		return errors.Join(doErr, err, s.Close())
	}
	ready(s.Addr().String())
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			bye, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			return s.Shutdown(bye)
		case <-tick.C:
			err = s.Do(func() {
				// total belongs to the loop, where the handler runs too.
				if setErr := s.Store().Set(link, binary.LittleEndian.AppendUint64(nil, uint64(total))); setErr != nil {
					panic(setErr)
				}
				s.Replicate(1200)
			})
			if err != nil {
				return err
			}
		}
	}
}

// watch links to the server and calls show with each number that comes.
func watch(ctx context.Context, addr string, show func(n int64)) error {
	c, err := replica.Dial(ctx, addr, replica.Config{})
	if err != nil {
		return err
	}
	defer c.Close(context.Background())
	defer context.AfterFunc(ctx, func() { c.Close(context.Background()) })()
	if err := c.Link(); err != nil {
		return err
	}
	for ev := range c.Events() {
		if ev.Kind != replica.EventReplicated {
			continue
		}
		var v core.Reading
		var ok bool
		if c.Do(func(values *replica.Values) { v, ok = values.Value("total") }) == nil && ok {
			show(v.Int())
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return c.Err()
}

// add adds a number and leaves once the server has it.
func add(ctx context.Context, addr, number string) error {
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is no whole number", number)
	}
	c, err := replica.Dial(ctx, addr, replica.Config{})
	if err != nil {
		return err
	}
	if err := c.Send(replica.Reliable, "add", binary.LittleEndian.AppendUint64(nil, uint64(n))); err != nil {
		return err
	}
	return c.Close(ctx)
}
