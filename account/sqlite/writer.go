package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
)

const (
	// maxBatch bounds a transaction, so that the first of many writes is not
	// held up by the last.
	maxBatch = 256

	// maxWaiting bounds the writes that wait for the writer; further callers wait to be let in, until
	// their context ends.
	maxWaiting = 1024
)

// errClosed is returned after Close.
var errClosed = errors.New("the store is closed")

// A write is something to be done in a transaction.
type write struct {
	do   func(*pen) error
	done chan error // of 1
}

// A writer is the only one in this process that writes. While it waits for the disk, writes queue up, and
// the next transaction has them all: one flush for many.
type writer struct {
	pen   *pen
	queue chan *write
	stop  chan struct{}
	ended chan struct{}

	commits atomic.Uint64 // transactions so far
}

func startWriter(conn *sql.Conn) *writer {
	w := &writer{pen: &pen{Conn: conn, stmts: map[string]*sql.Stmt{}}, queue: make(chan *write, maxWaiting), stop: make(chan struct{}), ended: make(chan struct{})}
	go w.run()
	return w
}

// do has a write done and returns when it is on disk. If the context ends before, it may be done or
// not.
func (w *writer) do(ctx context.Context, f func(*pen) error) error {
	x := &write{f, make(chan error, 1)}
	select {
	case w.queue <- x:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.stop:
		return errClosed
	}
	select {
	case err := <-x.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-w.ended:
	}
	// It was answered at the end, or came too late.
	select {
	case err := <-x.done:
		return err
	default:
		return errClosed
	}
}

// close does what was asked for so far and ends.
func (w *writer) close() error {
	close(w.stop)
	<-w.ended
	return w.pen.close()
}

func (w *writer) run() {
	defer close(w.ended)
	batch := make([]*write, 0, maxBatch)
	for {
		batch = batch[:0]
		select {
		case x := <-w.queue:
			batch = append(batch, x)
		case <-w.stop:
		}
		for full := false; !full && len(batch) < maxBatch; {
			select {
			case x := <-w.queue:
				batch = append(batch, x)
			default:
				full = true
			}
		}
		if len(batch) == 0 {
			return
		}
		w.commit(batch)
	}
}

// commit does writes in one transaction. If one of them spoils it, each is done in one of its own, so that a
// write fails only for its own reasons.
func (w *writer) commit(batch []*write) {
	results, err := w.try(batch)
	switch {
	case err == nil:
		for i, x := range batch {
			x.done <- results[i]
		}
	case len(batch) > 1 && errors.As(err, &spoiled{}):
		for i := range batch {
			w.commit(batch[i : i+1])
		}
	default:
		for _, x := range batch {
			x.done <- err
		}
	}
}

// spoiled is the error of a transaction that was undone because of one of its writes.
type spoiled struct{ error }

func (e spoiled) Unwrap() error { return e.error }

// try does writes in one transaction and returns the answer of each, or why nothing was done.
func (w *writer) try(batch []*write) ([]error, error) {
	if err := w.pen.change("BEGIN IMMEDIATE"); err != nil {
		return nil, err
	}
	results := make([]error, len(batch))
	for i, x := range batch {
		results[i] = x.do(w.pen)
		// After some errors SQLite has ended the transaction by itself, and what came next would be
		// in none.
		if !isHarmless(results[i]) {
			return nil, w.undo(results[i], true)
		}
	}
	if err := w.pen.change("COMMIT"); err != nil {
		return nil, w.undo(err, wasUndone(err))
	}
	w.commits.Add(1)
	return results, nil
}

// undo ends a transaction and returns its error. Whether it was ended already is not worth knowing: the next BEGIN
// would tell.
func (w *writer) undo(err error, certain bool) error {
	_ = w.pen.change("ROLLBACK")
	if certain {
		return spoiled{err}
	}
	return err
}
