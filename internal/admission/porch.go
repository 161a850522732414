package admission

import (
	"net/netip"
	"slices"
)

// PorchConfig sets the limits of a Porch. A member is a connection on the porch. Zero means the default, negative means
// no limit.
type PorchConfig struct {
	// Host bounds the members of one host; zero means 64.
	Host int
	// Network bounds the members of an IPv4 /24 or an IPv6 /56; zero means 512.
	Network int
	// Total bounds all together; zero means 2,048.
	Total int
}

// Porch holds connections that are proven and have not entered. Over TCP these are connections in their TLS handshake or
// before their log-in. A host that has used up its limit gets no more places. When all places are taken, the newest
// connection of the host that has the most makes room for a connection of a host that has fewer. It is not safe for
// concurrent use.
type Porch[T any] struct {
	limits   PorchConfig
	hosts    map[netip.Addr][]*Place[T] // oldest first
	networks *Crowd
	count    int
}

// Place is a connection on a porch.
type Place[T any] struct {
	Member        T
	host, network netip.Addr
	in            bool
}

// NewPorch returns an empty porch.
func NewPorch[T any](c PorchConfig) *Porch[T] {
	c.Host, c.Network, c.Total = orDefault(c.Host, porchHost), orDefault(c.Network, porchNetwork), orDefault(c.Total, porchTotal)
	return &Porch[T]{limits: c, hosts: map[netip.Addr][]*Place[T]{}, networks: NewCrowd(c.Network)}
}

// Enter gives a connection from an address a place, or nil if it is refused. If out is not nil, out has lost its place to
// the new connection and must be cut.
func (p *Porch[T]) Enter(from netip.Addr, member T) (place, out *Place[T]) {
	place = &Place[T]{Member: member, host: Host(from), network: Network(from)}
	own := len(p.hosts[place.host])
	if p.limits.Host >= 0 && own >= p.limits.Host {
		return nil, nil
	}
	if p.limits.Total >= 0 && p.count >= p.limits.Total {
		// If the busiest host has only one more than the new connection's host, the two would only swap.
		if out = p.busiest(); out == nil || len(p.hosts[out.host]) <= own+1 {
			return nil, nil
		}
	}
	if !p.networks.Enter(place.network) {
		return nil, nil
	}
	if out != nil {
		p.Leave(out)
	}
	place.in = true
	p.hosts[place.host] = append(p.hosts[place.host], place)
	p.count++
	return place, out
}

// Leave gives back the place of a connection that has entered or ended. A second call changes nothing.
func (p *Porch[T]) Leave(place *Place[T]) {
	if place == nil || !place.in {
		return
	}
	place.in = false
	p.count--
	p.networks.Leave(place.network)
	list := p.hosts[place.host]
	if len(list) == 1 {
		delete(p.hosts, place.host)
		return
	}
	i := slices.Index(list, place)
	p.hosts[place.host] = slices.Delete(list, i, i+1)
}

// Has reports whether a connection still has its place.
func (p *Porch[T]) Has(place *Place[T]) bool { return place != nil && place.in }

// Of returns the number of places of the host of an address.
func (p *Porch[T]) Of(from netip.Addr) int { return len(p.hosts[Host(from)]) }

// Len returns the number of places taken.
func (p *Porch[T]) Len() int { return p.count }

// busiest returns the newest place of the host that has the most. Of several such hosts it takes the lowest, so that runs
// can be repeated. It looks at all hosts, so it is called only when there is no room left.
func (p *Porch[T]) busiest() (newest *Place[T]) {
	most := 0
	for host, list := range p.hosts {
		if len(list) > most || len(list) == most && host.Less(newest.host) {
			most, newest = len(list), list[len(list)-1]
		}
	}
	return newest
}

// Network returns the network of one customer: the /24 of an IPv4 address, or the /56 of an IPv6 address.
func Network(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	bits := prefixBits6
	if addr.Is4() {
		bits = prefixBits4
	}
	network, _ := addr.Prefix(bits) // fails only for the zero Addr
	return network.Addr()
}
