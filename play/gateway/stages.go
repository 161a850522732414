package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/world"
)

// A room of a cluster is in the directory, and runs on those servers where somebody plays in it. Its stage is made when the first comes, and closed
// when nobody has been there for a while.

// beginning is a stage that is being made.
type beginning struct {
	o    *opening
	then []func(why error)
}

// start has a stage of a room, and then calls then: at once, or when it is there. The world is made on a goroutine of its own, as it may take longer
// than a tick; it is loaded later, see shared.
func (a *alliance) start(o *opening, then func(why error)) {
	h := a.hub
	if h.rooms[o.Name] != nil {
		then(nil)
		return
	}
	if st := a.starts[o.Name]; st != nil {
		if len(st.then) >= maxEntering {
			then(RefusedBusy)
			return
		}
		st.then = append(st.then, then)
		return
	}
	if len(h.rooms)+len(a.starts) >= h.cfg.MaxRooms || len(a.starts)+a.loading() >= maxStarts {
		then(RefusedBusy)
		return
	}
	st := &beginning{o, []func(error){then}}
	a.starts[o.Name] = st
	a.spawn(func() {
		sim, err := a.world(o)
		a.post(func() { a.started(st, sim, err) })
	})
}

// loading counts the stages whose worlds are not loaded yet.
func (a *alliance) loading() (n int) {
	for _, r := range a.hub.rooms {
		if x, ok := r.shared.(*shared); ok && !x.open && r != a.hub.main {
			n++
		}
	}
	return n
}

// started makes the stage of a world.
func (a *alliance) started(st *beginning, sim *world.Sim, err error) {
	h, name := a.hub, st.o.Name
	delete(a.starts, name)
	switch now := a.rooms[name]; {
	case err != nil:
	case now == nil || now.Opened != st.o.Opened: // it has ended meanwhile
		err = RefusedRoom
	case h.rooms[name] == nil:
		var r *Room
		if r, err = a.stage(st.o, sim); err == nil {
			h.rooms[name] = r
			if name == MainRoom {
				h.main = r
			}
		}
	}
	if err != nil && err != error(RefusedRoom) {
		h.log.Error("a room of the cluster cannot run on this server", "room", name, "err", err)
		err = RefusedBusy
	}
	for _, fn := range st.then {
		fn(err)
	}
}

// stage makes a room of a world that is new.
func (a *alliance) stage(o *opening, sim *world.Sim) (*Room, error) {
	r := a.hub.newRoomOf(o.Settings, sim)
	return r, r.share(a, o)
}

// bring has a stage of a room here, with its world, for the operator: strangers come by seek.
func (a *alliance) bring(ctx context.Context, name string) error {
	told := make(chan error, 1)
	err := a.hub.Do(func() {
		o := a.rooms[name]
		if o == nil {
			told <- fmt.Errorf("%w: %s", ErrNoRoom, name)
			return
		}
		if err := a.fits(o); err != nil {
			told <- err
			return
		}
		a.start(o, func(why error) {
			r := a.hub.rooms[name]
			if why != nil || r == nil {
				told <- errors.Join(fmt.Errorf("parley: room %s does not begin on this server", name), why)
				return
			}
			x := r.shared.(*shared)
			x.used = time.Now()
			told <- nil
		})
	})
	if err != nil {
		return err
	}
	select {
	case err := <-told:
		return err
	case <-ctx.Done():
		return fmt.Errorf("parley: room %s does not begin on this server: %w", name, ctx.Err())
	case <-a.hub.over:
		return ErrEnded
	}
}

// sweep closes stages without use, ends rooms that have been empty for long enough, and has tokens live on. It is called once a second.
func (a *alliance) sweep(now time.Time) {
	h := a.hub
	for _, r := range h.Rooms() {
		if x := r.shared.(*shared); r != h.main && r.quiet() {
			a.look(r, x, now)
		}
	}
	a.keepTokens(now)
	a.sweepOrphans(now)
}

// look closes a stage, or ends its room, if it is time.
func (a *alliance) look(r *Room, x *shared, now time.Time) {
	if x.isUsed() {
		x.used, x.empty = now, time.Time{}
		return
	}
	switch {
	case len(r.players) > 0 || !x.open || !r.sim.Settled():
		x.empty = time.Time{}
	case x.empty.IsZero():
		x.empty = now
	}
	idle := r.settings.Idle
	if idle > 0 && !x.empty.IsZero() && now.Sub(x.empty) >= idle && !x.ending {
		x.ending = true
		a.endEmpty(r.Name(), a.rooms[r.Name()], x)
		return
	}
	if idle <= 0 || idle > stageIdle {
		idle = stageIdle
	}
	switch {
	case now.Sub(x.used) < idle || x.ending:
	case !x.sequences():
		if len(r.players) > 0 || r.settings.Idle <= 0 || x.empty.IsZero() { // else it stays to end the room in its time
			a.hub.end(r, errRoomClosed)
		}
	case len(r.players) == 0:
		if r.settings.Idle <= 0 {
			x.part.Move(0)
		}
	default:
		if node := x.heir(now); node != 0 {
			x.part.Move(node)
		}
	}
}

// endEmpty ends a room that nobody is in.
func (a *alliance) endEmpty(name string, o *opening, x *shared) {
	if o == nil {
		return
	}
	a.spawn(func() {
		ctx, cancel := context.WithTimeout(a.ctx, openTime)
		defer cancel()
		ended, err := a.cluster.EndRoomOf(ctx, name, o.text)
		a.post(func() {
			if x != nil {
				x.ending = false
			}
			if err == nil && ended {
				if now := a.rooms[name]; now == o {
					a.told(name, nil, false)
				}
			}
		})
	})
}

// isUsed reports whether somebody of this server has to do with the room.
func (x *shared) isUsed() bool {
	r := x.room
	if r.entering > 0 || len(x.waiting)+len(x.asked)+len(x.unasked)+len(r.viewers)+len(r.taps)+r.injected > 0 {
		return true
	}
	for _, s := range r.sides {
		if s != nil && len(s.seats) > 0 {
			return true
		}
	}
	return false
}
