// Package web is what an operator looks at: whether the server lives and is ready, its
// counters for Prometheus, and a plain page of the same for people.
//
//	page, err := web.Listen("127.0.0.1:8080", web.Config{
//		Title: "arena",
//		Sources: []web.Source{{Name: "replica", Addr: addr, Stats: func() any { return server.Stats() }}},
//	})
//
//	GET /         the page
//	GET /healthz  200 while the process answers
//	GET /readyz   200 when all is ready, else 503 and why
//	GET /metrics  every field of every Stats, in Prometheus' text form
//
// A Stats struct needs no list of its metrics: its exported numbers are walked, named by
// the way to them (ServerStats.Socket.Received of replica is
// parley_replica_socket_received_total) and told apart by type: an unsigned number is a
// counter, a signed one, a float or a duration is a gauge. A new counter is so never forgotten.
//
// Files: web.go (listen, routes and close), guard.go (who may ask, and how many at once), metrics.go (structs to
// metrics), page.go with page.html, limits.go.
//
// The page answers only to an IP address, localhost or a name of Config.Hosts in the Host header, so that a site whose
// name leads here (DNS rebinding) cannot read it. The other three answer any name.
//
// What it does not do: it changes nothing, asks for no password and hides nothing that it is
// given: it belongs on a loopback address or behind a proxy that knows who may look. What it
// is given are counters and addresses of our own, never a player's name, address or secret.
package web
