package admission

import (
	"testing"
	"time"
)

func TestHalfOpenStory(t *testing.T) {
	h := NewHalfOpen[int](HalfOpenConfig{Max: 4, Crowded: 2}, testKey)
	open := func(now time.Duration, n int, want Verdict) *int {
		t.Helper()
		v, got := h.Open(at(now), peer(n))
		if got != want {
			t.Fatalf("peer %d at %v: %v, want %v", n, now, got, want)
		}
		if (v == nil) != (want == Deferred) {
			t.Fatalf("peer %d at %v: value %v with %v", n, now, v, got)
		}
		return v
	}
	*open(0, 1, Opened) = 11
	if got := *open(time.Second, 1, Repeated); got != 11 {
		t.Errorf("a repeated question finds %d, want 11", got)
	}
	open(time.Second, 2, Opened)
	open(time.Second, 3, Opened) // there were not more than two
	open(time.Second, 4, Deferred)
	open(2*time.Second, 4, Opened)
	open(2*time.Second, 5, Deferred)
	open(2*time.Second, 5, Opened) // full: the oldest goes
	if h.Get(at(2*time.Second), peer(1)) != nil {
		t.Error("the oldest did not make room")
	}
	*h.Get(at(2*time.Second), peer(2)) = 22
	if v, ok := h.Prove(at(3*time.Second), peer(2)); !ok || v != 22 {
		t.Errorf("proven with %v, %v", v, ok)
	}
	if _, ok := h.Prove(at(3*time.Second), peer(2)); ok {
		t.Error("proven twice")
	}
	if !h.Drop(at(3*time.Second), peer(3)) || h.Drop(at(3*time.Second), peer(3)) {
		t.Error("a handshake was not dropped once")
	}
	if h.Get(at(7*time.Second-1), peer(4)) == nil || h.Get(at(7*time.Second), peer(4)) != nil {
		t.Error("a handshake does not live for 5 s")
	}
	h.Expire(at(7 * time.Second))
	if h.Len() != 0 {
		t.Errorf("%d are left", h.Len())
	}
	want := HalfOpenStats{Opened: 5, Repeated: 1, Deferred: 2, Proven: 1, Dropped: 1, Expired: 2, Evicted: 1}
	if got := h.Stats(); got != want {
		t.Errorf("stats: got %+v, want %+v", got, want)
	}
}

func TestHalfOpenDefaults(t *testing.T) {
	h := NewHalfOpen[int](HalfOpenConfig{}, testKey)
	for i := range 1025 {
		if _, v := h.Open(start, peer(i)); v != Opened {
			t.Fatalf("handshake %d: %v", i, v)
		}
	}
	for i := 1025; i < 5000; i++ {
		if _, v := h.Open(start, peer(i)); v != Deferred {
			t.Fatalf("with more than 1,024 open, handshake %d: %v", i, v)
		}
		if _, v := h.Open(start, peer(i)); v != Opened {
			t.Fatalf("with more than 1,024 open, handshake %d for the second time: %v", i, v)
		}
	}
	if h.Len() != 4096 {
		t.Errorf("%d are open, want 4,096", h.Len())
	}
	if _, v := h.Open(at(5*time.Second), peer(9999)); v != Opened {
		t.Errorf("those that have run out make a crowd: %v", v)
	}
	if got := 4096 - h.Len(); got != 63 {
		t.Errorf("one call removed %d and added one, want 64", got+1)
	}
	h.Expire(at(5 * time.Second))
	if h.Len() != 1 {
		t.Errorf("%d are open after all ran out but one", h.Len())
	}
}

func TestHalfOpenWithoutACrowd(t *testing.T) {
	h := NewHalfOpen[int](HalfOpenConfig{Max: 4, Crowded: -1, Life: time.Minute}, testKey)
	for i := range 10 {
		if _, v := h.Open(start, peer(i)); v != Opened {
			t.Errorf("handshake %d: %v", i, v)
		}
	}
	if h.Len() != 4 || h.Get(at(59*time.Second), peer(9)) == nil {
		t.Errorf("%d are open", h.Len())
	}
}

func TestHalfOpenStateIsAtMostAKibibyte(t *testing.T) {
	NewHalfOpen[[1024]byte](HalfOpenConfig{Max: 1}, testKey)
	defer func() {
		if recover() == nil {
			t.Error("1,025 bytes are accepted")
		}
	}()
	NewHalfOpen[[1025]byte](HalfOpenConfig{Max: 1}, testKey)
}

func TestVerdictsHaveNames(t *testing.T) {
	for v, want := range map[Verdict]string{0: "unset", Opened: "opened", Repeated: "repeated", Deferred: "deferred"} {
		if got := v.String(); got != want {
			t.Errorf("%d: got %q, want %q", v, got, want)
		}
	}
}
