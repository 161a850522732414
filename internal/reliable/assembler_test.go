package reliable

import (
	"bytes"
	"testing"
	"time"
	"unsafe"

	"parley/internal/promise"
)

func TestAssemblerPutsPartsTogether(t *testing.T) {
	b := NewBudget(1 << 20)
	a := NewAssembler(start, nil, b)
	for _, tt := range []struct {
		name string
		part string
		more bool
		want string
		fate AssemblyFate
	}{
		{"a message of one part is that part", "hello", false, "hello", Whole},
		{"the first of three", "one ", true, "", Part},
		{"the second", "two ", true, "", Part},
		{"the last", "three", false, "one two three", Whole},
		{"an empty part", "", true, "", Part},
		{"after an empty one", "x", false, "x", Whole},
		{"an empty message", "", false, "", Whole},
	} {
		got, fate := a.Append(start, []byte(tt.part), tt.more)
		if fate != tt.fate || string(got) != tt.want {
			t.Errorf("%s: got %q, %v, want %q, %v", tt.name, got, fate, tt.want, tt.fate)
		}
	}
	a.Release()
	if b.Used() != 0 {
		t.Errorf("%d bytes of the budget are still in use", b.Used())
	}
}

func TestAMessageLargerThanAnyIsRefused(t *testing.T) {
	b := NewBudget(0)
	a := NewAssembler(start, &AssemblyConfig{MaxMessage: 1000}, b)
	a.Append(start, make([]byte, 600), true)
	if _, fate := a.Append(start, make([]byte, 400), true); fate != Part {
		t.Errorf("exactly the limit: %v", fate)
	}
	if _, fate := a.Append(start, make([]byte, 1), false); fate != Oversize {
		t.Errorf("one byte more: %v, want oversize", fate)
	}
	if _, fate := heapAssembler(b, 1000).Append(start, make([]byte, 1001), false); fate != Oversize {
		t.Errorf("one large part: %v, want oversize", fate)
	}
	if b.Used() != 0 {
		t.Errorf("%d bytes are still in use", b.Used())
	}
}

// heapAssembler is an assembler with a limit on the heap.
func heapAssembler(b *Budget, limit int) *Assembler {
	a := NewAssembler(start, &AssemblyConfig{MaxMessage: limit}, b)
	return &a
}

// A whole message goes back when it was read, and not with the next one of its sender.
func TestAMessageThatWasReadIsGivenBack(t *testing.T) {
	b := NewBudget(0)
	a := heapAssembler(b, 1<<20)
	a.Append(start, make([]byte, 20_000), true)
	if _, fate := a.Append(start, make([]byte, 100), false); fate != Whole || b.Used() == 0 {
		t.Fatalf("it is %v and takes %d bytes", fate, b.Used())
	}
	a.Read()
	if b.Used() != 0 || b.placed != 0 || b.holders.len != 0 {
		t.Errorf("%d bytes and a place of %d are in use after it was read", b.Used(), b.placed)
	}
}

// A small half-sent message costs about its size.
func TestASmallPartCostsAboutItsSize(t *testing.T) {
	b := NewBudget(0)
	heapAssembler(b, 1<<20).Append(start, make([]byte, 20), true)
	if b.Used() > 256 {
		t.Errorf("20 bytes take %d", b.Used())
	}
}

// Fifty senders and room for two: they take turns, in the order of asking, and nobody is cut off.
func TestSendersWaitForAPlace(t *testing.T) {
	const limit = 64 << 10
	b := NewBudget(2 * limit)
	senders := make([]*Assembler, 50)
	sent := make([]int, len(senders))
	want := make([][]byte, len(senders))
	for i := range senders {
		senders[i] = heapAssembler(b, limit)
		senders[i].Owner = i
		want[i] = bytes.Repeat([]byte{byte(i)}, limit-i)
	}
	now, whole, waits := start, 0, 0
	var order []int
	for round := 0; whole < len(senders); round++ {
		if round > 10_000 {
			t.Fatalf("%d of %d were completed", whole, len(senders))
		}
		now = now.Add(10 * time.Millisecond)
		for i, a := range senders {
			if sent[i] == len(want[i]) {
				continue
			}
			end := min(sent[i]+1200, len(want[i]))
			got, fate := a.Append(now, want[i][sent[i]:end], end < len(want[i]))
			switch fate {
			case Part:
				sent[i] = end
			case Whole:
				if !bytes.Equal(got, want[i]) {
					t.Fatalf("message %d was damaged", i)
				}
				sent[i] = end
				whole++
				order = append(order, i)
				a.Read()
			case Wait:
				waits++
			default:
				t.Fatalf("message %d is %v", i, fate)
			}
			if b.placed > 2*limit || b.Used() > 2*limit+len(senders)*ownPartialBytes {
				t.Fatalf("places of %d and %d bytes are in use", b.placed, b.Used())
			}
		}
		if owner, ok := b.Wake().(int); ok && owner != b.waiters.first.Owner {
			t.Fatalf("%d is woken, and not the first", owner)
		}
	}
	for i := range order {
		if i > 3 && order[i] < order[i-4] {
			t.Errorf("the order of completion is %v", order)
			break
		}
	}
	if waits == 0 || b.Used() != 0 || b.placed != 0 || b.waiters.len != 0 || b.stalls != 0 {
		t.Errorf("%d waits, then %d bytes, %d waiting, %d stalls", waits, b.Used(), b.waiters.len, b.stalls)
	}
}

