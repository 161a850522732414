package stream

import (
	"context"
	"crypto/tls"
	"runtime"
	"time"
)

// prepareTLS makes the configuration that connections use: the user's, in which a slot is
// taken when the client's hello has come whole. What follows at once, up to where the server
// waits for the client again, is the dear part: so many may compute at once, and none of them
// waits for a peer meanwhile.
func (l *Listener) prepareTLS() {
	if l.config.TLS == nil {
		return
	}
	l.slots = make(chan struct{}, 2*runtime.GOMAXPROCS(0))
	l.tls = l.config.TLS.Clone()
	// Records as large as what is sent: the dynamic sizes are for browsers that show the
	// first bytes of a page, and cost a system call each.
	l.tls.DynamicRecordSizingDisabled = true
	user := l.config.TLS.GetConfigForClient
	l.tls.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		var own *tls.Config
		if user != nil {
			var err error
			if own, err = user(hello); err != nil {
				return nil, err
			}
		}
		hello.Conn.(*Conn).takeSlot()
		return own, nil
	}
	if certificate := l.config.TLS.GetCertificate; certificate != nil {
		// It may ask an authority, which takes seconds: without a slot.
		l.tls.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			c := hello.Conn.(*Conn)
			c.giveSlot()
			defer c.takeSlot()
			return certificate(hello)
		}
	}
}

// enterShake counts a connection that begins its handshake, and cuts the oldest if they are
// too many. l.mu is held.
func (l *Listener) enterShake(c *Conn) {
	c.shaking = true
	l.shaking++
	l.shakes.Push(c)
	for l.shakes.Len() > 0 && (l.shaking > l.config.Handshakes || !(*l.shakes.First()).shaking) {
		oldest := l.shakes.Pop()
		if oldest.shaking {
			oldest.shaking = false
			l.shaking--
			l.crowded.Add(1)
			oldest.socket.Close()
		}
	}
}

// leaveShake reports whether the connection may go on.
func (l *Listener) leaveShake(c *Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := c.shaking
	if was {
		c.shaking = false
		l.shaking--
	}
	return was
}

// shake makes the handshake. The goroutine that reads is another, as its stack has not grown.
func (c *Conn) shake() {
	c.waits = true
	c.socket.SetDeadline(c.born.Add(c.l.config.HandshakeTime))
	c.tls = tls.Server(c, c.l.tls)
	err := c.tls.HandshakeContext(context.Background())
	c.giveSlot()
	c.waits = false
	if !c.l.leaveShake(c) || err != nil {
		if err != nil {
			c.l.badShake.Add(1)
		}
		c.socket.Close()
		c.l.forget(c)
		return
	}
	c.socket.SetDeadline(time.Time{})
	c.l.mu.Lock()
	c.l.open(c)
	c.l.mu.Unlock()
}

// takeSlot waits for a slot. Only the goroutine of the handshake does so.
func (c *Conn) takeSlot() {
	if !c.slot {
		c.slot = true
		c.l.slots <- struct{}{}
	}
}

func (c *Conn) giveSlot() {
	if c.slot {
		c.slot = false
		<-c.l.slots
	}
}
