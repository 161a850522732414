package admission

import (
	"net/netip"
	"time"
)

// Limit is a token bucket: in any time of d seconds at most Burst + Rate·d units pass.
type Limit struct {
	// Rate is the units that pass in a second, up to 10^9. Negative means no limit.
	Rate int
	// Burst is the units that pass at once after a silence, up to 10^9.
	Burst int
}

// NoLimit lets everything pass.
var NoLimit = Limit{Rate: -1}

// BucketsConfig sets the limits of Buckets. The zero value limits notices to strangers as
// replica has them: at most 10 in a second to a source and 1,000 in all.
type BucketsConfig struct {
	// Source limits one address, whatever its ports; zero means 8 a second and 2 at once.
	Source Limit
	// Prefix limits all addresses of an IPv4 /24 or an IPv6 /56 together, which one
	// customer may have as its own; zero means 80 a second and 20 at once.
	Prefix Limit
	// Total limits all together; zero means 900 a second and 100 at once.
	Total Limit
	// Sources is how many addresses have a bucket at once; 0 means 8,192.
	Sources int
	// Prefixes is how many prefixes have a bucket at once; 0 means 4,096.
	Prefixes int
}

// BucketsStats counts the fate of each call of Allow, and buckets that were lost.
type BucketsStats struct {
	Allowed       uint64
	OverSource    uint64 // refused: too much from one address
	OverPrefix    uint64 // refused: too much from one prefix
	OverTotal     uint64 // refused: too much in all
	EvictedSource uint64 // buckets of an address that were not full and made room for others
	EvictedPrefix uint64 // the same of a prefix
}

// Buckets limits what sources may cost by address, by prefix and in all, in constant memory
// (16 bytes a bucket, 192 KiB by default) however many sources there are.
//
// A bucket has 8 places that it may be in, chosen by a keyed hash. A full bucket is as good
// as none, so its place is free. If none is free, the bucket among the 8 that
// owes the least is forgotten, and its source starts again with a full one: so a flood
// of sources that send little pushes out one another, not those that send much.
//
// A refused request is charged to nobody. An address is judged before its prefix, so one
// forged address takes at most Source.Rate from its neighbours' Prefix.Rate. An attacker
// who forges a whole prefix does use it up. Its members then get a share of Prefix.Rate
// in proportion to their packets. So do not put anything behind Buckets that
// a proven peer depends on, and do not charge garbage to the bucket that new connections
// draw from: its source may be forged.
type Buckets struct {
	prf      *prf
	epoch    time.Time // time 0: the first now that was seen
	started  bool
	sources  bucketTable
	prefixes bucketTable
	total    bucketTable // of one bucket
	stats    BucketsStats
}

// NewBuckets returns full buckets for everyone.
func NewBuckets(config BucketsConfig, key Key) *Buckets {
	return &Buckets{
		prf:      newPRF(key),
		sources:  newBucketTable(orDefault(config.Source, noticeSource), orDefault(config.Sources, defaultSources)),
		prefixes: newBucketTable(orDefault(config.Prefix, noticePrefix), orDefault(config.Prefixes, defaultPrefixes)),
		total:    newBucketTable(orDefault(config.Total, noticeTotal), 1),
	}
}

// Allow reports whether something that costs so many units may be done for a source, and if
// so charges it. The unit is the caller's: packets, bytes. More than a Burst is never
// allowed.
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
