package main

import (
	"encoding/binary"
	"errors"
	"math"
	"net/netip"
	"time"

	"parley/protocol/replica"
	"parley/protocol/replica/core"
)

// replicaRoom replicates each object as an entity with one variable of eight bytes: x and y
// change together, so they need one id and one size.
var replicaRoom = &Room{Listen: listenReplicaRoom, Join: joinReplicaRoom}

const (
	roomKind  = "o"
	roomPlace = "p"
	// roomBudget is what a client may be sent in a tick: more than all objects take.
	roomBudget = 4096
)

func putFloat(b []byte, x float32) { binary.LittleEndian.PutUint32(b, math.Float32bits(x)) }
func getFloat(b []byte) float32    { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }

type replicaRoomServer struct {
	*replica.Server
	objects []*replica.Entity // owned by the loop
}

func listenReplicaRoom(objects int) (RoomServer, error) {
	r := &replicaRoomServer{}
	s, err := replica.Listen(loopback, replica.Config{}, func(c *replica.Conn, ev replica.Event) {
		if ev.Kind != replica.EventConnected {
			return
		}
		for _, o := range r.objects {
			if c.Show(o) != nil {
				c.Close("more objects than a client may see")
				return
			}
		}
	})
	if err != nil {
		return nil, err
	}
	r.Server = s
	doErr := s.Do(func() {
		var kind uint16
		kind, err = s.Store().AddKind(roomKind, core.Variable{Name: roomPlace, Type: core.DataChars})
		for range objects {
			o, e := s.Store().NewEntity(kind)
			r.objects, err = append(r.objects, o), errors.Join(err, e)
		}
	})
	return r, errors.Join(doErr, err)
}

func (r *replicaRoomServer) Tick(place func(object int) [8]byte) (err error) {
	gone := r.Do(func() {
		for i, o := range r.objects {
			b := place(i)
			err = errors.Join(err, o.Set(0, b[:]))
		}
		r.Replicate(roomBudget)
	})
	return errors.Join(gone, err)
}

func (r *replicaRoomServer) Bytes() uint64 { return r.Stats().Socket.OutBytes }

// joinReplicaRoom begins a client that looks at another object each time.
func joinReplicaRoom(now time.Time, addr netip.AddrPort) (Member, error) {
	e := core.NewClient(now, addr, replica.Config{}, replicaShared)
	var linked bool
	var times uint8
	return newDatagramMember(addr, endpoint{
		core:  e,
		ready: func() bool { return linked },
		send:  func(now time.Time, b []byte) error { return e.Send(now, replica.Unreliable, messageName, b) },
		poll: func(take func([]byte)) error {
			for ev, ok := e.PollEvent(); ok; ev, ok = e.PollEvent() {
				switch ev.Kind {
				case replica.EventConnected:
					if err := e.Link(time.Now()); err != nil {
						return err
					}
				case replica.EventLinked:
					linked = true
				case replica.EventReplicated:
					kind, ok := e.Values().KindLink(roomKind)
					if !ok {
						continue
					}
					times++
					if v, ok := e.Values().EntityValue(kind, times%roomObjects, roomPlace); ok {
						take(v.Data)
					}
				case replica.EventClosed:
					return ev.Close
				}
			}
			return nil
		},
	})
}
