package reliable

import (
	"bytes"
	"testing"
	"time"

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
	a := NewAssembler(start, &AssemblyConfig{MaxMessage: limit, Expiry: 5 * time.Second}, b)
	return &a
}

// T18: ten thousand half-sent messages cost what the budget says and expire,
// and an honest one completes throughout.
func TestHalfSentMessagesAreBounded(t *testing.T) {
	const limit, total = 256 << 10, 16 << 20
	b := NewBudget(total)
	rng := newRand(1)
	now := start
	part := make([]byte, 1200)
	honest := heapAssembler(b, limit)
	want := bytes.Repeat([]byte("honest "), 20000)
	sent := 0
	attackers := make([]*Assembler, promise.Keeps(t, "T18", "engine", 10_000))
	completed := 0
	for round := range 40 {
		for i := range attackers {
			if attackers[i] == nil || attackers[i].Failed() {
				attackers[i] = heapAssembler(b, limit)
			}
			if rng.IntN(4) == 0 {
				attackers[i].Append(now, part, true)
			}
			if i%200 == 0 { // the honest one keeps sending while they do
				end := min(sent+1200, len(want))
				got, fate := honest.Append(now, want[sent:end], end < len(want))
				switch fate {
				case Part:
					sent = end
				case Whole:
					if !bytes.Equal(got, want) {
						t.Fatal("the honest message was damaged")
					}
					completed++
					sent = 0
				default:
					t.Fatalf("round %d: the honest message is %v", round, fate)
				}
			}
			if b.Used() > total {
				t.Fatalf("%d bytes in use, the budget is %d", b.Used(), total)
			}
		}
		now = now.Add(100 * time.Millisecond)
	}
	if completed == 0 {
		t.Fatal("no honest message was completed")
	}
	if b.evictions == 0 {
		t.Fatal("the attack did not use up the budget: the test shows nothing")
	}
	for _, a := range attackers {
		if at, ok := a.NextTimeout(); ok && at.After(now.Add(5*time.Second)) {
			t.Fatalf("expires at %v, more than 5 s from now", at)
		}
		a.Expire(now.Add(5 * time.Second))
	}
	honest.Release()
	if b.Used() != 0 || b.oldest != nil || b.newest != nil {
		t.Errorf("after all expired %d bytes are in use", b.Used())
	}
	t.Logf("%d honest messages completed beside 10,000 half-sent ones; %d evicted, %d expired", completed, b.evictions, b.expirations)
}

func TestTheSlowestPartialMessageGoesFirst(t *testing.T) {
	b := NewBudget(3 * 4096)
	var as [4]*Assembler
	for i := range as {
		as[i] = heapAssembler(b, 1<<20)
	}
	for i, size := range []int{4000, 3000, 4000} {
		as[i].Append(start, make([]byte, size), true)
	}
	as[1].Append(start.Add(time.Second), make([]byte, 500), true) // the newest part, and still the slowest
	if _, fate := as[3].Append(start.Add(time.Second), make([]byte, 4096), true); fate != Part {
		t.Fatalf("the fourth is %v", fate)
	}
	for i, want := range []bool{false, true, false, false} {
		if as[i].Failed() != want {
			t.Errorf("message %d failed: %v, want %v", i, as[i].Failed(), want)
		}
	}
	if _, fate := as[1].Append(start, []byte("x"), false); fate != Evicted {
		t.Errorf("a further part of the evicted one is %v", fate)
	}
	if _, fate := as[0].Append(start.Add(time.Second), make([]byte, 3*4096), true); fate != Evicted {
		t.Errorf("a message larger than the whole budget is %v", fate)
	}
}
