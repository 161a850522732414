package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"
)

// listing is a room in the directory.
type listing struct {
	Fingerprint string `json:"fingerprint"` // of the schema whose nodes run it
	Settings    []byte `json:"settings"`
	Mark        string `json:"mark"` // tells one creation of a room from another
}

// FingerprintError says that a room is of another schema than this node's game.
type FingerprintError struct{ Room, Has, Node string }

func (e *FingerprintError) Error() string {
	return fmt.Sprintf("cluster: room %q is of schema %s, and this node's game has %s: it runs on nodes of the former", e.Room, e.Has, e.Node)
}

// CreateRoom puts a room into the directory, with settings that only the caller reads. It is of this node's schema. It returns false if a
// room of that name is there.
func (n *Node) CreateRoom(ctx context.Context, name string, settings []byte) (created bool, err error) {
	key, err := token(name)
	if err != nil {
		return false, err
	}
	value, err := json.Marshal(listing{n.fingerprint(), settings, rand.Text()})
	if err != nil {
		return false, err
	}
	there, err := n.create(ctx, n.directory, key, value, 0)
	return err == nil && there == nil, err
}

// RoomSettings returns the settings of a room, and false if there is no such room.
func (n *Node) RoomSettings(ctx context.Context, name string) (settings []byte, ok bool, err error) {
	l, ok, err := n.listing(ctx, name)
	return l.Settings, ok, err
}

func (n *Node) listing(ctx context.Context, name string) (l listing, ok bool, err error) {
	key, err := token(name)
	if err != nil {
		return l, false, err
	}
	e, err := n.get(ctx, n.directory, key)
	if err != nil || e == nil {
		return l, false, err
	}
	if err := json.Unmarshal(e.Value(), &l); err != nil {
		return l, false, fmt.Errorf("cluster: the directory's entry of room %q: %w", name, err)
	}
	return l, true, nil
}

// ChangeRoom has a room have other settings, if it has those of before. It returns the settings that it has then, nil if there is no such room. The
// room's log is that of its settings: it begins anew.
func (n *Node) ChangeRoom(ctx context.Context, name string, before, after []byte) (now []byte, err error) {
	key, err := token(name)
	if err != nil {
		return nil, err
	}
	value, err := json.Marshal(listing{n.fingerprint(), after, rand.Text()})
	if err != nil {
		return nil, err
	}
	err = n.settle(ctx, "change room "+name, func(ctx context.Context) error {
		now = nil
		e, err := n.directory.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		var l listing
		if err := json.Unmarshal(e.Value(), &l); err != nil || !bytes.Equal(l.Settings, before) {
			now = l.Settings
			return nil
		}
		if _, err = n.directory.Update(ctx, key, value, e.Revision()); err == nil {
			now = after
		}
		return err // if another was faster, the next try sees it
	})
	return now, err
}

// EndRoomOf takes the room that has these settings out of the directory, and none that came after it, and removes its log and its snapshots. All nodes are
// told, and close it. It returns false if there is no such room any more.
func (n *Node) EndRoomOf(ctx context.Context, name string, settings []byte) (ended bool, err error) {
	key, err := token(name)
	if err != nil {
		return false, err
	}
	err = n.settle(ctx, "end room "+name, func(ctx context.Context) error {
		e, err := n.directory.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		var l listing
		if json.Unmarshal(e.Value(), &l) == nil && !bytes.Equal(l.Settings, settings) {
			return nil
		}
		err = n.directory.Purge(ctx, key, jetstream.LastRevision(e.Revision()), jetstream.PurgeTTL(markerTime))
		ended = ended || err == nil
		return err
	})
	if err != nil || !ended {
		return false, err
	}
	return true, n.ClearRoom(ctx, name, settings)
}

// ClearRoom removes the log and the snapshots of a room that is not in the directory any more, or has other settings there.
func (n *Node) ClearRoom(ctx context.Context, name string, settings []byte) error {
	key, err := token(logOf(name, settings))
	if err != nil {
		return err
	}
	s := shelf{node: n, name: name, key: key}
	return n.settle(ctx, "remove room "+name, s.clear)
}

// logOf returns the name of a room's log. A room that ended and came again has another: an append of a stage that has not heard of the end must not be
// the beginning of the new one.
func logOf(name string, settings []byte) string {
	if len(settings) == 0 {
		return name
	}
	h := fnv.New64a()
	h.Write(settings)
	return name + "." + strconv.FormatUint(h.Sum64(), 36)
}

// WatchRooms calls fn for each room that is there, and for each that comes or goes, until the node is closed. Calls come one after another,
// from a goroutine of the node. A room that ended and came again may be told once, with its new settings.
func (n *Node) WatchRooms(fn func(name string, settings []byte, there bool)) {
	n.follow("parley-directory", func() jetstream.KeyValue { return n.directory }, func(key string, value []byte, _ uint64) {
		name, l := nameOf(key), listing{}
		switch {
		case name == "":
		case value == nil:
			fn(name, nil, false)
		case json.Unmarshal(value, &l) == nil:
			fn(name, l.Settings, true)
		}
	})
}
