package core

import (
	"time"
	"unicode/utf8"
)

// SendReserved sends a message whose name begins with "parley.": "message names that start
// with `parley.` are ours". It is for parley's own servers and clients, which agree on the
// meaning of such messages. A game uses Send.
func (e *Endpoint) SendReserved(now time.Time, mode Mode, name string, data []byte) error {
	e.now = now
	if err := e.mayTalk(); err != nil {
		return err
	}
	if err := checkReserved(name); err != nil {
		return err
	}
	e.talked = true
	return e.send(now, mode, name, data)
}

func checkReserved(name string) error {
	if !isOurs(name) || name == goneName || name == bundlesName || len(name) > MaxNameBytes || !utf8.ValidString(name) {
		return ErrName
	}
	return nil
}

// SendReserved sends one of parley's own messages to the client. See Endpoint.SendReserved.
func (c *Conn) SendReserved(mode Mode, name string, data []byte) error {
	defer c.mux.conns.Touch(c)
	return c.endpoint.SendReserved(c.mux.now, mode, name, data)
}
