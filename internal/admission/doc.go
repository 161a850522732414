// Package admission bounds what unknown peers may cost a server: memory, answers and bytes.
// Each type except Crowd and Porch takes a fixed amount of memory, allocated at the start.
// Its comment says what happens when that memory is used up.
//
// # Usage
//
//	half := admission.NewHalfOpen[handshake](admission.HalfOpenConfig{}, key)
//	switch h, verdict := half.Open(now, from); verdict {
//	case admission.Opened, admission.Repeated:
//		accept(h, secret.Clock(from, ended.Next(now, from)))
//	case admission.Deferred: // say nothing
//	}
//	...
//	if h, ok := half.Prove(now, from); ok { connect(h) }
//
// # Types
//
//	HalfOpen   half-open connections of unproven addresses: bounded, short-lived (halfopen.go)
//	Seen       addresses that asked to connect a moment ago, for "only the second init is answered" (seen.go)
//	Secret     clocks and tokens that prove an address without storing it (secret.go)
//	Ended      numbers the connections of an address, so that their clocks differ (memory.go)
//	Allowance  bytes that may be sent to one unproven peer: three times the bytes received (allowance.go)
//	Buckets    limits by address, by /24 or /56 prefix, and in all (buckets.go)
//	Porch      connections that are proven and have not entered (porch.go)
//	Ignored    addresses that are ignored for a while (memory.go)
//	Canon      the canonical form of an address, used as a key (key.go)
//
// # Life of a first packet
//
//	Ignored.Has          if so, drop it
//	HalfOpen.Open        the peer wants to connect: defer, or answer with Secret.Clock
//	Allowance.MaySend    for anything beyond that one answer
//	HalfOpen.Prove       the peer repeated a value that only a receiver could know
//	Ended.End            when its connection has ended
//	Buckets.Allow        it is from a stranger: may we send a notice?
//
// HalfOpen alone withstands forged sources. With Buckets in front of it, an attacker who
// forges a prefix could keep that prefix from connecting.
//
// # Limits
//
// See limits.go. With the defaults, and 256 bytes of state for a handshake, all of these
// together take about 3 MiB. Except for Crowd and Porch, nothing allocates after the start.
//
// # What it does not do
//
// It has no goroutine, no lock and no clock: one goroutine owns each value and passes now,
// which should come from a monotonic clock. It is deterministic: the same key and the same
// calls give the same answers. It knows no protocol: the caller decides what proves an
// address.
//
// # Security
//
// The source of a datagram may be forged, so nothing here punishes a source: a refused peer
// loses some of our answers to strangers, never its session. Hashes are keyed with AES-256,
// so colliding addresses cannot be found without the key. Forged sources can still use up
// limits that they share with their neighbours; the comment of Buckets says how much.
// Nothing here helps when the link itself is full.
package admission
