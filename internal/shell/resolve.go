package shell

import (
	"context"
	"net"
	"net/netip"
)

// Resolve resolves the name in host:port to an address, IPv4 first, for as long as ctx
// allows. Other text is left to the socket, which reports the error.
func Resolve(ctx context.Context, addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || host == "" {
		return addr, nil
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return addr, nil
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return "", err
	}
	best := found[0]
	for _, ip := range found {
		if ip.Unmap().Is4() {
			best = ip.Unmap()
			break
		}
	}
	return net.JoinHostPort(best.String(), port), nil
}
