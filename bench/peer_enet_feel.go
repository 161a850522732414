package main

import "cmp"

// enetFeelPeers are an arena over ENet: the same inputs as relay's, and the same records in every tick.
var enetFeelPeers = []Peer{
	enetFeelPeer("enet arena", "inputs reliable, at once; records unreliable, in every tick, never throttled"),
	enetFeelPeer("enet arena repeated", "inputs unreliable, at once and again every 50 ms; records unreliable, in every tick, never throttled"),
}

func enetFeelPeer(name, settings string) Peer {
	p := enetPeer(name, settings, false)
	missing := p.Missing
	p.Missing = func() string { return cmp.Or(missing(), netsMissing()) }
	p.Crowd, p.Only, p.Feel = false, true, "enet"
	return p
}
