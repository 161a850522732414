package main

import (
	"context"
	"maps"
	"slices"
	"time"

	"parley/protocol/stamp"
)

// viewer is what the server knows of someone who watches.
type viewer struct {
	owed map[uint16]bool     // whose newest values are to be sent
	sent map[uint32][]uint16 // by tag: whom a packet on its way tells of
}

// audience is all viewers. It belongs to the server's loop, where the handler and each Do
// run.
type audience struct {
	pond    *pond
	viewers map[*stamp.Conn]*viewer
	tag     uint32
}

func newAudience() *audience {
	return &audience{pond: newPond(), viewers: map[*stamp.Conn]*viewer{}}
}

// handle is the server's handler.
func (a *audience) handle(c *stamp.Conn, ev stamp.Event) {
	switch ev.Kind {
	case stamp.EventConnected:
		v := &viewer{owed: map[uint16]bool{}, sent: map[uint32][]uint16{}}
		for id := range a.pond.things {
			v.owed[id] = true
		}
		a.viewers[c] = v
	case stamp.EventAcked:
		delete(a.viewers[c].sent, ev.Tag)
	case stamp.EventLost:
		// What was lost is not sent again; what is true by then is.
		v := a.viewers[c]
		for _, id := range v.sent[ev.Tag] {
			v.owed[id] = true
		}
		delete(v.sent, ev.Tag)
	case stamp.EventClosed:
		delete(a.viewers, c)
	}
}

// tick moves the pond and tells everyone what changed.
func (a *audience) tick() {
	changed := a.pond.step()
	for c, v := range a.viewers {
		for _, id := range changed {
			v.owed[id] = true
		}
		a.tag++
		v.send(a.pond, a.tag, func(data []byte) error { return c.SendReport(data, a.tag) })
	}
}

// send tells of whom is owed, as many as one packet has room for. The rest waits for the
// next tick, as all do if the viewer is behind.
func (v *viewer) send(p *pond, tag uint32, put func(data []byte) error) {
	var data []byte
	var told []uint16
	for _, id := range slices.Sorted(maps.Keys(v.owed)) {
		rec := p.record(id)
		var ok bool
		if data, ok = rec.AppendTo(data, stamp.MaxData); !ok {
			break
		}
		told = append(told, id)
	}
	if len(told) == 0 || put(data) != nil {
		return
	}
	v.sent[tag] = told
	for _, id := range told {
		delete(v.owed, id)
	}
}

// serve shows the pond until ctx ends.
func serve(ctx context.Context, addr string, ready func(addr string)) error {
	a := newAudience()
	s, err := stamp.Listen(addr, stamp.Config{}, a.handle)
	if err != nil {
		return err
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
		case <-s.Done():
			return s.Close()
		case <-tick.C:
			if err := s.Do(func() { a.tick() }); err != nil {
				return err
			}
		}
	}
}
