package main

import (
	"context"
	"fmt"

	"parley/protocol/stamp"
)

// sight is something that a spectator sees.
type sight struct {
	entity uint16
	thing  thing
	gone   bool
	age    float64 // ms since it was so, by the server's clock
}

func (s sight) String() string {
	if s.gone {
		return fmt.Sprintf("%d is gone (%.1f ms ago)", s.entity, s.age)
	}
	return fmt.Sprintf("%d %v (%.1f ms ago)", s.entity, s.thing, s.age)
}

// spectator remembers how new its knowledge of each entity is: packets may come in any
// order, and the newest wins.
type spectator struct {
	newest map[uint16]uint64 // by entity: the number of the packet
}

// see takes an entity packet and calls show for each thing in it that is news.
func (x *spectator) see(ev stamp.Event, age float64, show func(sight)) {
	if !stamp.CheckRecords(ev.Data) {
		return
	}
	var rec stamp.Record
	for records := stamp.ReadRecords(ev.Data); records.Next(&rec); {
		t, ok := readThing(&rec)
		if ev.Number < x.newest[rec.Entity] || !ok && !rec.Gone() {
			continue
		}
		x.newest[rec.Entity] = ev.Number
		show(sight{rec.Entity, t, rec.Gone(), age})
	}
}

// watch calls show with all that there is to see, until ctx ends or the server does.
func watch(ctx context.Context, addr string, show func(sight)) error {
	c, err := stamp.Dial(ctx, addr, stamp.Config{})
	if err != nil {
		return err
	}
	defer c.Close(context.Background())
	defer context.AfterFunc(ctx, func() { c.Close(context.Background()) })()
	x := spectator{map[uint16]uint64{}}
	for ev := range c.Events() {
		if ev.Kind == stamp.EventEntity {
			now, _ := c.ServerTime()
			x.see(ev, float64(int64(now-ev.Time))/1000, show)
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return c.Err()
}
