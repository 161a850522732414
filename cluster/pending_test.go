package cluster

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"parley/cluster/core"
	"parley/internal/patient"
)

// A slow store is asked for one snapshot at a time, as long as some of it comes, and given one at a time: of those that wait, the newest.
func TestSnapshotsOneAtATime(t *testing.T) {
	r, now := &Room{}, time.Now()
	begins := func(o core.Order) bool { return r.begins(now, o) }
	load, save := core.Order{Kind: core.Load}, func(seq uint64) core.Order { return core.Order{Kind: core.Save, Seq: seq} }
	if !begins(load) || begins(load) || !begins(core.Order{Kind: core.Fetch}) || !begins(core.Order{Kind: core.Fetch}) {
		t.Error("not one load at a time, or not as many fetches as are ordered")
	}
	r.moves(now.Add(time.Millisecond))
	if now = now.Add(readEach); begins(load) {
		t.Error("a second load, though the first brings something")
	}
	if now = now.Add(readEach); !begins(load) || begins(load) {
		t.Error("no second load, though the first brings nothing")
	}
	if r.ends(core.Load) != nil || begins(load) || r.ends(core.Load) != nil || !begins(load) {
		t.Error("not one load after the first")
	}
	if !begins(save(1)) || begins(save(2)) || begins(save(3)) {
		t.Error("not one save at a time")
	}
	if next := r.ends(core.Save); next == nil || next.Seq != 3 || begins(save(4)) {
		t.Errorf("next is %v", next)
	}
	if next := r.ends(core.Save); next == nil || next.Seq != 4 {
		t.Errorf("next is %v", next)
	}
	if r.ends(core.Save) != nil || !begins(save(5)) {
		t.Error("no save after the last")
	}
}

// A large snapshot has the time that it takes.
func TestTheTimeForASnapshot(t *testing.T) {
	if small, large := timeFor(1<<10), timeFor(20<<20); small > storeTime+time.Second || large < 20*time.Second || timeFor(maxSnapshot) > 5*time.Minute {
		t.Errorf("%v and %v", small, large)
	}
}

// A snapshot that is not kept is not silent, and says so once a minute.
func TestASnapshotThatIsNotKept(t *testing.T) {
	said := make(chan string, 16)
	r := &Room{shelf: shelf{name: "main", node: &Node{cfg: Config{Log: slog.New(slog.NewTextHandler(lines(said), nil))}}}}
	for range 3 {
		r.fails(core.Order{Kind: core.Save, Bytes: make([]byte, 77)}, errors.New("maximum bytes exceeded"))
		r.fails(core.Order{Kind: core.Append}, errors.New("no answer"))
	}
	if len(said) != 1 {
		t.Fatalf("%d lines", len(said))
	}
	if line := patient.Value(said); !strings.Contains(line, "level=WARN") || !strings.Contains(line, "main") || !strings.Contains(line, "77") || !strings.Contains(line, "maximum bytes exceeded") {
		t.Error(line)
	}
}
