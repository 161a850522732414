package proxy

import (
	"fmt"
	"net/netip"
	"strings"
)

// Trust is the networks of proxies that are believed. The zero Trust believes nobody.
type Trust []netip.Prefix

// ParseTrust reads networks and addresses that are written with commas: 10.0.0.0/8,192.0.2.7.
func ParseTrust(list string) (t Trust, err error) {
	for _, item := range strings.Split(list, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		p, err := netip.ParsePrefix(item)
		if addr, wrong := netip.ParseAddr(item); err != nil && wrong == nil && addr.Zone() == "" {
			p, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err == nil && p.Addr().Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("%q is no network; write one such as 10.0.0.0/8 or 192.0.2.7", item)
		case p.Bits() == 0:
			return nil, fmt.Errorf("%q is every address, so anybody could name a false one; name the network of the proxies", item)
		}
		t = append(t, p.Masked())
	}
	return t, nil
}

// Holds reports whether an address is that of a proxy.
func (t Trust) Holds(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	for _, p := range t {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// Forwarded returns the address that a request comes from. values are those of X-Forwarded-For. Each proxy writes the address that it
// was asked by behind what was there, so the last one that is no proxy is true, and all before it may be made up. An address that cannot be
// read, and none at all, is the peer's.
func (t Trust) Forwarded(peer netip.Addr, values []string) netip.Addr {
	peer = peer.Unmap()
	if !t.Holds(peer) {
		return peer
	}
	for i := len(values) - 1; i >= 0; i-- {
		for rest, more := values[i], true; more; {
			last := rest
			if at := strings.LastIndexByte(rest, ','); at >= 0 {
				rest, last = rest[:at], rest[at+1:]
			} else {
				more = false
			}
			addr, ok := parseForwarded(strings.TrimSpace(last))
			if !ok {
				return peer
			}
			if !t.Holds(addr) {
				return addr
			}
		}
	}
	return peer
}

// parseForwarded reads an address. Some proxies write the port behind it.
func parseForwarded(text string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(text)
	if err != nil {
		at, wrong := netip.ParseAddrPort(text)
		addr, err = at.Addr(), wrong
	}
	return addr.Unmap(), err == nil && addr.Zone() == "" && !addr.IsUnspecified() && !addr.IsMulticast()
}
