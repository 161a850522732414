// Package web is the operator's HTTP server: liveness and readiness probes, metrics for Prometheus, and a plain page
// for people.
//
//	page, err := web.Listen("127.0.0.1:8080", web.Config{
//		Title: "arena",
//		Stats: func() any { return server.Stats() },
//	})
//
//	GET /         the page
//	GET /healthz  200 while the process answers
//	GET /readyz   200 when the server is ready, else 503 and the reason
//	GET /metrics  the counters, in Prometheus' text form
//
// families.go is the table of metrics. A metric has a name, labels, a help text, and the fields of the Stats struct that it is
// computed from. /metrics and the table of docs/metrics.md are made from families.go. Check compares the table with a Stats
// struct: a test of the program fails if a counter has no metric, or a metric no counter. The values of labels are names from
// the program and the game: dialects, fates, kinds and fields. So players cannot add series.
//
// Files: web.go (listen, routes and close), guard.go (checks of Host and origin, and a bound on connections), families.go (the
// table of metrics), metrics.go (structs to metrics), page.go with page.html, limits.go.
//
// The page answers only if the Host header is an IP address, localhost or a name of Config.Hosts. So a site whose name
// was made to resolve to this server (DNS rebinding) cannot read it. The other three paths answer to any name.
//
// The server changes nothing, asks for no password and hides none of its data. It belongs on a loopback address or
// behind a proxy that authenticates. Its data are counters and the server's own addresses, never a player's name,
// address or secret.
package web
