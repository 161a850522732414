package main

import (
	"encoding/binary"
	"errors"
	"math"
	"net/netip"
	"time"

	"parley/internal/admission"
	"parley/play/message"
	"parley/protocol/replica"
	"parley/protocol/replica/core"
	"parley/world"
)

// replicaRoom replicates each object as an entity with one variable of eight bytes: x and y
// change together, so they need one id and one size.
var (
	replicaRoom = doubles.room()
	doubles     = placeForm{
		core.DataChars,
		func(b []byte, place [8]byte) []byte { return append(b, place[:]...) },
		func(_, b []byte) []byte { return b },
	}
)

// replicaRoomQ does the same with a world that needs no more than eighths of x and y, by the tag of its
// kind: four bytes, as our game server sends them.
var (
	replicaRoomQ = steps.room()
	steps        = placeForm{core.DataUint, putSteps, getSteps}
)

// object is a thing of a room, from 0 to where the times of roomCycle end.
type object struct {
	world.Body `parley:"q=1/8,min=0,max=8191.9"`
}

var objectKind = func() *world.Kind {
	sim, err := world.New(world.Game{Kinds: world.Kinds(object{}), Step: func(*world.World, []world.Input) {}}, world.Config{})
	if err != nil {
		panic(err) // the tag above is wrong
	}
	return sim.Schema().Kinds[0]
}()

// putSteps appends x and y as steps.
func putSteps(b []byte, place [8]byte) []byte {
	for i := world.FieldX; i <= world.FieldY; i++ {
		f := &objectKind.Fields[i]
		b = f.Encode(world.FloatValue(f.Type, float64(getFloat(place[4*i:])))).AppendTo(b, message.Little)
	}
	return b
}

// getSteps reads what putSteps writes, and appends x and y as floats.
func getSteps(out, b []byte) []byte {
	for i := world.FieldX; i <= world.FieldY; i++ {
		v, _ := message.ParseVariable(objectKind, i, b)
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(v.Float())))
	}
	return out
}

// placeForm is how the place of an object travels: its type, how it is appended, and how it is read into a buffer or found.
type placeForm struct {
	typ core.DataType
	put func(b []byte, place [8]byte) []byte
	get func(buf, b []byte) []byte
}

func (p placeForm) room() *Room {
	return &Room{
		Listen: func(objects int) (RoomServer, error) { return listenReplicaRoom(objects, p, nil) },
		Join:   func(now time.Time, addr netip.AddrPort) (Member, error) { return joinReplicaRoom(now, addr, p) },
	}
}

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
	form    placeForm
	buf     []byte
}

func listenReplicaRoom(objects int, form placeForm, browsers admission.Sources) (*replicaRoomServer, error) {
	r := &replicaRoomServer{form: form}
	s, err := replica.Listen(loopback, replica.Config{Sessions: browsers}, func(c *replica.Conn, ev replica.Event) {
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
		kind, err = s.Store().AddKind(roomKind, core.Variable{Name: roomPlace, Type: form.typ})
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
			r.buf = r.form.put(r.buf[:0], place(i))
			err = errors.Join(err, o.Set(0, r.buf))
		}
		r.Replicate(roomBudget)
	})
	return errors.Join(gone, err)
}

func (r *replicaRoomServer) Bytes() uint64 { return r.Stats().Socket.OutBytes }

// joinReplicaRoom begins a client that looks at another object each time.
func joinReplicaRoom(now time.Time, addr netip.AddrPort, form placeForm) (Member, error) {
	return newDatagramMember(addr, replicaRoomEndpoint(now, addr, form))
}

func replicaRoomEndpoint(now time.Time, addr netip.AddrPort, form placeForm) endpoint {
	e := core.NewClient(now, addr, replica.Config{}, replicaShared)
	var linked bool
	var times uint8
	var buf []byte
	return endpoint{
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
						buf = form.get(buf[:0], v.Data)
						take(buf)
					}
				case replica.EventClosed:
					return ev.Close
				}
			}
			return nil
		},
	}
}
