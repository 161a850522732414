package world

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"parley/internal/kit/chance"
	"parley/internal/promise"
)

// T71: "10^3 random runs: snapshot at a random tick + the rest of the log == the whole log (hashes of every tick)". Beside the hashes it
// compares all that is kept, and the entries that both make from there on, in which the decisions on late inputs are.
func TestASnapshotAndTheRestAreTheWhole(t *testing.T) {
	r := newRand(t)
	rewinds, putOff := uint64(0), uint64(0)
	for range promise.Keeps(t, "T71", "world", rounds(1000, 10_000)) {
		seed := r.Uint64()
		c := newTroupe(t, seed)
		for range r.IntN(40) {
			c.tick()
		}
		snapshot := c.sims[0].AppendSnapshot(nil)
		loaded := c.load(snapshot)
		c.wantSame("loaded", loaded, c.sims[0])
		loaded.Keep(troupeNode, 1)
		c.sims = append(c.sims, loaded)
		for range 5 + r.IntN(30) {
			c.tick()
		}
		c.wantSame("after more ticks", c.sims[1], c.sims[0])
		rewinds, putOff = rewinds+loaded.Stats().Rewinds, putOff+loaded.Stats().LateDoneNow

		rest := c.load(snapshot)
		c.apply(rest, c.log)
		c.wantSame("snapshot and rest", rest, c.sims[0])
		whole := newSimOf(t, c.game, c.sims[0].Config().again())
		if n := c.apply(whole, c.log); n != len(c.hashes) {
			t.Fatalf("%d of %d entries", n, len(c.hashes))
		}
		c.wantSame("the whole log", whole, c.sims[0])
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if rewinds == 0 || putOff == 0 {
		t.Errorf("%d rewinds, %d inputs put off", rewinds, putOff)
	}
}

// rewrite writes an entry that was read.
func (e *Entry) rewrite() []byte {
	b, _ := openBlock(nil, blockEntry)
	b = binary.AppendUvarint(b, e.Tick)
	b = binary.AppendUvarint(b, e.Epoch)
	b = binary.AppendVarint(b, e.Due)
	b = binary.LittleEndian.AppendUint64(b, e.Hash)
	b = binary.AppendUvarint(b, e.Skipped)
	b = binary.LittleEndian.AppendUint64(b, e.Node)
	var o origins
	o.reset(e.Node)
	for i := range e.Items {
		it := &e.Items[i]
		if it.Kind == ItemInput {
			b = o.appendCode(b, byte(it.Input.Kind), it.Origin, int64(it.Input.Tick-e.Tick), it.putOff)
			b = appendInput(b, &it.Input)
			continue
		}
		b = o.appendCode(b, byte(it.Kind), it.Origin, 0, 0)
		if it.Kind.hasPlayer() {
			b = binary.AppendUvarint(b, uint64(it.Player))
		}
		switch it.Kind {
		case ItemSession:
			b = it.Session.append(b)
		case ItemKnown:
			b = append(b, bitIf(it.newest, 1))
		case ItemAnswer:
			b = append(b, byte(it.Reason))
		default:
			b = appendText(b, it.Text)
		}
	}
	return closeBlock(b, 0)
}

// What is read of an entry and written again is the same, also of a forged one: there is one way to write each.
func TestEntriesAreCanonical(t *testing.T) {
	r := newRand(t)
	c := newTroupe(t, r.Uint64())
	for range 60 {
		c.tick()
	}
	s, read := newSimOf(t, c.game, Config{}), 0
	for range rounds(200_000, 2_000_000) {
		i := 1 + r.IntN(len(c.ends)-1)
		block := bytes.Clone(c.log[c.ends[i-1]:c.ends[i]])
		for range r.IntN(3) {
			block[blockHeader+1+r.IntN(len(block)-blockHeader-1)] ^= 1 << r.IntN(8)
		}
		e, err := s.ReadEntry(closeBlock(block, 0))
		if err != nil {
			continue
		}
		read++
		if got := e.rewrite(); !bytes.Equal(got, block) {
			t.Fatalf("%x\nis read, and written again as\n%x", block, got)
		}
	}
	if read == 0 {
		t.Error("no entry was read")
	}
}

// again returns a configuration that New takes as it is.
func (c Config) again() Config {
	if c.MaxRollbackTicks == 0 {
		c.MaxRollbackTicks = -1
	}
	if c.MaxShownTicks == 0 {
		c.MaxShownTicks = -1
	}
	return c
}

// T71: "every prefix of a log loads to its last whole entry".
func TestEveryPrefixOfALogIsRead(t *testing.T) {
	r := newRand(t)
	for range promise.Keeps(t, "T71", "world", rounds(20, 100)) {
		c := newTroupe(t, r.Uint64())
		first := len(c.log)
		for range 8 {
			c.tick()
		}
		for n := range len(c.log) + 1 {
			in, err := NewLogReader(bytes.NewReader(c.log[:n]))
			if n < first {
				if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNotRecording) {
					t.Fatalf("%d bytes: %v", n, err)
				}
				continue
			}
			want, _ := slices.BinarySearch(c.ends, n+1)
			whole := first
			if want > 0 {
				whole = c.ends[want-1]
			}
			got := 0
			for ; err == nil; got++ {
				_, err = in.Next()
			}
			at, torn := in.Torn()
			if got-1 != want || err != io.EOF || torn != (n != whole) || int(at) != whole {
				t.Fatalf("%d bytes: %d entries, want %d; torn %v at %d, %v", n, got-1, want, torn, at, err)
			}
		}
	}
}

