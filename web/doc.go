// Package web is the operator's HTTP server: liveness and readiness probes, metrics for Prometheus, an API for programs, and
// the operator's page, which is made of that API.
//
//	page, err := web.Listen("127.0.0.1:8080", web.Config{
//		Title: "arena",
//		Stats: func() any { return server.Stats() },
//		Operator: operator, Token: token, // for the API
//	})
//
//	GET /         the operator's page, with /operator/…: files that tell nothing of the server
//	GET /healthz  200 while the process answers
//	GET /readyz   200 when the server is ready, else 503 and the reason
//	GET /metrics  the counters, in Prometheus' text form
//	    /v1/…     the operator's API, see docs/api.md
//
// families.go is the table of metrics. A metric has a name, labels, a help text, and the fields of the Stats struct that it is
// computed from. /metrics and the table of docs/metrics.md are made from families.go. Check compares the table with a Stats
// struct: a test of the program fails if a counter has no metric, or a metric no counter. The values of labels are names from
// the program and the game: dialects, fates, kinds and fields. So players cannot add series.
//
// calls.go is the table of the API. The mux, /v1/openapi.json and docs/api.md are made from it, so that none of them has a call, a
// field or a status that the others do not have. The API knows the server by the interface Operator.
//
// The life of a call: guard.go (a bound on connections) → api.go (Host, origin, token, path, method) → body.go (size, fields,
// types) → calls.go (values) → Operator → api.go (the answer, buffered). Events take another way: events.go has one goroutine that
// looks at the server once a second for all clients, and a bounded queue for each client.
//
// Files: web.go (listen, routes and close), guard.go (checks of Host and origin, and a bound on connections), families.go (the
// table of metrics), metrics.go (structs to metrics), page.go with the folder operator (the
// page), words.go and counters.go (counters for people), live.go (/v1/live), history.go (the last ten minutes), map.go, operator.go (Operator and the structs of the API),
// calls.go, api.go, body.go, events.go, openapi.go, token.go (the token's file), limits.go.
//
// ListenPlay is another server, for strangers: what players ask before they play, under /play/ (docs/play.md). It knows the server by the
// interface Lobby. Its files: play.go (Host, origin, calls by address, paths, matches), play_rooms.go (rooms that players open),
// play_page.go and play_files.go (our page, or one of the operator's own), play_guard.go (bounds on connections, of all and of an address), play_lobby.go (Lobby and the structs), play_limits.go.
//
// The page and the API answer only if the Host header is an IP address, localhost or a name of Config.Hosts. So a site whose name
// was made to resolve to this server (DNS rebinding) cannot read them. The other three paths answer to any name.
//
// Everything under /v1/ needs the token. The rest changes nothing, asks for no password and hides none of its data. It belongs on
// a loopback address or behind a proxy that authenticates. Its data are counters and the server's own addresses, never a
// player's name, address or secret.
package web
