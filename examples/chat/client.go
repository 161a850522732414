package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"parley/protocol/replica"
	"parley/protocol/replica/core"
)

// join enters a room, says each line of in, and prints what is said to out. It
// ends when in does, or ctx, or the room.
func join(ctx context.Context, addr, name string, in io.Reader, out io.Writer) error {
	dialling, cancel := context.WithTimeout(ctx, 10*time.Second)
	c, err := replica.Dial(dialling, addr, replica.Config{})
	cancel()
	if err != nil {
		return err
	}
	// Whatever ends it, the room is told, and Events ends.
	leave := func() { _ = c.Close(context.Background()) }
	defer leave()
	defer context.AfterFunc(ctx, leave)()

	if err := c.Send(replica.Ordered, "name", []byte(name)); err != nil {
		return err
	}
	go func() {
		defer leave()
		for lines := bufio.NewScanner(in); lines.Scan(); {
			// It waits while too many are on their way.
			if err := c.SendWait(ctx, replica.Ordered, "chat", lines.Bytes()); err != nil {
				return
			}
		}
	}()
	for ev := range c.Events() {
		show(out, ev)
	}
	if why := (replica.Close{}); errors.As(c.Err(), &why) && why.Reason == core.ReasonClosed {
		return nil // we left
	}
	return c.Err()
}

// show prints what a server says. It may be anyone's server, so nothing is taken
// for granted.
func show(out io.Writer, ev replica.Event) {
	if ev.Kind != replica.EventMessage {
		return
	}
	switch string(ev.Name) {
	case "note":
		fmt.Fprintln(out, "*", clean(ev.Data, maxText))
	case "chat":
		if len(ev.Data) < 1 || len(ev.Data) < 1+int(ev.Data[0]) {
			return
		}
		n := 1 + int(ev.Data[0])
		fmt.Fprintf(out, "%s: %s\n", clean(ev.Data[1:n], maxName), clean(ev.Data[n:], maxText))
	}
}
