package admission

import (
	"net/netip"
	"time"
)

// Limit is a token bucket: in any d seconds at most Burst + Rate·d units pass.
type Limit struct {
	// Rate is the number of units that pass in a second, up to 10^9. Negative means no
	// limit.
	Rate int
	// Burst is the number of units that pass at once after a silence, up to 10^9.
	Burst int
}

// NoLimit lets everything pass.
var NoLimit = Limit{Rate: -1}

// BucketsConfig sets the limits of Buckets. The zero value is the limit of replica's
// notices to strangers: at most 10 in a second to a source and 1,000 in all.
type BucketsConfig struct {
	// Source limits one address, all its ports together; zero means 8 a second and 2 at
	// once.
	Source Limit
	// Prefix limits all addresses of an IPv4 /24 or an IPv6 /56 together, which may all
	// belong to one customer; zero means 80 a second and 20 at once.
	Prefix Limit
	// Total limits all together; zero means 900 a second and 100 at once.
	Total Limit
	// Sources is how many addresses have a bucket at once; 0 means 8,192.
	Sources int
	// Prefixes is how many prefixes have a bucket at once; 0 means 4,096.
	Prefixes int
}

// BucketsStats counts the result of each call of Allow, and buckets that were dropped.
type BucketsStats struct {
	Allowed       uint64
	OverSource    uint64 // refused: too much from one address
	OverPrefix    uint64 // refused: too much from one prefix
	OverTotal     uint64 // refused: too much in all
	EvictedSource uint64 // buckets of an address that were dropped for others before they were full
	EvictedPrefix uint64 // the same of a prefix
}

// Buckets limits what sources may cost by address, by prefix and in all, in constant memory
// (16 bytes a bucket, 192 KiB by default) however many sources there are.
//
// A bucket has 8 places that it may be in, chosen by a keyed hash. A full bucket is the
// same as none, so its place counts as free. If no place is free, the bucket among the 8
// that is nearest to full is dropped, and its source starts again with a full one. So in a
// flood, sources that send little push out one another, not those that send much.
//
// A refused request is charged to no bucket. An address is checked before its prefix, so
// one forged address takes at most Source.Rate from its neighbours' Prefix.Rate. An
// attacker who forges a whole prefix does use up Prefix.Rate. Honest addresses of the
// prefix then get a share of it in proportion to their packets. So do not put anything
// behind Buckets that a proven peer depends on. Do not charge invalid packets to the
// bucket that new connections draw from: their source may be forged.
type Buckets struct {
	prf      *prf
	epoch    time.Time // time 0: the first now that was seen
	started  bool
	sources  bucketTable
	prefixes bucketTable
	total    bucketTable // has one bucket
	stats    BucketsStats
}

// NewBuckets returns Buckets in which all buckets are full.
func NewBuckets(config BucketsConfig, key Key) *Buckets {
	return &Buckets{
		prf:      newPRF(key),
		sources:  newBucketTable(orDefault(config.Source, noticeSource), orDefault(config.Sources, defaultSources)),
		prefixes: newBucketTable(orDefault(config.Prefix, noticePrefix), orDefault(config.Prefixes, defaultPrefixes)),
		total:    newBucketTable(orDefault(config.Total, noticeTotal), 1),
	}
}

// Allow reports whether something that costs cost units may be done for a source, and if so
// charges it. The caller chooses the unit, such as packets or bytes. A cost above Burst is
// never allowed.
func (b *Buckets) Allow(now time.Time, from netip.Addr, cost int) bool {
	if !b.started {
		b.epoch, b.started = now, true
	}
	t, addr := int64(now.Sub(b.epoch)), canonAddr(from)
	tag, spot := b.prf.sum(useSource, addr.As16(), addr.Zone(), 0, 0)
	source, ok := b.sources.claim(t, cost, tag, spot)
	if !ok {
		b.stats.OverSource++
		return false
	}
	tag, spot = b.prf.sum(usePrefix, prefixOf(addr), addr.Zone(), 0, 0)
	prefix, ok := b.prefixes.claim(t, cost, tag, spot)
	if !ok {
		b.stats.OverPrefix++
		return false
	}
	total, ok := b.total.claim(t, cost, 0, 0)
	if !ok {
		b.stats.OverTotal++
		return false
	}
	b.stats.Allowed++
	b.sources.pay(t, source)
	b.prefixes.pay(t, prefix)
	b.total.pay(t, total)
	return true
}

// Stats returns the counters.
func (b *Buckets) Stats() BucketsStats {
	s := b.stats
	s.EvictedSource, s.EvictedPrefix = b.sources.evicted, b.prefixes.evicted
	return s
}
