package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"parley/cluster/clustertest"
)

// board is what a watcher has told.
type board struct {
	mu   sync.Mutex
	has  map[string]string
	told int
}

func (b *board) tell(name string, body []byte, there bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.told++
	if b.has == nil {
		b.has = map[string]string{}
	}
	if there {
		b.has[name] = string(body)
	} else {
		delete(b.has, name)
	}
}

func (b *board) is(want map[string]string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.has) != len(want) {
		return false
	}
	for k, v := range want {
		if got, ok := b.has[k]; !ok || got != v {
			return false
		}
	}
	return true
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	url := clustertest.NATS(t)
	a, b := newNode(t, Config{URLs: []string{url}}), newNode(t, Config{URLs: []string{url}})
	ctx := t.Context()
	odd := "a.b *>\x00é"
	var early, late board
	a.WatchRooms(early.tell)
	for _, name := range []string{"main", odd, "c"} {
		if created, err := a.CreateRoom(ctx, name, []byte("of "+name)); !created || err != nil {
			t.Fatalf("%q: %v, %v", name, created, err)
		}
		if created, err := b.CreateRoom(ctx, name, nil); created || err != nil {
			t.Fatalf("%q again: %v, %v", name, created, err)
		}
	}
	b.WatchRooms(late.tell)
	all := map[string]string{"main": "of main", odd: "of " + odd, "c": "of c"}
	for _, w := range []*board{&early, &late} {
		until(t, "the rooms that are there", func() bool { return w.is(all) })
	}
	if ended, err := b.EndRoomOf(ctx, "c", []byte("of c")); !ended || err != nil {
		t.Fatal(ended, err)
	}
	for _, name := range []string{"c", "never", "main"} {
		if ended, err := b.EndRoomOf(ctx, name, []byte("of c")); ended || err != nil {
			t.Errorf("%s: ended %v, %v", name, ended, err)
		}
	}
	delete(all, "c")
	for _, w := range []*board{&early, &late} {
		until(t, "the end of a room", func() bool { return w.is(all) })
	}
	if _, err := a.CreateRoom(ctx, "big", make([]byte, 2<<20)); err == nil || errors.Is(err, ErrUnavailable) {
		t.Errorf("settings of 2 MiB: %v", err)
	}
	if settings, ok, err := a.RoomSettings(ctx, odd); string(settings) != "of "+odd || !ok || err != nil {
		t.Errorf("settings: %q, %v, %v", settings, ok, err)
	}
	if _, ok, err := a.RoomSettings(ctx, "c"); ok || err != nil {
		t.Errorf("it has ended: %v, %v", ok, err)
	}
	if created, err := b.CreateRoom(ctx, "c", []byte("new")); !created || err != nil {
		t.Errorf("it has ended, and comes again: %v, %v", created, err)
	}
	all["c"] = "new"
	until(t, "the room that came again", func() bool { return early.is(all) && late.is(all) })
}

// A room that has ended leaves nothing: one of the same name begins anew.
func TestARoomThatEndedBeginsAnew(t *testing.T) {
	t.Parallel()
	url := clustertest.NATS(t)
	p := newPlayer(t, Config{Name: "test", URLs: []string{url}})
	ctx := t.Context()
	p.ask(10)
	until(t, "requests", func() bool { return p.done() == 10 })
	closed := make(chan struct{})
	p.run(func() { p.room.Close(); close(closed) })
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Fatal("not closed")
	}
	if err := p.node.ClearRoom(ctx, "main", nil); err != nil {
		t.Fatal(err)
	}
	again := newPlayer(t, Config{Name: "test", URLs: []string{url}})
	again.ask(1)
	until(t, "a request", func() bool { return again.done() == 1 })
	again.mu.Lock()
	defer again.mu.Unlock()
	if _, ok := again.hashes[0]; !ok {
		t.Error("the new room has no tick 0")
	}
}

// A follower that is told nothing, or late, has what the store has after its next lists.
func TestAFollowerThatMissesAll(t *testing.T) {
	t.Parallel()
	n := newNode(t, Config{URLs: []string{clustertest.NATS(t)}})
	ctx := t.Context()
	var b board
	f := &follower{node: n, bucket: "parley-bans", kv: n.bans, held: map[string]*held{}, each: func(key string, value []byte, _ uint64) { b.tell(nameOf(key), value, value != nil) }}
	want := map[string]string{}
	for i := range 20 {
		name := fmt.Sprint(i)
		want[name] = "x"
		if err := n.PutBan(ctx, name, []byte("x"), time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	if f.list(); !b.is(want) || !f.whole || !f.complete() {
		t.Fatalf("%v", b.has)
	}
	if err := errors.Join(n.DeleteBan(ctx, "3"), n.PutBan(ctx, "4", []byte("y"), time.Time{})); err != nil {
		t.Fatal(err)
	}
	if f.complete() {
		t.Error("it knows all without having been told")
	}
	f.list()
	f.list()
	delete(want, "3")
	want["4"] = "y"
	if !b.is(want) {
		t.Errorf("%v", b.has)
	}
	told := b.told
	old := putMsg("parley-bans", "4", []byte("x"), 0)
	old.Subject = toldOf("parley-bans") + "4"
	old.Header.Set(jetstream.SequenceHeader, "1")
	if f.take(old); b.told != told || !b.is(want) {
		t.Error("old news is told")
	}
}

// A node with another schema does not run a room of the directory.
func TestAnotherSchema(t *testing.T) {
	t.Parallel()
	url := clustertest.NATS(t)
	a := newNode(t, Config{URLs: []string{url}, About: About{Fingerprint: "old"}})
	b := newNode(t, Config{URLs: []string{url}, About: About{Fingerprint: "new"}})
	if _, err := a.CreateRoom(t.Context(), "main", nil); err != nil {
		t.Fatal(err)
	}
	do, over, why := make(chan func(), 64), make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case fn := <-do:
				fn()
			case <-over:
				return
			}
		}
	}()
	t.Cleanup(func() { close(over) })
	run := func(fn func()) bool {
		select {
		case do <- fn:
			return true
		case <-over:
			return false
		}
	}
	c := RoomConfig{Period: time.Second, World: newToy(func(uint64, uint64, []toyRequest) {}), Run: run, Stopped: func(err error) { why <- err }}
	if _, err := b.Open("main", c); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-why:
		var other *FingerprintError
		if !errors.As(err, &other) || other.Has != "old" || other.Node != "new" {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the stage is not stopped")
	}
	if s := b.Stats(); s.Stopped != 1 || s.Rooms != 0 {
		t.Errorf("%+v", s)
	}
}

// Two clusters that share a NATS by mistake do not mix.
func TestAnotherCluster(t *testing.T) {
	t.Parallel()
	url := clustertest.NATS(t)
	newNode(t, Config{Name: "one", URLs: []string{url}})
	said := make(chan string, 16)
	n, err := Start(Config{Name: "two", URLs: []string{url}, Log: slog.New(slog.NewTextHandler(lines(said), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	select {
	case line := <-said:
		if !strings.Contains(line, ErrOtherCluster.Error()) {
			t.Error(line)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it says nothing")
	}
	select {
	case <-n.Ready():
		t.Error("it is ready")
	default:
	}
}

// lines takes what is logged.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	select {
	case l <- string(b):
	default:
	}
	return len(b), nil
}
