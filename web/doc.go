// Package web is the operator's HTTP server: liveness and readiness probes, metrics for Prometheus, and a plain page
// for people.
//
//	page, err := web.Listen("127.0.0.1:8080", web.Config{
//		Title: "arena",
//		Sources: []web.Source{{Name: "replica", Addr: addr, Stats: func() any { return server.Stats() }}},
//	})
//
//	GET /         the page
//	GET /healthz  200 while the process answers
//	GET /readyz   200 when the server is ready, else 503 and the reason
//	GET /metrics  every field of every Stats, in Prometheus' text form
//
// A Stats struct needs no list of its metrics. Its exported numbers are named by their path in the struct
// (ServerStats.Socket.Received of replica is parley_replica_socket_received_total). An unsigned number is a counter. A
// signed number, a float or a duration is a gauge. So a new counter cannot be forgotten.
//
// Files: web.go (listen, routes and close), guard.go (checks of Host and origin, and a bound on connections),
// metrics.go (structs to metrics), page.go with page.html, limits.go.
//
// The page answers only if the Host header is an IP address, localhost or a name of Config.Hosts. So a site whose name
// was made to resolve to this server (DNS rebinding) cannot read it. The other three paths answer to any name.
//
// The server changes nothing, asks for no password and hides none of its data. It belongs on a loopback address or
// behind a proxy that authenticates. Its data are counters and the server's own addresses, never a player's name,
// address or secret.
package web
