package shell

import (
	"context"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// MaxOutboxBytes bounds the bytes that wait between the program and a client's loop, with 6
// bytes of overhead for each message. Beyond it Put fails, so a server that takes nothing
// costs its client no more. A message may be larger, and then waits alone.
const MaxOutboxBytes = 256 << 10

// keptOutboxBytes is the size of buffer that an outbox always keeps. A program may have
// thousands of clients, and few of them send as fast as they can. A larger buffer is freed
// when it was mostly unused patientTurns times in a row.
const (
	keptOutboxBytes = 16 << 10
	patientTurns    = 1024
)

// Tag is a mark on a waiting message. Its lower six bits are the dialect's own.
type Tag uint8

const (
	// Passing means that the message may go before others that wait: the protocol does not
	// order it behind them.
	Passing Tag = 1 << 7

	// gone marks a message that was sent before others.
	gone Tag = 1 << 6
)

// Message is a message for an endpoint to send. Its name and data are valid during the call
// only: copy them to keep them.
type Message struct {
	Tag  Tag
	Name string
	Data []byte
}

// outbox is the bounded queue of messages from the program to a loop. They are stored one
// after the other as bytes:
//
//	size of all u32 · tag u8 · name size u8 · name · data
//
// Senders fill one buffer. The loop takes the whole buffer and gives the one that it has
// emptied in exchange. So a message costs its sender a lock and a copy, and the loop is
// woken once for all messages that come until it looks.
type outbox struct {
	wake func()

	errClosed, errFull error

	some atomic.Bool // there is something for the loop to do

	mu      sync.Mutex
	filling []byte        // not taken by the loop yet
	fresh   int           // messages in filling that may pass
	held    int           // bytes that the loop has taken and not sent
	woken   bool          // the loop was woken since it last looked
	closed  bool          // no more may come
	room    chan struct{} // if a sender waits: closed when there is room, or waiting is useless

	// Owned by the loop.
	taken  []byte
	at     int // all messages before this offset are sent
	passed int // all messages before this offset that may pass are sent
	loose  int // messages in taken that may pass and are not sent
	little int // times in a row that the buffer was much too large
}

const outboxHead = 6

// put takes a message, or returns errFull or errClosed.
func (o *outbox) put(tag Tag, name string, data []byte) error {
	n := outboxHead + len(name) + len(data)
	o.mu.Lock()
	used := o.held + len(o.filling)
	if o.closed || used > 0 && used+n > MaxOutboxBytes {
		closed := o.closed
		o.mu.Unlock()
		if closed {
			return o.errClosed
		}
		return o.errFull
	}
	b := binary.LittleEndian.AppendUint32(o.filling, uint32(n))
	b = append(b, byte(tag), byte(len(name)))
	b = append(b, name...)
	o.filling = append(b, data...)
	if tag&Passing != 0 {
		o.fresh++
	}
	// While the loop holds messages, it looks again when it has sent them.
	wake := !o.woken && (o.held == 0 || tag&Passing != 0)
	if wake {
		o.woken = true
		o.some.Store(true)
	}
	o.mu.Unlock()
	if wake {
		o.wake()
	}
	return nil
}

// putWait is like put, but waits for room until ctx ends.
func (o *outbox) putWait(ctx context.Context, tag Tag, name string, data []byte) error {
	for {
		err := o.put(tag, name, data)
		if err != o.errFull {
			return err
		}
		o.mu.Lock()
		if o.closed || o.held+len(o.filling) == 0 {
			o.mu.Unlock()
			continue
		}
		if o.room == nil {
			o.room = make(chan struct{})
		}
		room := o.room
		o.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// close makes put refuse further messages.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.tellRoom()
	o.mu.Unlock()
}

// tellRoom wakes senders that wait for room. The caller holds the lock.
func (o *outbox) tellRoom() {
	if o.room != nil {
		close(o.room)
		o.room = nil
	}
}

// drain gives send the waiting messages, in order, until send reports that there is no
// room. Then it tries only messages that may pass. It reports whether messages are left.
// The loop calls it.
func (o *outbox) drain(now time.Time, send func(now time.Time, m Message) bool) (left bool) {
	for o.take() {
		if !o.sendTaken(now, send) {
			break
		}
	}
	return o.settle()
}

// sendTaken sends the messages that the loop has taken, and reports whether all were sent.
func (o *outbox) sendTaken(now time.Time, send func(now time.Time, m Message) bool) bool {
	for o.at < len(o.taken) {
		m, n := o.message(o.at)
		if m.Tag&gone == 0 {
			if !send(now, m) {
				if o.loose > 0 && m.Tag&Passing == 0 {
					o.pass(now, send)
				}
				return false
			}
			if m.Tag&Passing != 0 {
				o.loose--
			}
		}
		o.at += n
	}
	return true
}

// pass tries to send messages that may go before the first one that waits.
func (o *outbox) pass(now time.Time, send func(now time.Time, m Message) bool) {
	for o.passed = max(o.passed, o.at); o.loose > 0 && o.passed < len(o.taken); {
		m, n := o.message(o.passed)
		if m.Tag&(Passing|gone) == Passing {
			if !send(now, m) {
				return
			}
			o.loose--
			o.taken[o.passed+4] |= byte(gone)
		}
		o.passed += n
	}
}

// message reads the message at an offset, and returns how many bytes it takes.
func (o *outbox) message(at int) (m Message, n int) {
	b := o.taken[at:]
	n = int(binary.LittleEndian.Uint32(b))
	m.Tag = Tag(b[4])
	name := outboxHead + int(b[5])
	// Not a copy: it would be the only allocation for a message.
	m.Name = unsafe.String(&b[outboxHead-1], name-outboxHead+1)[1:]
	m.Data = b[name:n:n]
	return m, n
}

// take takes the messages that the program has put in, and reports whether the loop has any.
// While the loop still has some, new messages stay in filling unless one of them may pass.
func (o *outbox) take() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.woken = false
	switch {
	case o.at == len(o.taken):
		o.recycle()
		o.filling, o.taken = o.taken[:0], o.filling
		o.at, o.passed = 0, 0
	case o.fresh > 0:
		o.passed = max(o.passed, o.at) - o.at
		o.taken = append(o.taken[:copy(o.taken, o.taken[o.at:])], o.filling...)
		o.filling = o.filling[:0]
		o.at = 0
	default:
		return true
	}
	o.loose, o.fresh = o.loose+o.fresh, 0
	o.held = len(o.taken) - o.at
	return o.held > 0
}

// recycle frees a buffer that was much too large many times in a row.
func (o *outbox) recycle() {
	switch {
	case cap(o.taken) <= keptOutboxBytes:
	case len(o.taken) >= cap(o.taken)/8:
		o.little = 0
	default:
		if o.little++; o.little > patientTurns {
			o.taken, o.little, o.at = nil, 0, 0
		}
	}
}

// settle notes how much was sent, and wakes senders that wait once half of the room is
// free.
func (o *outbox) settle() (left bool) {
	o.mu.Lock()
	o.held = len(o.taken) - o.at
	used := o.held + len(o.filling)
	o.some.Store(used > 0)
	if used <= MaxOutboxBytes/2 {
		o.tellRoom()
	}
	o.mu.Unlock()
	return used > 0
}

// drop makes put refuse further messages and discards the rest. The loop calls it.
func (o *outbox) drop() {
	o.close()
	o.taken, o.at, o.passed = nil, 0, 0
	o.mu.Lock()
	o.filling, o.fresh, o.held, o.loose = nil, 0, 0, 0
	o.some.Store(false)
	o.mu.Unlock()
}
