package shell

import (
	"context"
	"net"
	"net/netip"
)

// Resolve turns the name in host:port into its address, IPv4 first, for as long as ctx
// allows. What is no name is left to the socket, which knows what to say of it.
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
