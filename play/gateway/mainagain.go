package gateway

import (
	"context"
	"time"
)

// mainAgain has the main room begin anew, which its game has ended: with other settings in the directory, and so with another log. The first server
// that has run the last entry changes them, and all others take what they find.
func (a *alliance) mainAgain(old *Room) {
	before := old.shared.(*shared).text
	if o := a.rooms[MainRoom]; o != nil && o.Opened != old.settings.Opened { // another server was faster
		a.beginMain(o)
		return
	}
	delete(a.rooms, MainRoom) // nobody is to enter the old one
	s := old.settings
	s.Opened = a.hub.stampOpened()
	o, err := a.opening(s)
	if err != nil {
		a.hub.log.Error("the main room does not begin anew", "err", err)
		return
	}
	a.spawn(func() {
		for a.ctx.Err() == nil {
			now, err := a.cluster.ChangeRoom(a.ctx, MainRoom, before, o.text)
			if err != nil {
				a.hub.log.Warn("the main room does not begin anew yet", "err", err)
				select {
				case <-time.After(time.Second):
				case <-a.ctx.Done():
				}
				continue
			}
			if string(now) == string(o.text) {
				a.clearLater(MainRoom, before)
			}
			a.post(func() {
				if now, err := a.read(MainRoom, now); err != nil {
					a.hub.log.Error("the main room does not begin anew", "err", err)
				} else if a.rooms[MainRoom] = now; a.hub.rooms[MainRoom] == nil {
					a.beginMain(now)
				}
			})
			return
		}
	})
}

// clearLater removes the log of a room that has ended, when all servers have run its last entry.
func (a *alliance) clearLater(name string, text []byte) {
	time.AfterFunc(clearTime, func() {
		a.spawn(func() {
			ctx, cancel := context.WithTimeout(a.ctx, openTime)
			defer cancel()
			if err := a.cluster.ClearRoom(ctx, name, text); err != nil {
				a.hub.log.Warn("the log of a room that has ended stays", "room", name, "err", err)
			}
		})
	})
}

// beginMain makes the stage of the main room.
func (a *alliance) beginMain(o *opening) {
	if a.starts[MainRoom] != nil {
		return
	}
	st := &beginning{o: o, then: []func(error){func(err error) {
		if err != nil {
			a.hub.log.Error("the main room does not begin anew on this server", "err", err)
		}
	}}}
	a.starts[MainRoom] = st
	a.spawn(func() {
		sim, err := a.world(o)
		a.post(func() { a.started(st, sim, err) })
	})
}

// lateMain ends a main room whose last entry does not come: the others play in the next.
func (a *alliance) lateMain(o *opening) {
	a.after(lateTime, func() {
		if r := a.hub.main; r.state != roomEnded && a.rooms[MainRoom] == o && r.settings.Opened != o.Opened {
			a.hub.end(r, errRoomClosed)
		}
	})
}
