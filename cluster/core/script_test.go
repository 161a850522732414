package core

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"parley/world"
)

// script drives a room by hand.
type script struct {
	t     *testing.T
	now   time.Time
	room  *Room
	world *toy
}

const me = 7

// newScript returns a room that has loaded an empty log.
func newScript(t *testing.T, batch time.Duration) *script {
	c := &script{t: t, now: time.Unix(1000, 0), world: newToy(100)}
	c.room = NewRoom(c.now, Config{Node: me, Period: 50 * time.Millisecond, Batch: batch, Rand: rand.New(rand.NewPCG(1, 1))}, c.world)
	c.want(Load)
	c.room.HandleSnapshot(c.now, 0, nil)
	c.fetchNone()
	return c
}

// want lets time pass until the room orders something of a kind, within ten seconds, and returns that.
func (c *script) want(k OrderKind) Order {
	c.t.Helper()
	for range 1000 {
		for o, ok := c.room.Poll(); ok; o, ok = c.room.Poll() {
			if o.Kind == k {
				return o
			}
		}
		c.now = c.now.Add(10 * time.Millisecond)
		c.room.HandleTimeout(c.now)
	}
	c.t.Fatalf("no %v", k)
	return Order{}
}

func (c *script) fetchNone() { c.room.HandleFetched(c.now, c.want(Fetch).Seq, 0, nil) }

// entry returns an entry of another node, for the next tick of the world.
func (c *script) entry(epoch uint64) []byte {
	other := newToy(100)
	other.Load(c.world.Snapshot())
	return other.Seal(1, epoch, 0)
}

// TestALateRecordMakesNoSequencer: a record that says this node comes when entries of a later epoch have been run.
func TestALateRecordMakesNoSequencer(t *testing.T) {
	c := newScript(t, 0)
	c.room.HandleTold(c.now, 3, 0, c.entry(9))
	c.room.HandleRecord(c.now, Record{Node: me, Epoch: 8, Revision: 4})
	c.fetchNone()
	if c.room.Sequences() {
		t.Error("it sequences, with an epoch that is over")
	}
	c.room.HandleRecord(c.now, Record{Node: me, Epoch: 10, Revision: 6})
	c.fetchNone()
	if !c.room.Sequences() {
		t.Error("it does not sequence, though it was chosen")
	}
}

// TestTheFirstEntryOfAnEpochIsNotRunAhead: until the log has one, an entry of the epoch before may still come.
func TestTheFirstEntryOfAnEpochIsNotRunAhead(t *testing.T) {
	c := newScript(t, time.Second)
	c.room.HandleRecord(c.now, Record{Node: me, Epoch: 2, Revision: 1})
	c.fetchNone()
	c.now = c.now.Add(2 * aloneAfter)
	c.room.HandleTimeout(c.now)
	if n, err := c.room.Ask(c.now, []byte("move")); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	o := c.want(Append)
	if c.world.Next() != 0 || c.room.Stats().Ahead != 0 {
		t.Error("the tick was run before the log had it")
	}
	c.room.HandleAppended(c.now, o.Seq, 5)
	if c.world.Next() != 1 || c.room.Waiting() != 0 {
		t.Error("the tick was not run")
	}
	o = c.want(Append)
	if parts, ok := split(nil, o.Bytes); !ok || len(parts) < 19 || c.room.Stats().Ahead == 0 {
		t.Errorf("%d entries in a message", len(parts))
	}
}

// TestAPredecessorsLastEntry comes behind the record: it is run, and the room goes on as the sequencer's.
func TestAPredecessorsLastEntry(t *testing.T) {
	c := newScript(t, 0)
	c.room.HandleTold(c.now, 3, 0, c.entry(1))
	c.room.HandleRecord(c.now, Record{Node: me, Epoch: 2, Revision: 4})
	c.fetchNone()
	last := c.entry(1)
	c.room.Ask(c.now, []byte("move"))
	o := c.want(Append)
	c.room.HandleRefused(c.now, o.Seq)
	c.room.HandleFetched(c.now, c.want(Fetch).Seq, 4, last)
	c.want(Load)
	c.room.HandleSnapshot(c.now, 0, nil)
	first := newToy(1)
	c.room.HandleFetched(c.now, c.want(Fetch).Seq, 3, first.Seal(1, 1, 0))
	c.room.HandleFetched(c.now, c.want(Fetch).Seq, 4, last)
	c.fetchNone()
	if o = c.want(Append); o.Seq != 4 || c.world.Next() != 2 || !c.room.Sequences() {
		t.Errorf("append behind %d, tick %d", o.Seq, c.world.Next())
	}
}

