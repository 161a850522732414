package gateway

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"parley/internal/kit/chance"
)

func TestTimesAreKeptToASixteenth(t *testing.T) {
	r := chance.Rand(t, rand.Uint64())
	var kept, before Times
	for range 1000 {
		before.add(time.Duration(r.Int64N(int64(time.Second))))
	}
	kept = before
	var all []time.Duration
	for range 10_000 {
		d := time.Duration(r.Int64N(int64(1) << (12 + r.IntN(23))))
		all = append(all, d)
		kept.add(d)
	}
	slices.Sort(all)
	kept = kept.Since(before)
	if kept.Count() != uint64(len(all)) {
		t.Fatalf("%d were kept of %d", kept.Count(), len(all))
	}
	for _, share := range []float64{0, .01, .5, .9, .99, .999, 1} {
		want := all[min(int(share*float64(len(all))), len(all)-1)]
		if got := kept.Quantile(share); got < want || got > want+want/16+1024 {
			t.Errorf("%v of all are within %v, not %v", share, want, got)
		}
	}
}

func TestBucketsFollowEachOther(t *testing.T) {
	for i := range len(Times{}.counts) - 1 {
		if end := bucketEnd(i); bucketOf(end) != i || bucketOf(end+1) != i+1 {
			t.Fatalf("bucket %d ends at %v, which is in %d; the next begins in %d", i, end, bucketOf(end), bucketOf(end+1))
		}
	}
	if last := len(Times{}.counts) - 1; bucketOf(time.Hour) != last || bucketOf(-1) != 0 {
		t.Errorf("an hour is in %d of %d, what is before its beginning in %d", bucketOf(time.Hour), last, bucketOf(-1))
	}
	if none := (&Times{}).Quantile(.99); none != 0 {
		t.Errorf("of none, 99%% took %v", none)
	}
}