// T71: "every flipped bit is found (in the last entry: as a torn tail)".
func TestEveryFlippedBitIsFound(t *testing.T) {
	r := newRand(t)
	for range promise.Keeps(t, "T71", "world", rounds(20, 100)) {
		c := newTroupe(t, r.Uint64())
		first := len(c.log)
		for range 6 {
			c.tick()
		}
		last := c.ends[len(c.ends)-2]
		for bit := range 8 * len(c.log) {
			bad := bytes.Clone(c.log)
			bad[bit/8] ^= 1 << (bit % 8)
			in, err := NewLogReader(bytes.NewReader(bad))
			if bit/8 < first {
				if err == nil {
					t.Fatalf("bit %d of the head", bit)
				}
				continue
			}
			got := -1
			for ; err == nil; got++ {
				_, err = in.Next()
			}
			block, _ := slices.BinarySearch(c.ends, bit/8+1)
			if got != block {
				t.Fatalf("bit %d, in entry %d: %d entries are read", bit, block, got)
			}
			at, torn := in.Torn()
			if isLast := bit/8 >= last; torn != isLast || isLast && (err != io.EOF || int(at) != last) || !isLast && !errors.Is(err, ErrDamaged) {
				t.Fatalf("bit %d, in entry %d of %d: torn %v at %d, %v", bit, block, len(c.ends), torn, at, err)
			}
		}
	}
}

// What stands behind the last sound entry is a torn tail or damage, and costs no more memory than it has bytes.
func TestTails(t *testing.T) {
	r := newRand(t)
	c := newTroupe(t, 13)
	for range 5 {
		c.tick()
	}
	noise := make([]byte, 64<<10)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	entry := c.log[c.ends[3]:c.ends[4]]
	huge := binary.LittleEndian.AppendUint32(nil, maxBlock)
	for _, tt := range []struct {
		name string
		tail []byte
		torn bool
	}{
		{"zeros, as after a loss of power", make([]byte, 9000), true},
		{"noise", noise, true},
		{"half an entry", entry[:len(entry)/2], true},
		{"a huge size", huge, true},
		{"a huge size and noise", slices.Concat(huge, noise), true},
		{"half an entry and a whole one", slices.Concat(entry[:len(entry)/2], entry), false},
		{"zeros, a whole one and half of one", slices.Concat(make([]byte, 99), entry, entry[:9]), false},
		{"a huge size, noise and a whole one", slices.Concat(huge, noise, entry), false},
		{"more zeros than a tail has", make([]byte, maxTail+1), false},
	} {
		in, err := NewLogReader(bytes.NewReader(append(c.log[:len(c.log):len(c.log)], tt.tail...)))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := -1
		for ; err == nil; got++ {
			_, err = in.Next()
		}
		runtime.ReadMemStats(&after)
		at, torn := in.Torn()
		if got != 5 || torn != tt.torn || int(at) != len(c.log) || torn != (err == io.EOF) || !torn && !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %d entries, torn %v at %d, %v", tt.name, got, torn, at, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > uint64(8*len(tt.tail)+1<<20) {
			t.Errorf("%s: %d bytes were used for %d", tt.name, used, len(tt.tail))
		}
	}
}