// TestALateAnswerToAnEarlierAppend: a sequencer is deposed, and chosen again before anybody has made an entry. Then the answer comes to what it
// had offered first. What it has offered since is not in the log.
func TestALateAnswerToAnEarlierAppend(t *testing.T) {
	c := newScript(t, 0)
	c.room.HandleRecord(c.now, Record{Node: me, Epoch: 2, Revision: 4})
	c.fetchNone()
	c.room.Ask(c.now, []byte("move"))
	first := c.want(Append)
	firstBytes := append([]byte(nil), first.Bytes...)
	c.room.HandleRecord(c.now, Record{Node: me + 1, Epoch: 3, Revision: 5})
	c.want(Load)
	c.room.HandleSnapshot(c.now, 0, nil)
	c.fetchNone()
	c.room.HandleRecord(c.now, Record{Node: me, Epoch: 4, Revision: 6})
	c.fetchNone()
	second := c.want(Append)
	if second.Seq != first.Seq || string(second.Bytes) == string(firstBytes) {
		t.Fatalf("behind %d and %d", first.Seq, second.Seq)
	}
	c.room.HandleAppended(c.now, first.Seq, 1)
	if c.world.Next() != 0 {
		t.Fatal("it runs what the log does not have")
	}
	c.room.HandleFetched(c.now, c.want(Fetch).Seq, 1, firstBytes)
	c.want(Load)
	c.room.HandleSnapshot(c.now, 0, nil)
	c.room.HandleFetched(c.now, c.want(Fetch).Seq, 1, firstBytes)
	c.fetchNone()
	if o := c.want(Append); o.Seq != 1 || c.world.Next() != 1 || c.room.Waiting() != 0 {
		t.Errorf("append behind %d, tick %d, %d requests wait", o.Seq, c.world.Next(), c.room.Waiting())
	}
	c.room.HandleAppended(c.now, 1, 2)
	if c.world.Next() != 2 {
		t.Error("the next entry is not run, though it is in the log")
	}
}

// TestManyRequestsOfTheSequencersPlayers: what a tick has no room for is in a later one.
func TestManyRequestsOfTheSequencersPlayers(t *testing.T) {
	c := newScript(t, 0)
	c.room.HandleRecord(c.now, Record{Node: me, Epoch: 2, Revision: 4})
	c.fetchNone()
	for range 3 * maxAhead {
		if _, err := c.room.Ask(c.now, []byte("move")); err != nil {
			t.Fatal(err)
		}
	}
	c.world.room = maxAhead
	for seq := uint64(1); c.room.Waiting() > 0 && seq < 10; seq++ {
		c.room.HandleAppended(c.now, c.want(Append).Seq, seq)
	}
	if got := c.world.Done(me); got != 3*maxAhead {
		t.Errorf("%d requests are in the log, of %d", got, 3*maxAhead)
	}
}

// TestTheBacklogIsBounded: what is told ahead of a gap takes so much memory at most, and what is kept are the first behind the gap.
func TestTheBacklogIsBounded(t *testing.T) {
	for _, size := range []int{50, maxBacklogBytes / 10} {
		c := newScript(t, 0)
		entry := append(c.entry(1), make([]byte, size)...)
		for seq := uint64(2000); seq > 2; seq-- {
			c.room.HandleTold(c.now, seq, seq-1, entry)
		}
		most := min(maxBacklog, maxBacklogBytes/len(entry))
		got := 0
		for _, m := range c.room.backlog {
			got += len(m.entry)
		}
		if c.room.Behind() != most || got != c.room.backlogBytes || c.room.backlog[0].seq != 3 || c.room.backlog[most-1].seq != uint64(most+2) {
			t.Errorf("entries of %d bytes: %d are kept, want %d; %d bytes, counted %d", len(entry), c.room.Behind(), most, got, c.room.backlogBytes)
		}
	}
}

