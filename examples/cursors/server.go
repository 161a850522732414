package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"parley/protocol/duplex"
)

// board is who is where, by player. It needs no lock: only the loop touches it.
type board struct {
	cursors map[int16]cursor
	set     func(sid int16, data []byte) error
	remove  func(sid int16)
}

// serve runs a board until ctx ends. Twenty times a second everybody is told what moved.
func serve(ctx context.Context, addr string, out io.Writer) error {
	b := &board{cursors: map[int16]cursor{}}
	s, err := duplex.Listen(addr, duplex.Config{Schema: schema}, b.handle)
	if err != nil {
		return err
	}
	if err := s.Do(func() { b.set, b.remove = s.Scene().Set, s.Scene().Remove }); err != nil {
		return err
	}
	fmt.Fprintln(out, "the board is at", s.Addr())
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := s.Do(func() { s.Scene().Flush() }); err != nil {
				return s.Close()
			}
		case <-s.Done():
			return s.Close()
		case <-ctx.Done():
			goodbye, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			return s.Shutdown(goodbye)
		}
	}
}

func (b *board) handle(c *duplex.Conn, ev duplex.Event) {
	id := c.Player()
	at, named := b.cursors[id]
	switch ev.Kind {
	case duplex.EventQuery:
		status := uint8(1)
		if name := clean(ev.Data[1:]); !named && b.free(name) {
			status = 0
			b.put(c, cursor{name: name})
		}
		if err := c.Reply(ev.ID, status, nil); err != nil {
			c.Close(err.Error())
		}
	case duplex.EventUpdate, duplex.EventSync: // over the feed, or over main without one
		if named && ev.SID == id {
			at.x, at.y = binary.BigEndian.Uint16(ev.Data), binary.BigEndian.Uint16(ev.Data[2:])
			b.put(c, at)
		}
	case duplex.EventClosed:
		if named {
			delete(b.cursors, id)
			b.remove(id)
		}
	}
}

// put says where a cursor is.
func (b *board) put(c *duplex.Conn, at cursor) {
	b.cursors[c.Player()] = at
	if err := b.set(c.Player(), at.element()); err != nil {
		c.Close(err.Error())
	}
}

// free reports whether a name is one, and nobody's.
func (b *board) free(name string) bool {
	for _, c := range b.cursors {
		if c.name == name {
			return false
		}
	}
	return name != ""
}

// clean makes a stranger's text fit to be shown: UTF-8, one line, and not too long.
func clean(text []byte) string {
	line := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(text), "?"))
	line = strings.TrimSpace(line)
	for len(line) > maxName {
		runes := []rune(line)
		line = string(runes[:len(runes)-1])
	}
	return line
}