// A line of chat that has the bytes of an entry makes no damage of a torn tail: its author does not know the number of the server. Only
// where the file ends with the very last byte of such a line could it be one that follows the damage.
func TestChatIsNoEntry(t *testing.T) {
	s := newSim(t, Config{})
	s.Keep(troupeNode, 1)
	log := s.AppendHead(nil)
	p := join(t, s, "a")
	log = append(log, s.Seal(1, 0)...)
	s.Advance()
	other := newSim(t, Config{})
	other.Keep(1, 1)
	var ends [][]byte
	for range 3 {
		forged := bytes.Clone(other.Seal(5, 0))
		ends = append(ends, forged)
		s.Chat(p, slices.Concat(forged, forged))
		other.Advance()
	}
	last := s.Seal(1, 0)
	for n := 1; n < len(last); n++ {
		in, err := NewLogReader(bytes.NewReader(slices.Concat(log, last[:n])))
		entries := -1
		for ; err == nil; entries++ {
			_, err = in.Next()
		}
		at, torn := in.Torn()
		want := !slices.ContainsFunc(ends, func(b []byte) bool { return bytes.HasSuffix(last[:n], b) })
		if torn != want || int(at) != len(log) || entries != 1 || want != (err == io.EOF) {
			t.Fatalf("%d bytes: %d entries, torn %v at %d, %v", n, entries, torn, at, err)
		}
	}
}

// A log without states names the tick at which a replay differs, and a snapshot may stand before it.
func TestALogReplays(t *testing.T) {
	c := newTroupe(t, 11)
	for range 20 {
		c.tick()
	}
	snapshot := c.sims[0].AppendSnapshot(nil)
	for range 20 {
		c.tick()
	}
	half := slices.Concat(c.log[:c.ends[19]], snapshot, c.sims[0].AppendHead(nil), c.log[c.ends[19]:])
	for name, file := range map[string][]byte{"log": c.log, "snapshot and log": slices.Concat(snapshot, c.log), "log, snapshot and log": half} {
		got, err := Replay(c.game, bytes.NewReader(file))
		ticks := map[string]uint64{"log": 40, "snapshot and log": 20, "log, snapshot and log": 40}[name]
		if err != nil || got.Difference != nil || got.Hash != c.hashes[39] || got.Ticks != ticks || got.Version != "one" {
			t.Errorf("%s: %+v %v, %v", name, got, got.Difference, err)
		}
		other := c.game
		other.Step = func(w *World, in []Input) {
			c.game.Step(w, in)
			if w.Tick() == 30 {
				Spawn(w, mark{})
			}
		}
		got, err = Replay(other, bytes.NewReader(file))
		if err != nil || got.Difference == nil || got.Difference.Tick != 30 || !strings.Contains(got.Difference.String(), "tick 30: the world differs") {
			t.Errorf("%s: %+v %v, %v", name, got, got.Difference, err)
		}
	}
	rest := slices.Concat(c.log[:c.ends[0]], c.log[c.ends[1]:])
	if _, err := Replay(c.game, bytes.NewReader(rest)); !errors.Is(err, ErrDamaged) {
		t.Errorf("an entry is missing: %v", err)
	}
	another := newTroupe(t, 12)
	if _, err := Replay(c.game, bytes.NewReader(slices.Concat(c.log, another.log))); !errors.Is(err, ErrDamaged) {
		t.Errorf("the log of another room: %v", err)
	}
}

