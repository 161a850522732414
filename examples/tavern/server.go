package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"parley/protocol/realm"
	"parley/protocol/realm/core"
)

// tavern is who is here, by connection. It needs no lock: only the handler touches it, and
// that runs on the server's loop.
type tavern struct {
	guests map[*realm.Conn]string
	next   uint16 // the id of the next guest
}

// serve keeps a tavern until ctx ends, and then tells all that it closes.
func serve(ctx context.Context, addr, dataDir string, out io.Writer) error {
	t := &tavern{guests: map[*realm.Conn]string{}}
	s, err := realm.Listen(addr, realm.Config{Accounts: newAccounts(), DataDir: dataDir}, t.handle)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "the tavern is open at", s.Addr(), s.Fingerprint())
	<-ctx.Done()
	goodbye, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return s.Shutdown(goodbye)
}

// handle is told who comes and who leaves. What they say the server passes on by itself.
func (t *tavern) handle(c *realm.Conn, ev realm.Event) {
	switch ev.Kind {
	case realm.EventEnter:
		if t.next++; t.next >= core.FirstTemporary {
			t.next = 1
		}
		entry := core.Entry{Entity: core.Entity{ID: t.next}, Players: t.players}
		if err := c.Enter(entry); err == nil {
			t.guests[c] = ev.Question.Name
		}
	case realm.EventClosed:
		delete(t.guests, c)
	}
}

// players yields who is here.
func (t *tavern) players(yield func(uint16, string) bool) {
	for c, name := range t.guests {
		if !yield(c.Entity(), name) {
			return
		}
	}
}
