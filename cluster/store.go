package cluster

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"parley/cluster/core"
)

// store does what an order says, and returns how the core is told.
func (r *Room) store(ctx context.Context, o core.Order) (answer func(), err error) {
	switch o.Kind {
	case core.Append:
		return r.append(ctx, o)
	case core.Fetch:
		return r.fetch(ctx, o)
	case core.Look:
		return r.look(ctx)
	case core.Bid:
		return r.bid(ctx, o)
	case core.Load:
		return r.load(ctx)
	case core.Save:
		if err := r.save(ctx, o); err != nil {
			return nil, err
		}
		r.node.count(func(s *Stats) { s.Saved++ })
		return func() { r.core.HandleSaved(time.Now(), o.Seq) }, nil
	}
	return nil, nil
}

// append offers an entry to the log.
func (r *Room) append(ctx context.Context, o core.Order) (func(), error) {
	seq, taken, none, err := r.offer(ctx, o.Seq, o.Anew, o.Bytes)
	lost, newest := false, uint64(0)
	if err == nil && none {
		lost, newest, err = r.lost(ctx, o.Seq)
	}
	switch {
	case err != nil:
		return nil, err
	case lost:
		return func() { r.core.HandleLost(time.Now(), o.Seq, newest) }, nil
	case taken: // the log says which entry it is
		return func() { r.core.HandleRefused(time.Now(), o.Seq) }, nil
	}
	return func() { r.core.HandleAppended(time.Now(), o.Seq, seq) }, nil
}

// lost reports whether the store has lost the log, and of which entry the newest snapshot is. The log of a room that has ended is not lost.
func (r *Room) lost(ctx context.Context, last uint64) (lost bool, newest uint64, err error) {
	if lost, err = r.isEmpty(ctx, last); err != nil || !lost {
		return false, 0, err
	}
	if r.cfg.Log != "" { // else its owner knows whether it has ended
		l, there, err := r.node.listing(ctx, r.name)
		if err != nil || !there || logOf(r.name, l.Settings) != r.log {
			return false, 0, err
		}
	}
	seqs, _, err := r.seqs(ctx)
	return err == nil, max(seqs[0], seqs[1]), err
}

// fetch reads the first entry behind another. The leader answers: a replica that is behind would say that there is none.
func (r *Room) fetch(ctx context.Context, o core.Order) (func(), error) {
	s, err := r.stream()
	if err != nil {
		return nil, err
	}
	m, err := s.GetMsg(ctx, o.Seq+1, jetstream.WithGetMsgSubject(r.subject()))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return func() { r.core.HandleFetched(time.Now(), o.Seq, 0, nil) }, nil
	}
	if err != nil {
		return nil, err
	}
	return func() { r.core.HandleFetched(time.Now(), o.Seq, m.Sequence, m.Data) }, nil
}

// look reads the room's record.
func (r *Room) look(ctx context.Context) (func(), error) {
	e, err := r.node.records.Get(ctx, r.key)
	if err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, err
	}
	var rec core.Record
	if err == nil {
		rec = readRecord(e.Value(), e.Revision())
	}
	return func() { r.core.HandleRecord(time.Now(), rec) }, nil
}

// bid makes the record this node's, if nobody else has changed it.
func (r *Room) bid(ctx context.Context, o core.Order) (func(), error) {
	b := binary.LittleEndian.AppendUint64(nil, o.Node)
	b = binary.LittleEndian.AppendUint64(b, o.Epoch)
	var err error
	if o.Revision == 0 {
		_, err = r.node.records.Create(ctx, r.key, b)
	} else {
		_, err = r.node.records.Update(ctx, r.key, b, o.Revision)
	}
	if err != nil && !isTaken(err) {
		return nil, err
	}
	return r.look(ctx)
}

// load reads the newest snapshot, or the one before it if that cannot be read.
func (r *Room) load(ctx context.Context) (func(), error) {
	seqs, sizes, err := r.seqs(ctx)
	if err != nil {
		return nil, err
	}
	newest := 0
	if seqs[1] > seqs[0] {
		newest = 1
	}
	for _, i := range []int{newest, 1 - newest} {
		if seqs[i] == 0 {
			continue
		}
		ctx, cancel := context.WithTimeout(r.ctx, timeFor(sizes[i]))
		seq, b, err := r.read(ctx, i, func() { r.moves(time.Now()) }) // another may be in its place by now
		late := ctx.Err() != nil
		cancel()
		if err == nil {
			return func() { r.core.HandleSnapshot(time.Now(), seq, b) }, nil
		}
		if late {
			return nil, err
		}
		r.node.cfg.Log.Error("a snapshot cannot be read", "room", r.name, "err", err)
	}
	if seqs != [2]uint64{} {
		return nil, errors.New("no snapshot can be read")
	}
	return func() { r.core.HandleSnapshot(time.Now(), 0, nil) }, nil
}

// save keeps a snapshot in the place of the older one, reads it back, and removes the entries that neither needs.
func (r *Room) save(ctx context.Context, o core.Order) error {
	seqs, _, err := r.seqs(ctx)
	if err != nil || seqs[0] >= o.Seq || seqs[1] >= o.Seq {
		return err
	}
	older := 0
	if seqs[1] < seqs[0] {
		older = 1
	}
	meta := jetstream.ObjectMeta{Name: r.key + slots[older], Metadata: map[string]string{"seq": strconv.FormatUint(o.Seq, 10), "tick": strconv.FormatUint(o.Tick, 10)}}
	if _, err := r.node.snapshots.Put(ctx, meta, bytes.NewReader(o.Bytes)); err != nil {
		return err
	}
	seq, back, err := r.read(ctx, older, func() {})
	if err != nil || seq != o.Seq || !bytes.Equal(back, o.Bytes) {
		return fmt.Errorf("the snapshot does not read as it was written: %w", errors.Join(err))
	}
	behind := seqs[1-older] // the older of the two that are there now
	if behind == 0 {
		return nil
	}
	s, err := r.stream()
	if err != nil {
		return err
	}
	return s.Purge(ctx, jetstream.WithPurgeSubject(r.subject()), jetstream.WithPurgeSequence(behind+1))
}
