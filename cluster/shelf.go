package cluster

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// shelf is what the store has of a room.
type shelf struct {
	node *Node
	name string
	key  string // the name as a token
}

// streamOf returns the number of the stream of a room.
func streamOf(key string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(key))
	return h.Sum32() % logStreams
}

func (s shelf) subject() string { return fmt.Sprintf("parley.log.%d.%s", streamOf(s.key), s.key) }

// logName is the name of the stream with a number.
func logName(number uint32) string { return fmt.Sprintf("parley-log-%d", number) }

// logConfig is the stream of logs with a number. Subjects of one stream may not overlap with those of another: the number is part of them. A log has no
// maximum age: the last entry of a room is what the next one must follow, however long it has slept.
func logConfig(number uint32) jetstream.StreamConfig {
	subjects := fmt.Sprintf("parley.log.%d.*", number)
	return jetstream.StreamConfig{
		Name: logName(number), Subjects: []string{subjects}, Storage: jetstream.FileStorage, Duplicates: dedupe,
		RePublish: &jetstream.RePublish{Source: subjects, Destination: "parley.told.{{wildcard(1)}}"},
	}
}

// stream returns the stream of the room's log.
func (s shelf) stream() (jetstream.Stream, error) {
	if stream := s.node.stream(logName(streamOf(s.key))); stream != nil {
		return stream, nil
	}
	return nil, fmt.Errorf("%w: the node is not ready", ErrUnavailable)
}

// ended is what NATS says that refuses an append as the subject has no message.
const ended = "wrong last sequence: 0"

// inProcess is what NATS says of a message whose first try is not settled yet.
const inProcess = 10158

// isTaken reports whether the store has refused an append because another came first, or because a try of the same is in process: the log says which.
func isTaken(err error) bool {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return false
	}
	switch api.ErrorCode {
	case jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant, inProcess:
		return true
	}
	return false
}

// offer appends an entry to the log, if the log's last entry is after, or if it has none and is to begin anew. It returns its place, or that another is
// there: it may be this very entry, from a try whose answer was lost. It may also be that there is none, although some are expected.
func (s shelf) offer(ctx context.Context, after uint64, anew bool, entry []byte) (seq uint64, taken, none bool, err error) {
	expected := after
	if anew {
		expected = 0
	}
	h := fnv.New64a()
	h.Write(entry)
	m := &nats.Msg{Subject: s.subject(), Data: entry, Header: nats.Header{}}
	m.Header.Set(jetstream.MsgIDHeader, s.key+"."+strconv.FormatUint(s.node.id, 36)+"."+strconv.FormatUint(after, 36)+"."+strconv.FormatUint(h.Sum64(), 36))
	m.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(expected, 10))
	ack, err := s.node.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
	switch {
	case isTaken(err):
		return 0, true, expected > 0 && strings.Contains(err.Error(), ended), nil
	case err == nil && ack.Duplicate:
		return 0, true, false, nil
	case err != nil:
		return 0, false, false, err
	}
	return ack.Sequence, false, false, nil
}

// isEmpty reports whether the log has no entry at all, though its stream has had the one that was the last: the store has removed what it should have kept.
func (s shelf) isEmpty(ctx context.Context, last uint64) (bool, error) {
	stream, err := s.stream()
	if err != nil {
		return false, err
	}
	if _, err := stream.GetLastMsgForSubject(ctx, s.subject()); !errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, err
	}
	info, err := stream.Info(ctx)
	return err == nil && info.State.LastSeq >= last, err // else it is another stream
}

// slots are where the newest two snapshots of a room are.
var slots = [2]string{".0", ".1"}

// seqs returns of which entries the room's snapshots are, 0 for none, and how many bytes they have.
func (s shelf) seqs(ctx context.Context) (seqs [2]uint64, sizes [2]int64, err error) {
	for i, slot := range slots {
		info, err := s.node.snapshots.GetInfo(ctx, s.key+slot)
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			continue
		}
		if err != nil {
			return seqs, sizes, err
		}
		sizes[i] = int64(min(info.Size, maxSnapshot))
		seqs[i], _ = strconv.ParseUint(info.Metadata["seq"], 10, 64)
	}
	return seqs, sizes, nil
}

// read reads a snapshot, and of which entry it is. It calls moves whenever some of it has come.
func (s shelf) read(ctx context.Context, slot int, moves func()) (seq uint64, b []byte, err error) {
	o, err := s.node.snapshots.Get(ctx, s.key+slots[slot])
	if err != nil {
		return 0, nil, err
	}
	defer o.Close()
	info, err := o.Info()
	if err != nil {
		return 0, nil, err
	}
	if seq, err = strconv.ParseUint(info.Metadata["seq"], 10, 64); err != nil {
		return 0, nil, err
	}
	b, err = io.ReadAll(io.LimitReader(moving{o, moves}, maxSnapshot))
	if err == nil {
		err = o.Error()
	}
	return seq, b, err
}

// moving says when some has been read.
type moving struct {
	io.Reader
	moves func()
}

func (m moving) Read(b []byte) (int, error) {
	n, err := m.Reader.Read(b)
	m.moves()
	return n, err
}

// clear removes all that the store has of the room.
func (s shelf) clear(ctx context.Context) error {
	stream, err := s.stream()
	if err != nil {
		return err
	}
	if err := stream.Purge(ctx, jetstream.WithPurgeSubject(s.subject())); err != nil {
		return err
	}
	for _, slot := range slots {
		if err := s.node.snapshots.Delete(ctx, s.key+slot); err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
			return err
		}
	}
	return s.node.records.Purge(ctx, s.key, jetstream.PurgeTTL(markerTime))
}
