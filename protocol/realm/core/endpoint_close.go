package core

import (
	"time"

	"parley/internal/queue"
)

// Close says goodbye with an exit code, after everything that is queued. Bytes that are not
// written within Config.Linger are dropped.
func (e *Endpoint) Close(now time.Time, code ExitCode, text string) {
	e.fail(now, Close{Reason: ReasonClosed, Exit: code, Text: text})
}

// Cut ends the connection at once: nothing more is written.
func (e *Endpoint) Cut(now time.Time, text string) {
	e.now = now
	e.end(Close{Reason: ReasonClosed, Exit: ExitNetworkError, Text: text})
}

// fail ends the connection and tells the peer: "le stream est fermé après réception ou envoi
// d'un exit".
func (e *Endpoint) fail(now time.Time, c Close) {
	e.now = now
	if e.state >= StateClosing {
		return
	}
	if c.Reason == ReasonOverflow {
		e.out.clear(e.shared) // it would not read the rest either
	}
	e.state, e.close, e.closeBy = StateClosing, c, now.Add(e.cfg.Linger)
	f := e.shared.frame(e.cfg.codec, &Message{Kind: KindExit, Code: uint8(c.Exit)})
	e.put(f)
	e.shared.release(f)
}

// leave ends the connection because the peer said so: nothing is answered.
func (e *Endpoint) leave(code ExitCode) {
	c := Close{Reason: ReasonPeer, Remote: true, Exit: code}
	if e.state == StateClosing {
		c = e.close
	}
	e.end(c)
}

// end is the end.
func (e *Endpoint) end(c Close) {
	if e.state == StateClosed {
		return
	}
	e.state, e.close, e.last = StateClosed, c, true
	e.input = nil
	e.out.close(e.shared)
	e.in.drop()
	e.terrain = terrain{}
	e.server.asked, e.announced = queue.Fifo[asked]{}, queue.Fifo[Event]{} // nobody waits for answers
}