// TestANodeIsCurrentAtTheEndOfTheLog: not while it runs what it has missed, and still when it asks for more than there is.
func TestANodeIsCurrentAtTheEndOfTheLog(t *testing.T) {
	c := &script{t: t, now: time.Unix(1000, 0), world: newToy(100)}
	c.room = NewRoom(c.now, Config{Node: me, Period: 50 * time.Millisecond, Rand: rand.New(rand.NewPCG(1, 1))}, c.world)
	is := func(when string, want bool) {
		t.Helper()
		if c.room.Current() != want {
			t.Errorf("%s: current is %v", when, !want)
		}
	}
	is("at first", false)
	c.want(Load)
	c.room.HandleSnapshot(c.now, 0, nil)
	is("loaded", false)
	other := newToy(100)
	log := make([][]byte, 7)
	for seq := range log {
		log[seq] = other.Seal(1, 1, 0)
		other.Advance()
	}
	c.room.HandleTold(c.now, 4, 3, log[3])
	for seq := uint64(1); seq < 3; seq++ {
		c.room.HandleFetched(c.now, c.want(Fetch).Seq, seq, log[seq-1])
		is("behind a gap", false)
	}
	c.room.HandleFetched(c.now, c.want(Fetch).Seq, 3, log[2])
	is("the gap is closed", true)
	o := c.want(Fetch)
	c.room.HandleTold(c.now, 5, 4, log[4])
	c.room.HandleFetched(c.now, o.Seq, 5, log[4])
	is("told of what it asks for", true)
	c.room.HandleTold(c.now, 7, 6, log[6])
	is("another gap", false)
	c.room.HandleFetched(c.now, c.want(Fetch).Seq, 6, log[5])
	is("that is closed", true)
	if c.world.Next() != 7 {
		t.Errorf("%d ticks were run", c.world.Next())
	}
}

// TestARefusalWithNothingBehindIt: the first try of an append is still in process when the next one comes, and the store refuses that. The log has nothing
// yet: it is offered again at once, and less often if that lasts. Meanwhile nobody is woken in vain.
func TestARefusalWithNothingBehindIt(t *testing.T) {
	c := newScript(t, 0)
	c.room.HandleRecord(c.now, Record{Node: me, Epoch: 2, Revision: 4})
	c.fetchNone()
	c.room.Ask(c.now, []byte("move"))
	o := c.want(Append)
	began := c.now
	first := append([]byte(nil), c.want(Append).Bytes...)
	if waited := c.now.Sub(began); waited < repeatStore {
		t.Fatalf("an append that is not answered is repeated after %v", waited)
	}
	var waits []time.Duration
	for i := range 8 {
		long := time.Duration(min(i, 1)) // but for the first
		c.now = c.now.Add(long * repeatStore / 2)
		c.room.HandleRefused(c.now, o.Seq)
		f := c.want(Fetch)
		c.now = c.now.Add(long * repeatStore * 9 / 10)
		if next, ok := c.room.NextTimeout(); !ok || !next.After(c.now) {
			t.Errorf("it is woken at once, and has nothing to do before it has what it fetches")
		}
		c.room.HandleFetched(c.now, f.Seq, 0, nil)
		began = c.now
		if again := c.want(Append); again.Seq != o.Seq || string(again.Bytes) != string(first) {
			t.Errorf("behind %d is offered %x, and before %x behind %d", again.Seq, again.Bytes, first, o.Seq)
		}
		waits = append(waits, c.now.Sub(began))
	}
	if waits[0] > 30*time.Millisecond || waits[7] != repeatStore {
		t.Errorf("it is offered again after %v", waits)
	}
	c.room.HandleAppended(c.now, o.Seq, 1)
	if c.world.Next() != 1 {
		t.Error("the tick is not run")
	}
}

