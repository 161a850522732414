package cluster

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"parley/cluster/clustertest"
)

func TestAsk(t *testing.T) {
	t.Parallel()
	url := clustertest.NATS(t)
	var all []*Node
	for range 3 {
		all = append(all, newNode(t, Config{URLs: []string{url}}))
	}
	big := bytes.Repeat([]byte("player "), 200_000)
	for i, n := range all {
		until(t, "the others", func() bool { return len(n.Nodes()) == 3 })
		err := n.Answer("players.*", func(_ context.Context, body []byte) []byte { return append([]byte{byte(i)}, body...) })
		if err == nil {
			err = n.Answer("big", func(context.Context, []byte) []byte { return big[:i*len(big)/2] })
		}
		if i > 0 && err == nil {
			err = n.Answer("stuck", func(ctx context.Context, _ []byte) []byte {
				if i == 1 {
					return nil
				}
				select {
				case <-ctx.Done():
				case <-time.After(time.Minute):
				}
				return nil
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := all[0].Answer("big", nil); err == nil {
		t.Error("a topic is answered twice")
	}
	until(t, "that all have heard who answers", func() bool {
		_, err := all[0].Ask(t.Context(), "players.*", nil)
		_, err2 := all[1].Ask(t.Context(), "big", nil)
		return err == nil && err2 == nil
	})
	began := time.Now()
	got, err := all[0].Ask(t.Context(), "players.*", []byte("all"))
	t.Logf("asking three nodes took %v", time.Since(began))
	for i, n := range all {
		if want := string([]byte{byte(i)}) + "all"; err != nil || string(got[n.ID()]) != want {
			t.Errorf("node %d: %q, %v", i, got[n.ID()], err)
		}
	}
	got, err = all[1].Ask(t.Context(), "big", nil)
	for i, n := range all {
		if err != nil || !bytes.Equal(got[n.ID()], big[:i*len(big)/2]) {
			t.Errorf("node %d: %d bytes, %v", i, len(got[n.ID()]), err)
		}
	}
	if b, err := all[2].AskNode(t.Context(), all[1].ID(), "players.*", []byte("x")); err != nil || string(b) != "\x01x" {
		t.Errorf("one node: %q, %v", b, err)
	}
	if _, err := all[2].AskNode(t.Context(), 7, "players.*", nil); !errors.Is(err, ErrNoNode) {
		t.Errorf("no node: %v", err)
	}
	for limit := 200 * time.Millisecond; ; limit *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		got, err = all[2].Ask(ctx, "stuck", nil)
		cancel()
		var silent *SilentError
		if _, ok := got[all[1].ID()]; ok && errors.As(err, &silent) && len(silent.Nodes) == 2 {
			break
		}
		if limit > askTime { // a busy machine
			t.Fatalf("one answers, one is stuck, one does not know: %v, %v", got, err)
		}
	}
}
