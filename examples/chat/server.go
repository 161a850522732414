package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"parley/protocol/replica"
)

const (
	maxName = 20   // bytes: a name is a name
	maxText = 1000 // bytes: a line is a line
)

// room is who is here, by connection. It needs no lock: only the handler touches
// it, and that runs on the server's loop.
type room struct {
	names map[*replica.Conn]string
}

// serve runs a room until ctx ends, and then tells all that it closes.
func serve(ctx context.Context, addr string, out io.Writer) error {
	r := &room{names: map[*replica.Conn]string{}}
	s, err := replica.Listen(addr, replica.Config{}, r.handle)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "the room is open at", s.Addr())
	select {
	case <-ctx.Done():
	case <-s.Done():
		return s.Close()
	}
	goodbye, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return s.Shutdown(goodbye)
}

func (r *room) handle(c *replica.Conn, ev replica.Event) {
	name, named := r.names[c]
	switch ev.Kind {
	case replica.EventMessage:
		switch {
		case string(ev.Name) == "name" && !named:
			r.enter(c, clean(ev.Data, maxName))
		case string(ev.Name) == "chat" && named:
			line := append([]byte{byte(len(name))}, name...)
			r.tell("chat", append(line, clean(ev.Data, maxText)...))
		}
	case replica.EventClosed:
		if named {
			delete(r.names, c)
			r.tell("note", []byte(name+" has left"))
		}
	}
}

func (r *room) enter(c *replica.Conn, name string) {
	if name == "" {
		c.Close("a name is needed")
		return
	}
	for _, taken := range r.names {
		if taken == name {
			c.Close("that name is taken")
			return
		}
	}
	r.names[c] = name
	r.tell("note", []byte(name+" has come"))
}

// tell says something to everyone. A guest that cannot keep up is disconnected: the messages
// that wait for it would be lost or grow for ever.
func (r *room) tell(kind string, text []byte) {
	for c := range r.names {
		if err := c.Send(replica.Ordered, kind, text); errors.Is(err, replica.ErrWindowFull) {
			c.Close("too slow")
		}
	}
}

// clean makes a stranger's bytes fit to be shown: valid, without control
// characters, and not too long.
func clean(b []byte, limit int) string {
	text := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(b), "?"))
	text = strings.TrimSpace(text)
	for len(text) > limit {
		_, n := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-n]
	}
	return text
}
