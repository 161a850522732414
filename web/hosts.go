package web

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// known refuses requests by a name that is not ours, and those that a page of another origin makes a browser send.
func known(hosts []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !ours(hosts, r.Host):
			http.Error(w, "this server is not known by that name; ask by its address, or add the name to --web-hosts", http.StatusMisdirectedRequest)
		case foreign(r):
			http.Error(w, "this page is not for other sites", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// ours reports whether a Host header is an IP address, localhost, or one of hosts.
func ours(hosts []string, host string) bool {
	host = nameOf(host)
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return strings.EqualFold(host, "localhost") || slices.ContainsFunc(hosts, func(h string) bool { return h != "" && strings.EqualFold(h, host) })
}

// nameOf returns the name or the address in a Host header, without its port.
func nameOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), ".")
}

// isLoopback reports whether a Host header is that of a client on this machine.
func isLoopback(host string) bool {
	name := nameOf(host)
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback() || strings.EqualFold(name, "localhost")
}

// elsewhere reports whether a request comes from a page of another host, at whatever port.
func elsewhere(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || u.Host == "" || !strings.EqualFold(nameOf(u.Host), nameOf(r.Host))
}

// foreign reports whether a request comes from a page of another origin.
func foreign(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || !strings.EqualFold(u.Host, r.Host)
}

// reachable returns an address as the client of a request can use it: one that listens everywhere is at the host that was asked.
func reachable(addr, host string) string {
	at, err := netip.ParseAddrPort(addr)
	if err != nil || !at.Addr().IsUnspecified() {
		return addr
	}
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	_, port, _ := net.SplitHostPort(addr)
	return net.JoinHostPort(strings.Trim(name, "[]"), port)
}
