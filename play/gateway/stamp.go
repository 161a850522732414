package gateway

import (
	"context"
	"log/slog"
	"net/netip"

	"parley/internal/way"
	"parley/play/message"
	"parley/protocol/stamp"
	stampcore "parley/protocol/stamp/core"
	"parley/world"
)

// Stamp serves the world over stamp, whose clients only watch. Each entity packet is a
// list of records of what has changed for its client. When a packet is lost, the newest
// values of the same entities are sent, in a packet with a new number.
type Stamp struct {
	service
	server *stamp.Server
	room   string
	seats  map[*stamp.Conn]*stampSeat // owned by the server's loop
}

type stampSeat struct {
	Seat
	conn  *stamp.Conn
	fates []stampFate // of packets, since the last tick
}

// stampFate is what became of a packet of the view.
type stampFate struct {
	packet uint32
	lost   bool
}

// StampConfig sets up the dialect.
type StampConfig struct {
	Addr string

	// Room is the room that spectators watch. Default: the main room.
	Room string

	Log *slog.Logger
}

// NewStamp starts to serve the world over stamp.
func NewStamp(h *Hub, c StampConfig) (*Stamp, error) {
	d := &Stamp{service: newService(h, "stamp", "udp", plainSize), seats: map[*stamp.Conn]*stampSeat{}, room: c.Room}
	config := stamp.Config{
		MaxConns: h.cfg.MaxPlayers, MaxUnacked: spectatorBytes, Sessions: h.inBrowsers("stamp"), Banned: h.cfg.Banned, Log: c.Log,
	}
	server, err := stamp.Listen(c.Addr, config, d.handle)
	if err != nil {
		return nil, err
	}
	d.server, d.loop = server, server.Do
	h.Add(d)
	return d, nil
}

// Addr returns the address of the server.
func (d *Stamp) Addr() netip.AddrPort { return d.server.Addr() }

// Stats returns the server's counters.
func (d *Stamp) Stats() stamp.ServerStats { return d.server.Stats() }

// Shutdown says goodbye to all spectators.
func (d *Stamp) Shutdown(ctx context.Context) error { return d.server.Shutdown(ctx) }

// view is a spectator's, who is nowhere and sees everything.
func (d *Stamp) view() world.ViewConfig { return world.ViewConfig{Radius: -1} }

// handle runs on the loop.
func (d *Stamp) handle(c *stamp.Conn, ev stamp.Event) {
	switch ev.Kind {
	case stamp.EventConnected:
		d.hub.number(&c.LogNumber)
	case stamp.EventEntered: // who confirms nothing sees nothing
		s := &stampSeat{conn: c}
		s.connect(d, s, c.Source(), way.KindOf(c.Peer().Addr()).String(), d.hub.number(&c.LogNumber))
		s.spectator, s.wants = true, d.room
		d.seats[c] = s
		s.enter("")
	case stamp.EventClosed:
		if s := d.seats[c]; s != nil {
			delete(d.seats, c)
			s.leave(true) // a spectator has nothing to come back to
		}
	case stamp.EventAcked, stamp.EventLost:
		// The view is the hub's: it is told at the next tick.
		if s := d.seats[c]; s != nil {
			s.fates = append(s.fates, stampFate{ev.Tag, ev.Kind == stamp.EventLost})
		}
	}
}

// stampStage is a room over stamp.
type stampStage struct {
	*side
	d *Stamp
}

func (d *Stamp) stage(s *side) stage { return stampStage{s, d} }

func (x stampStage) publish() {
	if !x.d.open {
		return
	}
	for i := range x.seats {
		x.d.tell(x.inTurn(i).own.(*stampSeat))
	}
}

func (x stampStage) end() {}

// refuse closes the connection: stamp has no words.
func (s *stampSeat) refuse(why error) { s.conn.Close(why.Error()) }

// welcome says nothing: what follows does.
func (s *stampSeat) welcome() {}

func (d *Stamp) tell(s *stampSeat) {
	if s.kicked != nil {
		s.refuse(s.kicked)
		return
	}
	for _, f := range s.fates {
		if f.lost {
			s.view.Lost(uint64(f.packet))
		} else {
			s.view.Acked(uint64(f.packet))
		}
	}
	s.fates = s.fates[:0]
	budget := s.conn.Budget()
	s.estimate = s.conn.Path()
	s.estimate.RTT = s.conn.RTT()
	s.moved(s.conn.Bytes())
	// A record goes out in any case: what comes of it shows what the path takes.
	s.view.Allow(max(1, recordBytes(budget, s.conn.MaxData(), ipBytes+stampcore.HeaderBytes)))
	for s.view.Next() != nil {
		packet := s.view.Open()
		d.buf = d.fill(s.view, d.buf[:0], s.conn.MaxData())
		if len(d.buf) == 0 || s.conn.SendReport(d.buf, uint32(packet)) != nil {
			s.view.Lost(packet) // the window is full: at the next tick
			return
		}
	}
}

// fill puts what is most urgent into a packet.
func (d *Stamp) fill(v *world.View, b []byte, most int) []byte {
	for c := v.Next(); c != nil; c = v.Next() {
		was := len(b)
		var ok bool
		if b, ok = message.AppendRecord(b, c, message.Little, most); !ok {
			break
		}
		if c.What != world.Left {
			d.costs.whole(c, 1)
		}
		v.Take(len(b) - was)
	}
	return b
}
