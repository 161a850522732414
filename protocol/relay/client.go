package relay

import (
	"bytes"
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"time"

	"parley/internal/datagram"
	"parley/internal/over"
	"parley/internal/shell"
	"parley/internal/udp"
	"parley/protocol/relay/core"
)

// Client is a core.Endpoint with a socket: a participant of a room. Its methods may be called by any goroutine.
type Client struct {
	endpoint *participant // owned by the loop
	shell    *shell.Client[Event]
}

// participant is a client's end of a conversation, which leaves only when no packages wait to be given to it.
type participant struct {
	*core.Endpoint
	more    bool // packages wait
	leaving bool // it leaves when none does
}

// Dial joins the room of the server at addr, written host:port, and returns when the client's first package is
// confirmed. If the server refuses with a reason, the error is a Close. If nothing at all comes from the server, Dial
// tries again from another local port: for 10 s after a participant has left, the server ignores its port, which the
// system may have chosen again. If there is no server, Dial returns a Close after some 12 s. If ctx ends first, it
// returns the error of ctx.
func Dial(ctx context.Context, addr string, c Config) (*Client, error) {
	if open := over.Of(ctx); open != nil { // each session has an address of its own, which the server does not ignore
		return dial(ctx, open.Datagrams, c, 0)
	}
	peer, err := shell.Resolve(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("relay: dial %s: %w", addr, err)
	}
	return dialFrom(ctx, c, func() (datagram.Carrier, error) {
		return udp.Dial(peer, udp.Config{Batch: shell.ClientBatch, MaxDatagram: 1024, NoGRO: true})
	})
}

// unheardAfter is how long Dial waits for anything at all before it tries from another port.
const unheardAfter = 1500 * time.Millisecond

// dialFrom tries one socket after the other while nothing at all comes. The last try is as patient as the rules say.
func dialFrom(ctx context.Context, c Config, open func() (datagram.Carrier, error)) (*Client, error) {
	for _, patience := range []time.Duration{unheardAfter, 2 * unheardAfter, 0} {
		carrier, err := open()
		if err != nil {
			return nil, fmt.Errorf("relay: %w", err)
		}
		x, err := dial(ctx, carrier, c, patience)
		if why := (Close{}); !errors.As(err, &why) || why.Reason != core.ReasonUnheard {
			return x, err
		}
	}
	panic("relay: a client gave up that was to be patient")
}

// dial joins from a socket. With a patience it gives up when nothing came for that long.
func dial(ctx context.Context, carrier datagram.Carrier, c Config, patience time.Duration) (*Client, error) {
	e, err := core.NewClient(time.Now(), carrier.RemoteAddr(), c, &core.Shared{Rand: shell.Rand()})
	if err != nil {
		return nil, errors.Join(err, carrier.Close())
	}
	e.GiveUpUnheard(patience)
	e.RTT() // has the path measured, for those who ask later
	x := &Client{endpoint: &participant{Endpoint: e}}
	x.shell, err = shell.Dial(ctx, carrier, x.endpoint, shell.ClientConfig[Event]{
		Name: "relay", Closed: ErrClosed, Full: ErrBacklogFull, Log: c.Log,
		Kind: kind, First: uint8(EventJoined), Final: uint8(EventLeft), Own: owned, Size: size, Last: last,
		Send: x.send, Left: x.endpoint.left, Heard: func() bool { return x.endpoint.Stats().In > 0 },
	})
	if err != nil {
		return nil, err
	}
	return x, nil
}

// Send queues a package to all others or to the server, and returns. The packages of one goroutine are sent in the
// order of its calls. If Send returns an error, nothing is sent. The error is ErrBacklogFull while too much is queued,
// ErrPayloadSize, core.ErrMode, or ErrClosed once the client has left the room (Err returns the reason).
func (c *Client) Send(mode Mode, to core.Target, payload []byte) error {
	if err := checkPackage(mode, payload); err != nil {
		return err
	}
	return c.shell.Put(tagOf(mode, to), "", payload)
}

// SendWait is Send, but waits where Send returns ErrBacklogFull. If ctx ends first, it returns the error of ctx.
func (c *Client) SendWait(ctx context.Context, mode Mode, to core.Target, payload []byte) error {
	if err := checkPackage(mode, payload); err != nil {
		return err
	}
	return c.shell.PutWait(ctx, tagOf(mode, to), "", payload)
}

// Queue packs a message into one package with others of the same mode and target. The package is sent after
// Config.FlushAfter at the latest: see core.Endpoint.Queue. Queue returns the same errors as Send.
func (c *Client) Queue(mode Mode, to core.Target, message []byte) error {
	if err := checkPackage(mode, message); err != nil {
		return err
	}
	return c.shell.Put(tagOf(mode, to)|tagQueue, "", message)
}

