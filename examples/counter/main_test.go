package main

import (
	"context"
	"testing"

	"parley/internal/patient"
)

// The example works: what one client adds, another sees.
func TestWhatOneAddsAnotherSees(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	addr := make(chan string, 1)
	served := make(chan error, 1)
	go func() { served <- serve(ctx, "127.0.0.1:0", func(a string) { addr <- a }) }()
	server := patient.Value(addr)
	watching, unwatch := context.WithCancel(ctx)
	numbers := make(chan int64, 100)
	watched := make(chan error, 1)
	go func() { watched <- watch(watching, server, func(n int64) { numbers <- n }) }()
	if first := patient.Value(numbers); first != 0 {
		t.Errorf("the number starts at %d", first)
	}
	for _, n := range []string{"5", "-2"} {
		if err := add(ctx, server, n); err != nil {
			t.Fatal(err)
		}
	}
	for n := range numbers {
		if n == 3 {
			break
		}
	}
	unwatch()
	if err := patient.Value(watched); err != nil {
		t.Errorf("watch: %v", err)
	}
	if err := add(ctx, server, "many"); err == nil {
		t.Error("a word was added")
	}
	cancel()
	if err := patient.Value(served); err != nil {
		t.Errorf("serve: %v", err)
	}
}
