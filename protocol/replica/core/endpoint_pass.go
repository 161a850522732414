package core

import (
	"errors"
	"time"

	"parley/internal/reliable"
)

// This file is about messages whose acknowledgement somebody waits for: a server's token, and a client's pass.

// ErrTag means that a tag is not from 1 to MaxTag.
var ErrTag = errors.New("replica: tag is out of range")

const (
	// MaxTag is the greatest tag of SendTagged.
	MaxTag = 1<<24 - 1

	// MaxPassBytes is the size of the largest Config.Pass: with its name it fits into one packet.
	MaxPassBytes = 1024

	// taggedBit marks the tag of an application among what is acknowledged. The tags of a view are places in a list, and far below it.
	taggedBit = 1 << 31

	// passTag marks a client's pass.
	passTag = taggedBit | (MaxTag + 1)

	passName = "parley.pass"
)

// SendTagged sends one of parley's own messages, as SendReserved does, in the mode Reliable. EventAcked comes with the tag, once, when the
// peer has acknowledged the message. If the connection ends before, it does not come. The tag is from 1 to MaxTag, and need not be unique.
// It is not sent.
func (e *Endpoint) SendTagged(now time.Time, name string, data []byte, tag uint32) error {
	e.now = now
	if err := e.mayTalk(); err != nil {
		return err
	}
	if err := e.Bounds().CheckReserved(Reliable, name, data); err != nil {
		return err
	}
	if tag == 0 || tag > MaxTag {
		return ErrTag
	}
	e.talked = true
	return e.sendTagged(now, name, data, taggedBit|tag)
}

// SendTagged sends one of parley's own messages to the client, and has its acknowledgement told. See Endpoint.SendTagged.
func (c *Conn) SendTagged(name string, data []byte, tag uint32) error {
	defer c.mux.conns.Touch(c)
	return c.endpoint.SendTagged(c.mux.now, name, data, tag)
}

func (e *Endpoint) sendTagged(now time.Time, name string, data []byte, tag uint32) error {
	number := uint16(e.sender.Next())
	b, err := e.sender.Place(now, messageOverhead+len(name)+len(data), reliable.Options{Tag: tag})
	if err != nil {
		return err
	}
	writeNamed(b, flagReliable, number, e.ServerTime(now), name, data)
	return nil
}

// tookTagged takes the acknowledgement of a message with a tag.
func (e *Endpoint) tookTagged(now time.Time, tag uint32) {
	if tag != passTag {
		e.events = append(e.events, Event{Kind: EventAcked, Tag: tag &^ taggedBit})
		return
	}
	e.client.passing = false
	if e.client.linkDue {
		e.client.linkDue = false
		e.linkOut(now, KindLinkInit)
	}
}

// showPass sends a client's pass. Its time proves our address, so nothing is earlier.
func (e *Endpoint) showPass(now time.Time) {
	if len(e.cfg.Pass) == 0 {
		return
	}
	if err := e.sendTagged(now, passName, e.cfg.Pass, passTag); err != nil {
		e.fail(now, Close{Reason: ReasonOverflow, Text: err.Error()}) // Dial has checked its size
		return
	}
	e.client.passing = true
}

// unsettled returns how many packets are under way, without a client's pass: that is shown again if the handshake begins anew.
func (e *Endpoint) unsettled() int {
	n := e.sender.InFlight(0)
	if e.client != nil && e.client.passing {
		n--
	}
	return n
}
