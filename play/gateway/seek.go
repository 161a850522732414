package gateway

import (
	"context"
	"slices"
	"time"

	"parley/account"
	"parley/cluster/core"
	"parley/play/message"
)

// Who wants to enter a room that does not run here. A stranger's wish costs this server a look at what it knows; only one whose pass is good for a
// room that there is has a stage made, and only so many of an address.

// await is somebody who waits for the directory to tell of a room: it may have been opened at another server a moment ago.
type await struct {
	name string
	then func(o *opening) // nil if there is none
	done bool
}

func (w *await) found(o *opening) {
	if !w.done {
		w.done = true
		w.then(o)
	}
}

// seek finds the room of a seat, and calls again when it runs here, or with the reason why it does not.
func (a *alliance) seek(s *Seat, again func(why error)) {
	name := MainRoom
	switch {
	case s.pass != nil && s.pass.Kind == message.PassSession:
		a.lookUp(s, again)
		return
	case s.pass != nil:
		name = s.pass.Room
	case s.wants != "":
		name = s.wants
	}
	a.find(name, func(o *opening) { a.admit(s, o, again) })
}

// find calls then with what the directory has of a room, at once or in a moment.
func (a *alliance) find(name string, then func(o *opening)) {
	if o := a.rooms[name]; o != nil || a.waiting >= maxAwaits || !message.IsRoomName(name) {
		then(o)
		return
	}
	w := &await{name: name, then: then}
	a.awaits[name] = append(a.awaits[name], w)
	a.waiting++
	a.after(awaitTime, func() {
		list := a.awaits[name]
		if i := slices.Index(list, w); i >= 0 {
			a.waiting--
			if a.awaits[name] = slices.Delete(list, i, i+1); len(list) == 1 {
				delete(a.awaits, name)
			}
		}
		w.found(nil)
	})
}

// lookUp asks the store in which room a session is.
func (a *alliance) lookUp(s *Seat, again func(why error)) {
	if a.lookups >= maxLookups || s.from.IsValid() && !a.looks.Allow(time.Now(), s.from, 1) {
		again(RefusedBusy)
		return
	}
	hash := s.pass.token
	a.lookups++
	a.spawn(func() {
		room, ok, err := a.roomOf(hash)
		a.post(func() {
			a.lookups--
			switch {
			case err != nil:
				a.hub.log.Warn("in which room a session is cannot be asked", "err", err)
				again(RefusedBusy)
			case !ok:
				again(a.hub.gate.noSession())
			default:
				s.led, s.ledAt = room, time.Now()
				a.find(room, func(o *opening) {
					if o == nil {
						again(a.hub.gate.noSession())
						return
					}
					a.admit(s, o, again)
				})
			}
		})
	})
}

// roomOf asks the store for the room of a token, not too often at once.
func (a *alliance) roomOf(hash [32]byte) (room string, ok bool, err error) {
	ctx, cancel := context.WithTimeout(a.ctx, lookTime)
	defer cancel()
	select {
	case a.looking <- struct{}{}:
		defer func() { <-a.looking }()
		return a.cluster.RoomOfToken(ctx, hash)
	case <-ctx.Done():
		return "", false, core.ErrBusy
	}
}

// admit has a room run here, if the pass of a seat is good for it as far as the directory tells.
func (a *alliance) admit(s *Seat, o *opening, again func(why error)) {
	if o == nil {
		a.hub.gate.otherRoom()
		again(RefusedRoom)
		return
	}
	if a.hub.rooms[o.Name] == nil {
		if why := a.refusal(s, o); why != nil {
			again(why)
			return
		}
	}
	a.start(o, again)
}

// refusal returns why no stage of a room is made for a seat.
func (a *alliance) refusal(s *Seat, o *opening) error {
	session := s.pass != nil && s.pass.Kind == message.PassSession
	ticket := s.pass != nil && s.pass.Kind == message.PassTicket
	switch {
	case s.left:
		return RefusedRoom
	case ticket && s.pass.match && !o.Match:
		return RefusedRoom
	case a.fits(o) != nil:
		return RefusedDrained // other servers run it
	case session, ticket, !o.Closed && !a.hub.gate.Wanted(), s.spectator && !o.Closed:
	case s.account:
		if !slices.ContainsFunc(o.Accounts, func(name string) bool { return account.NameKey(name) == account.NameKey(s.name) }) {
			return RefusedRoom
		}
	default:
		return RefusedGuest
	}
	if s.from.IsValid() && !a.begins.Allow(time.Now(), s.from, 1) {
		return RefusedBusy
	}
	return nil
}