func checkPackage(mode Mode, payload []byte) error {
	switch {
	case mode > SemiOrdered:
		return core.ErrMode
	case len(payload) == 0 || len(payload) > MaxPayload:
		return ErrPayloadSize
	}
	return nil
}

// How a package waits: its mode in the lower bits, and these.
const (
	tagServer shell.Tag = 1 << 2
	tagQueue  shell.Tag = 1 << 3
	tagMode             = tagServer - 1
)

// tagOf is how a package waits. Only a reliable one has a place that must be kept.
func tagOf(mode Mode, to core.Target) shell.Tag {
	tag := shell.Tag(mode)
	if to == ToServer {
		tag |= tagServer
	}
	if mode == Unreliable {
		tag |= shell.Passing
	}
	return tag
}

// send gives the endpoint a package that was checked. One that the end has overtaken is let go.
func (c *Client) send(now time.Time, m shell.Message) bool {
	mode, to := Mode(m.Tag&tagMode), ToOthers
	if m.Tag&tagServer != 0 {
		to = ToServer
	}
	var err error
	if m.Tag&tagQueue != 0 {
		err = c.endpoint.Queue(now, mode, to, m.Data)
	} else {
		err = c.endpoint.Send(now, mode, to, m.Data)
	}
	return err != ErrBacklogFull && err != core.ErrNotJoined
}

// Events yields events and waits for more: packages, and at the end EventLeft. Dial has waited for EventJoined.
// Events own their bytes. A reader that stops early may call Events again. If several goroutines call Events, each
// event goes to one of them.
//
// While nobody reads, events wait in a bounded queue of the client, then in the engine. Once both are full, reliable
// packages are not confirmed: the server sends them again, and removes the client when too many wait for it. The
// oldest unreliable packages are dropped. Close drops the events that still wait in the engine.
func (c *Client) Events() iter.Seq[Event] { return c.shell.Events() }

// Err returns the reason why the client is no longer in the room, as a Close, or nil while it is. The client may be
// out of the room before Events has yielded all events.
func (c *Client) Err() error { return c.shell.Err() }

// Close waits until everything sent is confirmed, and then leaves the room. If ctx ends first, it returns the error
// of ctx, and unconfirmed packages may be lost. After Close, Events yields the events that are left and ends. Close
// every client, even one that is already out of its room.
func (c *Client) Close(ctx context.Context) error { return c.shell.Close(ctx) }

// Close leaves, once all that was sent before is with the endpoint.
func (p *participant) Close(now time.Time, text string) {
	if p.leaving = true; !p.more {
		p.Endpoint.Close(now, text)
	}
}

func (p *participant) left(now time.Time, left bool) {
	if p.more = left; !left && p.leaving {
		p.Endpoint.Close(now, "")
	}
}

// Abort leaves at once.
func (p *participant) Abort(now time.Time, text string) {
	p.Cut(now, Close{Reason: core.ReasonClosed, Text: text})
}

// Stats returns the counters. It works after Close, too.
func (c *Client) Stats() (s Stats) {
	c.shell.Ask(func(time.Time) { s = c.endpoint.Stats() })
	return s
}

// RTT returns the round-trip time of the path, 0 while it is unknown. It leaves out the time for which a server of this package
// gathers confirmations.
func (c *Client) RTT() (d time.Duration) {
	c.shell.Ask(func(time.Time) { d = c.endpoint.RTT() })
	return d
}

// LocalAddr returns the client's address.
func (c *Client) LocalAddr() netip.AddrPort { return c.shell.LocalAddr() }

func kind(ev Event) uint8 { return uint8(ev.Kind) }

// owned returns an event with bytes of its own.
func owned(ev Event) Event {
	ev.Package.Payload = bytes.Clone(ev.Package.Payload)
	return ev
}

func size(ev Event) int { return len(ev.Package.Payload) }

// last is the event that ends all: a Close is the endpoint's, all else a failure of the
// socket.
func last(why error) Event {
	ev := Event{Kind: EventLeft}
	if !errors.As(why, &ev.Close) && why != nil {
		ev.Close = Close{Reason: core.ReasonSocket, Text: why.Error()}
	}
	return ev
}

// NewTicket returns a ticket for a room, valid from now on for the given time. Its serial is unique.
func NewTicket(key TicketKey, room, name string, valid time.Duration) ([]byte, error) {
	t := core.Ticket{Room: room, Name: name, Expires: time.Now().Add(valid)}
	cryptorand.Read(t.Serial[:])
	return key.Issue(t)
}