// What Apply refuses changes nothing.
func TestApplyRefuses(t *testing.T) {
	c := newTroupe(t, 3)
	for range 12 {
		c.tick()
	}
	s := newSimOf(t, c.game, c.sims[0].Config().again())
	c.apply(s, c.log[:c.ends[5]])
	entry := func(i int, change func(e *Entry)) error {
		block := c.log[c.ends[i-1]:c.ends[i]]
		e, err := s.ReadEntry(block)
		if err != nil {
			t.Fatal(err)
		}
		change(e)
		return s.Apply(e)
	}
	before := s.AppendSnapshot(nil)
	for _, tt := range []struct {
		name   string
		i      int
		change func(e *Entry)
		want   error
	}{
		{"an earlier epoch", 6, func(e *Entry) { e.Epoch = 0 }, ErrStale},
		{"another state", 6, func(e *Entry) { e.Hash++ }, ErrDiverged},
		{"one too early", 7, func(*Entry) {}, ErrDamaged},
		{"one again", 5, func(*Entry) {}, ErrDamaged},
	} {
		if err := entry(tt.i, tt.change); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if !bytes.Equal(before, s.AppendSnapshot(nil)) {
		t.Error("something has changed")
	}
	if err := entry(6, func(*Entry) {}); err != nil {
		t.Error(err)
	}
	for _, bad := range [][]byte{nil, c.log[:20], c.log[c.ends[6] : c.ends[7]-1], closeBlock([]byte{0, 0, 0, 0, 0, 0, 0, 0, blockState}, 0)} {
		if _, err := s.ReadEntry(bad); !errors.Is(err, ErrDamaged) {
			t.Errorf("%x: %v", bad, err)
		}
	}
}

// What is in an entry comes out of it, and what is read of an entry and written again is the same.
func TestAnEntryHasItsItems(t *testing.T) {
	s := newSim(t, Config{})
	s.Keep(5, 3)
	s.From(Origin{9, 4})
	p := join(t, s, "ann")
	s.Admit(p, Session{Token: TokenHash{1}, Serial: Serial{2}, Expires: 77})
	s.From(Origin{9, 6})
	s.Steer(p, 99, steer(1, 1), 0)
	s.From(Origin{5, 1})
	s.Chat(p, []byte("hello"))
	s.From(Origin{})
	s.Say([]byte("all"))
	s.Kick(p, []byte("why"))
	s.End([]byte("ann wins"))
	block := bytes.Clone(s.Seal(1_000_000, 7))
	other := newSim(t, Config{})
	e, err := other.ReadEntry(block)
	if err != nil {
		t.Fatal(err)
	}
	if e.Tick != 0 || e.Epoch != 3 || e.Due != 1_000_000 || e.Skipped != 7 || e.Node != 5 || e.Hash != other.World().Hash() || e.Inputs() != 1 {
		t.Errorf("%+v", e)
	}
	var got []string
	for _, it := range e.Items {
		got = append(got, it.Kind.String())
	}
	if want := []string{"input", "session", "answer", "chat", "say", "kick", "end"}; !slices.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
	if it := e.Items[0]; it.Origin != (Origin{9, 4}) || it.Input.Kind != Join || it.Input.Name != "ann" {
		t.Errorf("%+v", it)
	}
	if it := e.Items[1]; it.Origin != (Origin{9, 4}) || it.Player != p || it.Session != (Session{TokenHash{1}, Serial{2}, 77}) {
		t.Errorf("%+v", it)
	}
	if it := e.Items[2]; it.Origin != (Origin{9, 6}) || it.Reason != TooEarly {
		t.Errorf("%+v", it)
	}
	for it := range e.Of(ItemChat) {
		if it.Origin != (Origin{5, 1}) || it.Player != p || string(it.Text) != "hello" {
			t.Errorf("%+v", it)
		}
	}
	if it := e.Items[6]; string(it.Text) != "ann wins" {
		t.Errorf("%+v", it)
	}
	e.Items[0].Tag = 8
	if err := other.Apply(e); err != nil || !other.Ended() || other.Due() != 1_000_000 || other.Epoch() != 3 {
		t.Error(err)
	}
	if joined := events(other, PlayerJoined); len(joined) != 1 || joined[0].Tag != 8 {
		t.Errorf("%+v", joined)
	}
}

// The head of an entry is read without the rest, of a torn one too.
func TestTheHeadOfAnEntry(t *testing.T) {
	c := newTroupe(t, 3)
	for range 12 {
		c.tick()
	}
	s := newSimOf(t, c.game, c.sims[0].Config().again())
	for i := 1; i < len(c.ends); i++ {
		block := c.log[c.ends[i-1]:c.ends[i]]
		e, err := s.ReadEntry(block)
		if err != nil {
			t.Fatal(err)
		}
		if h, err := ReadEntryHead(block); err != nil || h != e.EntryHead {
			t.Errorf("%+v, %v, want %+v", h, err, e.EntryHead)
		}
		whole := false
		for n := range block {
			h, err := ReadEntryHead(block[:n])
			if whole = whole || err == nil; whole != (err == nil) || whole && h != e.EntryHead || !whole && !errors.Is(err, ErrDamaged) {
				t.Fatalf("%d of %d bytes: %+v, %v", n, len(block), h, err)
			}
		}
		if !whole && len(e.Items) > 0 {
			t.Error("the head needs all bytes of the entry")
		}
	}
	if n := testing.AllocsPerRun(100, func() { ReadEntryHead(c.log[c.ends[0]:c.ends[1]]) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzEntryHead: whatever the bytes are, the head is that of the entry, if they are one.
func FuzzEntryHead(f *testing.F) {
	s := newSim(f, Config{})
	s.Keep(5, 3)
	p := join(f, s, "ann")
	s.Chat(p, []byte("hello"))
	block := bytes.Clone(s.Seal(1_000_000, 7))
	f.Add(block)
	f.Add(block[:20])
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ReadEntryHead(b)
		if err != nil && (h != EntryHead{} || !errors.Is(err, ErrDamaged)) {
			t.Errorf("%+v, %v", h, err)
		}
		if len(b) <= blockHeader {
			return
		}
		if e, err2 := s.ReadEntry(closeBlock(bytes.Clone(b), 0)); err2 == nil && (err != nil || h != e.EntryHead) {
			t.Errorf("%+v, %v, and the entry has %+v", h, err, e.EntryHead)
		}
	})
}

// A request is done once, whoever runs the log from then on.
func TestARequestIsDoneOnce(t *testing.T) {
	c := newTroupe(t, 4)
	s := c.sims[0]
	want := func(s *Sim, node, request uint64, fresh bool) {
		t.Helper()
		if got := s.From(Origin{node, request}); got != fresh {
			t.Errorf("request %d of %d: %v", request, node, got)
		}
	}
	want(s, 7, 3, true)
	p := join(t, s, "a")
	want(s, 7, 3, false)
	want(s, 7, 4, true)
	s.Steer(p, 50, steer(1, 1), 0) // refused: that is an answer too
	want(s, 7, 4, false)
	want(s, 8, 1, true)
	s.From(Origin{})
	s.Seal(1, 0)
	s.Advance()
	loaded := c.load(s.AppendSnapshot(nil))
	want(loaded, 7, 4, false)
	want(loaded, 7, 5, true)
	want(loaded, 8, 1, true) // nothing was submitted
	for n := range uint64(maxNodes + 5) {
		if s.From(Origin{100 + n, 1}) {
			s.Say([]byte("x"))
		}
	}
	e, err := s.ReadEntry(s.Seal(2, 0))
	if err != nil || len(e.origins.nodes) > maxNodes || len(s.roll.nodes) != maxNodes {
		t.Errorf("%v: %d nodes, %d are known", err, len(e.origins.nodes), len(s.roll.nodes))
	}
}

// An entry closes at 512 KiB: what is over is told to wait, and nothing is lost.
func TestAFullEntryPutsOff(t *testing.T) {
	s := newSim(t, Config{})
	p := join(t, s, "a")
	s.Advance()
	s.Keep(1, 1)
	line := bytes.Repeat([]byte{'x'}, maxWordBytes)
	n := 0
	for ; s.Chat(p, line) == Accepted; n++ {
	}
	if n != fullEntry/(maxWordBytes+4)+1 || !s.Full() {
		t.Fatalf("%d lines", n)
	}
	counted := s.Stats()
	wantReason(t, "steer", s.Steer(p, s.Tick(), steer(1, 1), 0), Later)
	wantReason(t, "act", s.Act(p, s.Tick(), s.Schema().Action(0), sowing(1, 0), 0), Later)
	if _, err := s.Join("b"); !errors.Is(err, ErrLater) {
		t.Error(err)
	}
	if s.Stats() != counted {
		t.Errorf("%+v, before %+v", s.Stats(), counted)
	}
	s.Leave(p)
	e, err := s.ReadEntry(s.Seal(1, 0))
	if err != nil || len(e.block) > fullEntry+maxWordBytes+100 || len(e.Items) != n+1 {
		t.Fatalf("%v: %d bytes, %d items", err, len(e.block), len(e.Items))
	}
	s.Advance()
	if s.Full() || s.Players() != 0 {
		t.Error("the next entry is not empty")
	}
}

// Nothing may be submitted where no entry would have it, and no entry may be left out.
func TestMisuseOfALogPanics(t *testing.T) {
	kept := func() *Sim {
		s := newSim(t, Config{})
		s.Keep(1, 1)
		return s
	}
	for name, do := range map[string]func(){
		"Advance without Seal":        func() { kept().Advance() },
		"an input after Seal":         func() { s := kept(); s.Seal(1, 0); join(t, s, "a") },
		"an input after End":          func() { s := kept(); s.End(nil); join(t, s, "a") },
		"Seal twice":                  func() { s := kept(); s.Seal(1, 0); s.Seal(1, 0) },
		"a snapshot after an input":   func() { s := kept(); join(t, s, "a"); s.AppendSnapshot(nil) },
		"Keep after an input":         func() { s := newSim(t, Config{}); join(t, s, "a"); s.Keep(1, 1) },
		"Apply after an input":        func() { s := newSim(t, Config{}); join(t, s, "a"); s.Apply(&Entry{}) },
		"a snapshot after Seal alone": func() { s := kept(); s.Seal(1, 0); s.AppendSnapshot(nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s does not panic", name)
				}
			}()
			do()
		}()
	}
}

// Making an entry allocates nothing.
func TestSealAllocatesNothing(t *testing.T) {
	if chance.Race {
		t.Skip("the race detector allocates")
	}
	s, players, _ := newMovers(t, 300, 20, ViewConfig{})
	s.Keep(1, 1)
	request := uint64(0)
	tick := func() {
		for i, p := range players {
			request++
			s.From(Origin{uint64(i % 3), request})
			s.Steer(p, s.Tick()-uint64(i%3), steer(float32(i), 0.5), 0)
			if i == 0 {
				s.Chat(p, zeros[:])
			}
		}
		s.Seal(int64(request), 0)
		s.Advance()
	}
	for range 400 {
		tick()
	}
	if n := testing.AllocsPerRun(200, tick); n != 0 {
		t.Errorf("%v allocations a tick", n)
	}
	view := s.Seal(0, 0)
	if size := int(binary.LittleEndian.Uint32(view)); size != len(view)-blockHeader {
		t.Errorf("%d, %d bytes", size, len(view))
	}
}

// The bytes of entries, as docs/world.md has them.
func TestSizesOfEntries(t *testing.T) {
	for _, players := range []int{0, 2, 200} {
		s, ids, _ := newMovers(t, 1000, players, ViewConfig{})
		s.Keep(troupeNode, 1)
		for i, p := range ids {
			s.From(Origin{troupeNode, uint64(1e6 + i)})
			s.Steer(p, s.Tick(), steer(1, 0.5), 0)
		}
		n := len(s.Seal(1_700_000_000e6, 0))
		s.Advance()
		t.Logf("%d players who steer: %d bytes; a snapshot of 1,000 entities: %d bytes", players, n, len(s.AppendSnapshot(nil)))
		if n > 45+15*players {
			t.Errorf("%d players: %d bytes", players, n)
		}
	}
}

// A tail can be made so that each of its bytes seems to begin a block. It is not searched for ever.
func TestATailThatIsMadeToTakeLong(t *testing.T) {
	notRaced(t)
	s := newSim(t, Config{})
	file := append(s.AppendHead(nil), bytes.Repeat([]byte{4, 0, 0x1f, 0}, maxTail/4-1)...)
	l, err := NewLogReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Next(); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v", err)
	}
}

// Only who keeps the log has to hold requests back when an entry is full: nobody else looks at it.
func TestARecordingAloneIsNeverFull(t *testing.T) {
	for _, kept := range []bool{false, true} {
		s := newSim(t, Config{})
		if kept {
			s.Keep(1, 1)
		}
		if err := s.Record(io.Discard); err != nil {
			t.Fatal(err)
		}
		for range fullEntry/maxWordBytes + 1 {
			s.Say(make([]byte, maxWordBytes))
		}
		if s.Full() != kept {
			t.Errorf("kept %v: full %v", kept, s.Full())
		}
		before := len(s.log.items)
		s.Say(make([]byte, maxWordBytes))
		if grown := len(s.log.items) - before; kept == (grown > maxWordBytes) {
			t.Errorf("kept %v: a word took %d bytes", kept, grown)
		}
	}
}