// T18: ten thousand half-sent messages, of senders that pause and come back: the bounds hold, an honest message
// is completed throughout, and senders that pause go on where they stopped while nobody needs their room.
func TestHalfSentMessagesAreBounded(t *testing.T) {
	const limit, total = 256 << 10, 16 << 20
	b := NewBudget(total)
	rng := newRand(1)
	now := start
	part := make([]byte, 1200)
	honest := heapAssembler(b, limit)
	want := bytes.Repeat([]byte("honest "), 20000)
	sent, completed, since := 0, 0, now
	longest := time.Duration(0)
	attackers := make([]*Assembler, promise.Keeps(t, "T18", "engine", tier(4000, 10_000, 10_000)))
	paused := make([]time.Time, len(attackers))
	stalled := 0
	for range 600 {
		now = now.Add(100 * time.Millisecond)
		for i := range attackers {
			if attackers[i] == nil || attackers[i].Failed() {
				if attackers[i] != nil {
					stalled++
				}
				attackers[i] = heapAssembler(b, limit)
			}
			if now.Before(paused[i]) || rng.IntN(8) > 0 {
				continue
			}
			if rng.IntN(4) == 0 { // it pauses, with its connection alive
				paused[i] = now.Add(time.Duration(rng.IntN(30)) * time.Second)
			}
			if _, fate := attackers[i].Append(now, part, len(attackers[i].message) < limit-2400); fate == Oversize {
				t.Fatal("an attacker sends too much")
			}
		}
		for range 16 { // the honest one keeps sending while they do
			end := min(sent+1200, len(want))
			got, fate := honest.Append(now, want[sent:end], end < len(want))
			if fate == Wait {
				break
			}
			switch fate {
			case Part:
				sent = end
			case Whole:
				if !bytes.Equal(got, want) {
					t.Fatal("the honest message was damaged")
				}
				longest = max(longest, now.Sub(since))
				completed++
				sent, since = 0, now
			default:
				t.Fatalf("the honest message is %v", fate)
			}
		}
		if b.placed > total || b.Used() > total+len(attackers)*ownPartialBytes {
			t.Fatalf("places of %d and %d bytes in use, the budget is %d", b.placed, b.Used(), total)
		}
	}
	if completed == 0 || stalled == 0 || b.waiters.len == 0 {
		t.Fatalf("%d honest messages completed, %d stalled, %d wait: the test shows nothing", completed, stalled, b.waiters.len)
	}
	for _, a := range append(attackers, honest) {
		a.Release()
	}
	if b.Used() != 0 || b.placed != 0 || b.holders.len+b.waiters.len != 0 {
		t.Errorf("after all left %d bytes and places of %d are in use", b.Used(), b.placed)
	}
	t.Logf("seed=1: %d honest messages completed beside 10,000 half-sent ones, the slowest in %v; %d stalled", completed, longest, b.stalls)
}

// A message that stopped growing gives way to one that waits, and to nobody else; one that grows does not.
func TestAStalledMessageGivesWay(t *testing.T) {
	const limit = 64 << 10
	b := NewBudget(2 * limit)
	slow, fast, next := heapAssembler(b, limit), heapAssembler(b, limit), heapAssembler(b, limit)
	part := make([]byte, 9000)
	slow.Append(start, part, true)
	fast.Append(start, part, true)
	now := start.Add(stalledAfter - time.Second)
	if _, fate := next.Append(now, part, true); fate != Wait {
		t.Fatalf("the third is %v", fate)
	}
	for range 2 {
		fast.Append(now, part, true)
	}
	slow.Append(now, []byte{1}, true) // a little now and then is no progress
	now = start.Add(stalledAfter)
	if _, fate := next.Append(now, part, true); fate != Part {
		t.Fatalf("the third is %v", fate)
	}
	if !slow.Failed() || fast.Failed() {
		t.Errorf("failed: the slow one %v, the fast one %v", slow.Failed(), fast.Failed())
	}
	if _, fate := slow.Append(now, part, true); fate != Stalled {
		t.Errorf("a further part of the slow one is %v", fate)
	}
	now = now.Add(time.Hour)
	if _, fate := fast.Append(now, part, true); fate != Part {
		t.Errorf("after an hour in which nobody waited it is %v", fate)
	}
}

// A message of which all parts have come is read without a place, and with it nothing is left on the books.
func TestAMessageThatHasArrivedNeedsNoPlace(t *testing.T) {
	const limit = 64 << 10
	b := NewBudget(1)
	slow, next, last := heapAssembler(b, limit), heapAssembler(b, limit), heapAssembler(b, limit)
	part := make([]byte, 9000)
	slow.Append(start, part, true)
	for _, a := range []*Assembler{next, last} {
		if _, fate := a.Append(start, part, true); fate != Wait || !a.Waits() {
			t.Fatalf("beside one that has the place it is %v", fate)
		}
	}
	used := b.Used()
	last.Arrived = true
	for range 3 {
		if _, fate := last.Append(start, part, true); fate != Part {
			t.Fatalf("what has arrived is %v", fate)
		}
	}
	if got, fate := last.Append(start, part, false); fate != Whole || len(got) != 4*len(part) {
		t.Errorf("%d bytes are %v", len(got), fate)
	}
	last.Read()
	if b.Used() != used || b.Waiting() != 1 || last.Arrived || !next.Waits() {
		t.Errorf("%d bytes are in use, %d wait", b.Used(), b.Waiting())
	}
	if _, fate := last.Append(start, part, true); fate != Wait {
		t.Errorf("its sender's next message is %v", fate)
	}
}

// What a held packet is charged is what it takes.
func TestAParcelIsAsLargeAsSaid(t *testing.T) {
	if got := unsafe.Sizeof(parcel{}); got != parcelBytes {
		t.Errorf("a parcel has %d bytes, and not %d", got, parcelBytes)
	}
}
