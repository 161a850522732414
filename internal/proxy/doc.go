// Package proxy finds the true address of a client behind proxies that the operator trusts: from the header X-Forwarded-For of a request,
// or from the header of the PROXY protocol, version 1 or 2, at the beginning of a TCP connection.
//
//	trusted, err := proxy.ParseTrust("10.0.0.0/8,192.0.2.7")
//	from := trusted.Forwarded(peer, request.Header.Values("X-Forwarded-For"))
//	if trusted.Holds(peer) {
//		from, err = proxy.ReadHeader(socket) // the zero AddrPort: the peer speaks for itself
//	}
//
// Neither header is looked at from a peer that is not trusted, as anybody can write one. The package is pure: it reads what it is given.
package proxy
