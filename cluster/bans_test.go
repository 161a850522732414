package cluster

import (
	"testing"
	"time"

	"parley/cluster/clustertest"
)

// "bans everywhere within a second"
func TestBansAreEverywhereWithinASecond(t *testing.T) {
	t.Parallel()
	url := clustertest.NATS(t)
	a, b := newNode(t, Config{URLs: []string{url}}), newNode(t, Config{URLs: []string{url}})
	ctx := t.Context()
	var atA, atB board
	if err := a.PutBan(ctx, "10.0.0.0/8", []byte("spam"), time.Time{}); err != nil {
		t.Fatal(err)
	}
	a.WatchBans(atA.tell)
	b.WatchBans(atB.tell)
	both := func(want map[string]string) func() bool { return func() bool { return atA.is(want) && atB.is(want) } }
	until(t, "the ban that is there", both(map[string]string{"10.0.0.0/8": "spam"}))
	began := time.Now()
	if err := b.PutBan(ctx, "account eve", []byte("again"), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	until(t, "a ban", both(map[string]string{"10.0.0.0/8": "spam", "account eve": "again"}))
	if err := a.DeleteBan(ctx, "10.0.0.0/8"); err != nil {
		t.Fatal(err)
	}
	until(t, "the end of a ban", both(map[string]string{"account eve": "again"}))
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("both took %v", took)
	} else {
		t.Logf("a ban and the end of one took %v", took)
	}
}