// TestAnEntryThatCannotBeRun: the stage loads the world anew, but not as fast as the store answers, and the third time in a minute it stops and says why.
func TestAnEntryThatCannotBeRun(t *testing.T) {
	c := newScript(t, 0)
	entry, cause := c.entry(1), errors.New("a part of it is unknown")
	c.world.cannot = cause
	began := c.now
	for range maxDiverged - 1 {
		c.room.HandleTold(c.now, 3, 0, entry)
		c.want(Load)
		c.room.HandleSnapshot(c.now, 0, nil)
		c.fetchNone()
	}
	if took := c.now.Sub(began); took < (maxDiverged-1)*reloadAfter {
		t.Errorf("it has loaded the world %d times within %v", maxDiverged-1, took)
	}
	c.room.HandleTold(c.now, 3, 0, entry)
	if o := c.want(Stop); !errors.Is(o.Err, cause) {
		t.Errorf("it stops, and says %v", o.Err)
	}
	if _, more := c.room.NextTimeout(); more {
		t.Error("it goes on")
	}
}

// TestASnapshotThatCannotBeLoaded stops the stage, which says why.
func TestASnapshotThatCannotBeLoaded(t *testing.T) {
	c := &script{t: t, now: time.Unix(1000, 0), world: newToy(100)}
	c.world.cannot = errors.New("of a later format")
	c.room = NewRoom(c.now, Config{Node: me, Period: 50 * time.Millisecond, Rand: rand.New(rand.NewPCG(1, 1))}, c.world)
	c.want(Load)
	c.room.HandleSnapshot(c.now, 5, []byte("1 1 1 1 1"))
	if o := c.want(Stop); !errors.Is(o.Err, c.world.cannot) || errors.Is(o.Err, world.ErrDiverged) {
		t.Errorf("it stops, and says %v", o.Err)
	}
}

// TestASnapshotBeforeAGap: the store has removed what comes between the newest snapshot and the next entry, and has the later snapshot not yet.
func TestASnapshotBeforeAGap(t *testing.T) {
	c := newScript(t, 0)
	other := newToy(100)
	for range 2 {
		other.Seal(1, 1, 0)
		other.Advance()
	}
	snapshot := other.Snapshot()
	later := other.Seal(1, 1, 0)
	c.room.HandleTold(c.now, 9, 8, later)
	began := c.now
	for range 4 {
		c.room.HandleFetched(c.now, c.want(Fetch).Seq, 9, later)
		c.want(Load)
		c.room.HandleSnapshot(c.now, 0, nil)
	}
	if took := c.now.Sub(began); took < 3*reloadAfter {
		t.Errorf("it has loaded the world 4 times within %v", took)
	}
	c.room.HandleFetched(c.now, c.want(Fetch).Seq, 9, later)
	c.want(Load)
	c.room.HandleSnapshot(c.now, 8, snapshot)
	c.room.HandleFetched(c.now, c.want(Fetch).Seq, 9, later)
	if c.fetchNone(); c.world.Next() != 3 {
		t.Errorf("it has run %d ticks", c.world.Next())
	}
}

// TestALogThatIsBegunAnew: only after the store has said for a while that it has nothing, and not by a node that has not run what a snapshot has.
func TestALogThatIsBegunAnew(t *testing.T) {
	c := newScript(t, 0)
	c.room.HandleTold(c.now, 3, 0, c.entry(1))
	c.room.HandleRecord(c.now, Record{Node: me, Epoch: 2, Revision: 4})
	c.fetchNone()
	c.room.Ask(c.now, []byte("move"))
	began := c.now
	tries := 0
	o := c.want(Append)
	for ; !o.Anew; o = c.want(Append) {
		c.room.HandleLost(c.now, o.Seq, 0)
		if tries++; tries > 20 {
			t.Fatal("it does not begin anew")
		}
	}
	if took := c.now.Sub(began); o.Seq != 3 || took < emptyFor || took > emptyFor+2*repeatStore {
		t.Errorf("behind %d, after %v", o.Seq, took)
	}
	c.room.HandleRefused(c.now, 3) // another was first, and its answer is lost
	c.fetchNone()
	if o = c.want(Append); o.Anew {
		t.Error("it begins a log anew that has entries")
	}
	c.room.HandleLost(c.now, 3, 3)
	if o = c.want(Append); o.Anew {
		t.Error("it has not waited")
	}
	c.room.HandleAppended(c.now, 3, 7)
	if save := c.want(Save); save.Seq != 7 || c.world.Next() != 2 {
		t.Errorf("a snapshot behind %d, tick %d", save.Seq, c.world.Next())
	}
	o = c.want(Append)
	c.room.HandleLost(c.now, o.Seq, 9)
	c.want(Load)
}
