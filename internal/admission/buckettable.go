package admission

// bucketTable is a set of buckets of one Limit, each found by a keyed hash of its address or
// prefix. Its size is fixed.
type bucketTable struct {
	limit   Limit
	depth   int64 // ns that an empty bucket takes to fill
	ways    int
	sets    uint64 // a power of two
	buckets []bucket
	evicted uint64
}

// bucket is a token bucket, kept as the time when it will be full again. That one number
// needs no refilling, and shows whether the bucket can be dropped.
type bucket struct {
	tag    uint64 // hash of its owner
	fullAt int64  // ns
}

// claim is a charge to a bucket that has not been made yet.
type claim struct {
	bucket *bucket
	paid   bucket
}

func newBucketTable(limit Limit, size int) bucketTable {
	if limit.Rate == 0 || limit.Rate > 1e9 || limit.Burst < 0 || limit.Burst > 1e9 {
		panic("admission: a limit is outside 1 to 10^9 a second or 0 to 10^9 at once")
	}
	t := bucketTable{limit: limit, ways: min(bucketWays, size), sets: 1}
	if limit.Rate < 0 {
		return t
	}
	for t.sets*uint64(t.ways) < uint64(size) {
		t.sets *= 2
	}
	t.buckets = make([]bucket, t.sets*uint64(t.ways))
	t.depth = int64(limit.Burst) * 1e9 / int64(limit.Rate)
	return t
}

// claim finds the bucket with that tag, in the set that spot chooses, and reports whether it
// holds enough for cost. It changes nothing.
func (t *bucketTable) claim(now int64, cost int, tag, spot uint64) (claim, bool) {
	if t.limit.Rate < 0 {
		return claim{}, true
	}
	if cost > t.limit.Burst {
		return claim{}, false
	}
	b := t.find(tag, spot)
	fullAt := now
	if b.tag == tag {
		fullAt = max(b.fullAt, now)
	}
	fullAt += int64(max(cost, 0)) * 1e9 / int64(t.limit.Rate)
	return claim{b, bucket{tag, fullAt}}, fullAt-now <= t.depth
}

// find returns the bucket with that tag, or else the bucket that it may replace: the one
// that will be full the soonest.
func (t *bucketTable) find(tag, spot uint64) *bucket {
	first := spot % t.sets * uint64(t.ways)
	set := t.buckets[first : first+uint64(t.ways)]
	soonest := &set[0]
	for i := range set {
		if set[i].tag == tag {
			return &set[i]
		}
		if set[i].fullAt < soonest.fullAt {
			soonest = &set[i]
		}
	}
	return soonest
}

// pay makes the charge of a claim.
func (t *bucketTable) pay(now int64, c claim) {
	if c.bucket == nil {
		return
	}
	if c.bucket.tag != c.paid.tag && c.bucket.fullAt > now {
		t.evicted++
	}
	*c.bucket = c.paid
}
