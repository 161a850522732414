package layout

import (
	"path"
	"slices"
	"strings"
)

// A row is one line of the table: a package, or several of one kind.
type row struct {
	// path is the directory: "." is the module's root, an element * is any
	// one name, and a last element ... is any depth.
	path string

	// mayImport are the packages that it may import, in the spelling of path. The
	// standard library needs no mention, and what of it is for shells only is
	// in purity_test.go.
	mayImport []string

	// modules are the foreign modules that it may import.
	modules []string

	// anything lifts both lists.
	anything bool

	// shell are the files, without .go, that may touch sockets, clocks, locks
	// and randomness; a_linux.go and a_recv.go belong to a. All others are
	// pure.
	shell []string
}

// everyFile is the shell of a package that has no pure file.
var everyFile = []string{"*"}

// engine are the packages that a dialect is built from.
var engine = []string{
	"internal/bans", "internal/wire", "internal/serial", "internal/pace", "internal/reliable", "internal/clocksync", "internal/admission", "internal/timers",
	"internal/queue", "internal/lend", "internal/roster", "internal/shell", "internal/stream", "internal/datagram", "internal/way", "internal/udp", "internal/metric", "internal/carry", "internal/over",
}

// table says which package may import which. Imports go one way: sockets know bytes,
// dialects know packets, gateways know packets and the world, and the world
// knows nothing of any of them. Some of the packages do not exist yet.
var table = []row{
	{path: "cmd/parley", mayImport: []string{"program", "arena"}, shell: everyFile},
	{path: "program", anything: true, shell: everyFile},

	// What a user imports.
	{path: ".", mayImport: []string{"cluster/core", "internal/bans", "internal/carry", "world", "account", "play/gateway", "play/keep", "play/match", "internal/scribe", "protocol/*", "protocol/*/core", "protocol/relay/connector"}, shell: everyFile},
	{path: "client", mayImport: []string{"world", "protocol/*", "protocol/*/core", "play/line", "play/message", "play/picture"}, shell: everyFile},
	{path: "world"},
	{path: "arena", mayImport: []string{"world"}},
	{path: "protocol/relay/connector", mayImport: slices.Concat(engine, []string{"protocol/*", "protocol/*/core"}), shell: []string{"server"}},
	{path: "protocol/*", mayImport: slices.Concat(engine, []string{"protocol/*/core"}), shell: []string{"server", "client"}},
	{path: "protocol/*/core", mayImport: engine, shell: []string{"names"}}, // codec and sans-I/O core; names.go has aliases only
	{path: "simnet", shell: []string{"conn"}},
	{path: "account", modules: []string{"golang.org/x/crypto", "golang.org/x/text"}, shell: everyFile},
	{path: "account/internal/sqlstore", mayImport: []string{"account"}, modules: []string{"github.com/pressly/goose/v3"}, shell: everyFile},
	{path: "account/sqlite", mayImport: []string{"account", "account/internal/sqlstore"}, modules: []string{"modernc.org/sqlite", "github.com/pressly/goose/v3"}, shell: everyFile},
	{path: "account/postgres", mayImport: []string{"account", "account/internal/sqlstore"}, modules: []string{"github.com/jackc/pgx/v5", "github.com/pressly/goose/v3"}, shell: everyFile},
	{path: "account/storetest", mayImport: []string{"account", "internal/patient", "internal/promise"}, modules: []string{"pgregory.net/rapid", "github.com/pressly/goose/v3"}, shell: everyFile},
	{path: "cluster/core", mayImport: []string{"world"}},
	{path: "cluster/peers"},
	{path: "cluster", mayImport: []string{"cluster/core", "world"}, modules: []string{"github.com/nats-io/nats.go", "github.com/nats-io/nats-server/v2"}, shell: everyFile},
	{path: "cluster/clustertest", mayImport: []string{"internal/patient"}, modules: []string{"github.com/nats-io/nats-server/v2"}, shell: everyFile},
	{path: "capture", mayImport: []string{"protocol/*", "protocol/*/core"}, modules: []string{"github.com/gopacket/gopacket"}, shell: everyFile},
	{path: "examples/...", mayImport: []string{".", "client", "program", "world", "arena", "protocol/*", "protocol/*/core", "simnet", "account", "account/sqlite",
		"account/postgres", "account/storetest", "cluster", "capture"}, modules: []string{"modernc.org/sqlite", "golang.org/x/term"}, shell: everyFile},

	// The engine: pure, but for the sockets and the loops around them.
	{path: "internal/wire"},
	{path: "internal/serial"},
	{path: "internal/metric"},
	{path: "internal/pace"},
	{path: "internal/reliable", mayImport: []string{"internal/lend", "internal/serial", "internal/metric", "internal/pace"}},
	{path: "internal/clocksync"},
	{path: "internal/admission"},
	{path: "internal/way"},
	{path: "internal/bans", shell: []string{"set"}},
	{path: "internal/timers"},
	{path: "internal/lend"},
	{path: "internal/queue"},
	{path: "internal/roster", mayImport: []string{"internal/admission", "internal/queue", "internal/timers"}, shell: []string{"secret"}},
	{path: "internal/shell", mayImport: []string{"internal/bans", "internal/datagram", "internal/queue", "internal/scribe"}, shell: everyFile},
	{path: "internal/shell/shelltest", mayImport: []string{"internal/datagram", "internal/patient", "internal/shell", "internal/udp"}, modules: []string{"golang.org/x/sys", "go.uber.org/goleak"}, shell: everyFile},
	{path: "internal/kit/chance", shell: everyFile},
	{path: "internal/kit/cable", mayImport: []string{"internal/patient"}, shell: everyFile},
	{path: "internal/kit/tcp", mayImport: []string{"simnet"}},
	{path: "internal/kit", mayImport: []string{"internal/kit/chance", "internal/kit/tcp", "internal/admission", "internal/datagram", "internal/metric", "internal/pace", "internal/pagetest", "internal/patient", "internal/promise", "internal/shell", "internal/shell/shelltest", "internal/stream", "internal/udp", "internal/wire", "simnet"}, shell: everyFile},
	{path: "internal/patient", shell: everyFile},
	{path: "internal/pagetest", shell: everyFile},
	{path: "internal/promise", shell: everyFile},
	{path: "internal/certs", modules: []string{"golang.org/x/crypto"}, shell: everyFile},
	{path: "internal/plain"},
	{path: "internal/scribe", mayImport: []string{"internal/plain"}, shell: everyFile},
	{path: "internal/promise/gate", shell: everyFile},
	{path: "program/impair", mayImport: []string{"simnet", "internal/metric"}, modules: []string{"golang.org/x/sys"}, shell: everyFile},
	{path: "program/tui", mayImport: []string{"world", "internal/plain"}, modules: []string{"github.com/charmbracelet/x/ansi"}},
	{path: "internal/turns", shell: everyFile},
	{path: "internal/carry/ws", mayImport: []string{"internal/carry", "internal/datagram", "internal/gather", "internal/stream", "internal/way"}, modules: []string{"github.com/coder/websocket", "golang.org/x/sys"}, shell: []string{"handler", "conn", "pipe", "alone", "shared", "limits"}},
	{path: "internal/carry", mayImport: []string{"internal/admission", "internal/bans", "internal/datagram", "internal/pace", "internal/stream", "internal/way"}, shell: everyFile},
	{path: "internal/proxy"},
	{path: "internal/stream", mayImport: []string{"internal/proxy", "internal/admission", "internal/bans", "internal/datagram", "internal/pace", "internal/queue", "internal/way"}, modules: []string{"golang.org/x/sys"}, shell: everyFile},
	{path: "internal/datagram", mayImport: []string{"internal/bans", "internal/turns", "internal/way"}, shell: everyFile},
	{path: "internal/over", mayImport: []string{"internal/datagram", "internal/stream"}, shell: everyFile},
	{path: "internal/carry/wt", mayImport: []string{"internal/admission", "internal/carry", "internal/datagram", "internal/way"}, modules: []string{"github.com/quic-go/quic-go", "github.com/quic-go/webtransport-go"}, shell: everyFile},
	{path: "internal/call", mayImport: []string{"internal/datagram", "internal/pace", "internal/over", "internal/plain", "internal/queue", "internal/stream", "internal/way"}, modules: []string{"github.com/coder/websocket", "github.com/quic-go/quic-go", "github.com/quic-go/webtransport-go"}, shell: everyFile},
	{path: "internal/gather", modules: []string{"golang.org/x/sys"}, shell: []string{"pause"}},
	{path: "internal/udp", mayImport: []string{"internal/datagram", "internal/gather"}, modules: []string{"golang.org/x/sys"}, shell: everyFile},

	// Where dialects and the world meet, and what watches them.
	{path: "play/match", mayImport: []string{"internal/admission"}},
	{path: "play/message", mayImport: []string{"world", "internal/wire"}},
	{path: "play/schema", mayImport: []string{"world", "play/message", "protocol/*", "protocol/*/core"}},
	{path: "play/picture", mayImport: []string{"world", "play/message", "play/schema", "protocol/*", "protocol/*/core", "internal/serial"}},
	{path: "play/gateway", mayImport: []string{"cluster/core", "cluster/peers", "protocol/*", "protocol/*/core", "protocol/relay/connector", "world", "arena", "account", "play/message", "play/keep", "play/schema", "internal/admission", "internal/carry", "internal/datagram", "internal/pagetest", "internal/promise", "internal/pace", "internal/reliable", "internal/serial", "internal/metric", "internal/way"}, shell: everyFile},
	{path: "play/keep", mayImport: []string{"world"}, shell: everyFile},
	{path: "play/line", mayImport: []string{"protocol/*", "protocol/*/core", "world", "play/message", "play/schema", "internal/call", "internal/over", "internal/shell"}, shell: everyFile},
	{path: "play/bots", mayImport: []string{"protocol/*", "protocol/*/core", "world", "play/line", "play/message", "play/schema", "internal/plain"}, shell: everyFile},
	{path: "web", mayImport: []string{"internal/admission", "internal/proxy"}, modules: []string{"github.com/prometheus/client_golang"}, shell: everyFile},

	// Tests of the built program: they know nothing of it but its bytes.
	{path: "test/blackbox", shell: everyFile},

	// Whole servers and their visitors, for tests.
	{path: "test/field", mayImport: []string{".", "account/storetest", "internal/patient", "play/bots", "world"}, modules: []string{"github.com/coder/websocket", "github.com/quic-go/quic-go", "github.com/quic-go/webtransport-go"}, shell: everyFile},

	// Tests of a whole server under attack.
	{path: "test/nodes", shell: everyFile},
	{path: "test/attack", shell: everyFile},

	// A card game on a whole server, and what its players may not know.
	{path: "test/hidden", shell: everyFile},

	// Tests of a whole server that is killed.
	{path: "test/crash", shell: everyFile},

	// The examples' servers and clients, run by their tests.
	{path: "test/stage", mayImport: []string{"internal/patient"}, shell: everyFile},

	{path: "test/layout"},
}

// rowOf finds the row of a directory.
func rowOf(dir string) (row, bool) {
	i := slices.IndexFunc(table, func(r row) bool { return matches(r.path, dir) })
	if i < 0 {
		return row{}, false
	}
	return table[i], true
}

func matches(pattern, dir string) bool {
	if parent, ok := strings.CutSuffix(pattern, "/..."); ok {
		return strings.HasPrefix(dir, parent+"/")
	}
	ok, _ := path.Match(pattern, dir)
	return ok
}

// isShell reports whether the package lets a file touch the outside.
func (r row) isShell(file string) bool {
	name := strings.TrimSuffix(path.Base(file), ".go")
	return r.isAllShell() || slices.ContainsFunc(r.shell, func(s string) bool {
		return name == s || strings.HasPrefix(name, s+"_")
	})
}

func (r row) isAllShell() bool { return slices.Equal(r.shell, everyFile) }
