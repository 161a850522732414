package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"parley/protocol/duplex"
	"parley/protocol/duplex/core"
)

// join enters a board, moves to each place of in, and prints where everybody goes. It ends
// when in does, or ctx, or the board.
func join(ctx context.Context, addr, name string, in io.Reader, out io.Writer) error {
	dialling, cancel := context.WithTimeout(ctx, 10*time.Second)
	c, err := duplex.Dial(dialling, addr, duplex.Config{Schema: schema})
	cancel()
	if err != nil {
		return err
	}
	// Whatever ends it, Events ends too.
	leave := func() { _ = c.Close(context.Background()) }
	defer leave()
	defer context.AfterFunc(ctx, leave)()

	refused := make(chan error, 1)
	go func() {
		defer leave()
		if err := enter(ctx, c, name); err != nil {
			refused <- err
			return
		}
		for lines := bufio.NewScanner(in); lines.Scan(); {
			var at cursor
			if _, err := fmt.Sscan(lines.Text(), &at.x, &at.y); err != nil {
				continue
			}
			if err := c.Update(c.Player(), at.place(nil)); err != nil {
				return
			}
		}
	}()
	show(c, out)
	select {
	case err := <-refused:
		return err
	default:
	}
	if why := (duplex.Close{}); errors.As(c.Err(), &why) && why.Reason == core.ReasonClosed {
		return nil // we left
	}
	return c.Err()
}

// enter says who we are.
func enter(ctx context.Context, c *duplex.Client, name string) error {
	if len(name) > maxName {
		return fmt.Errorf("the name is longer than %d bytes", maxName)
	}
	status, _, err := c.Query(ctx, duplex.Main, queryName, append([]byte{byte(len(name))}, name...))
	if err == nil && status != 0 {
		err = errors.New("that name is taken, or is none")
	}
	return err
}

// show prints what happens until the end.
func show(c *duplex.Client, out io.Writer) {
	known := map[int16]cursor{}
	for ev := range c.Events() {
		switch ev.Kind {
		case duplex.EventUpdate, duplex.EventSync:
			// A sync of everything says again what is known.
			if at := readCursor(ev.Data); at != known[ev.SID] {
				known[ev.SID] = at
				fmt.Fprintf(out, "%s is at %d %d\n", at.name, at.x, at.y)
			}
		case duplex.EventGone:
			fmt.Fprintf(out, "%s has left\n", known[ev.SID].name)
			delete(known, ev.SID)
		}
	}
}
