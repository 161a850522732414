package call

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/datagram"
)

// datagrams is the carrier of a session's messages.
type datagrams struct {
	*mail
	local, remote netip.AddrPort
	beside        bool // a stream's end is that of the session
	woken         atomic.Bool
	once          sync.Once
	closed        chan struct{}

	lent                        [][]byte // what the loop has in its hands
	datagrams, bytes, turnsFull atomic.Uint64
}

var _ datagram.Carrier = (*datagrams)(nil)

func newDatagrams(s *Session, beside bool) *datagrams {
	return &datagrams{mail: newMail(s.messages, s.largest), local: s.local, remote: s.remote, beside: beside, closed: make(chan struct{})}
}

// LocalAddr is that of datagram.Carrier.
func (d *datagrams) LocalAddr() netip.AddrPort { return d.local }

// RemoteAddr is that of datagram.Carrier.
func (d *datagrams) RemoteAddr() netip.AddrPort { return d.remote }

// NewSendBatch is that of datagram.Carrier. Some cores also use its room for what goes over their streams.
func (d *datagrams) NewSendBatch() *datagram.SendBatch { return datagram.NewSendBatch(4, pieceBytes) }

// Serve is that of datagram.Carrier.
func (d *datagrams) Serve(turn datagram.Turn) error {
	in := datagram.NewSessionBatch(turnDatagrams, maxMessage)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for due, until := true, (time.Time{}); ; {
		n, err := d.take(&in)
		woken := d.woken.Swap(false)
		if n > 0 || woken || due {
			var next datagram.Next
			if next, until = turn(&in, woken); next == datagram.Stop {
				return nil
			}
			if due = next == datagram.Again; due || n > 0 {
				continue
			}
		}
		if err != nil && !d.beside {
			return err
		}
		due = d.wait(timer, until)
		select {
		case <-d.closed:
			return datagram.ErrClosed
		default:
		}
	}
}

// take moves what came into a batch, and returns how many those are. The error is the session's, when all has been taken.
func (d *datagrams) take(in *datagram.RecvBatch) (int, error) {
	in.Clear()
	d.mu.Lock()
	for _, b := range d.lent {
		d.lender.Give(b)
	}
	d.lent = d.lent[:0]
	for d.in.Len() > 0 && len(d.lent) < turnDatagrams {
		d.lent = append(d.lent, d.in.Pop())
	}
	err := d.err
	d.mu.Unlock()
	if len(d.lent) == 0 {
		return 0, err
	}
	for _, b := range d.lent {
		in.Add(d.remote, b, 0)
	}
	d.datagrams.Add(in.Tally.Datagrams)
	d.bytes.Add(in.Tally.Bytes)
	d.turnsFull.Add(1)
	return len(d.lent), nil
}

// wait sleeps until something changes or the time until has come. It reports whether the time has come.
func (d *datagrams) wait(timer *time.Timer, until time.Time) (due bool) {
	var at <-chan time.Time
	if !until.IsZero() {
		timer.Reset(time.Until(until))
		at = timer.C
	}
	select {
	case <-d.signal:
		timer.Stop()
		return false
	case <-d.closed:
		return false
	case <-at:
		return true
	}
}

// Write is that of datagram.Carrier. It does not wait.
func (d *datagrams) Write(out *datagram.SendBatch) error {
	entries := out.Entries()
	for i := range entries {
		d.put(out.Payload(&entries[i]))
	}
	if len(entries) > 0 {
		notify(d.more)
	}
	out.Reset()
	return nil
}

// WriteInTurn is Write.
func (d *datagrams) WriteInTurn(out *datagram.SendBatch) error { return d.Write(out) }

// Wake is that of datagram.Carrier.
func (d *datagrams) Wake() {
	d.woken.Store(true)
	notify(d.signal)
}

// Stats is that of datagram.Carrier.
func (d *datagrams) Stats() (s datagram.Stats) {
	d.stats(&s)
	s.InDatagrams, s.InBytes, s.InBatches = d.datagrams.Load(), d.bytes.Load(), d.turnsFull.Load()
	return s
}

// Close is that of datagram.Carrier. Beside a stream it leaves the session to that.
func (d *datagrams) Close() error {
	d.once.Do(func() {
		close(d.closed)
		d.close()
	})
	return nil
}
