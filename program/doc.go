// Package program is the whole program of a game: its server, a player and bots for it, and an operator's tools, as commands.
// The command parley is this package with the arena. It has a file for each subcommand, with flags and output, and no logic of
// its own.
//
// # Usage
//
//	func main() { program.Main(game) }
//
// The program calls itself by the name that it was started with. It brings stores of accounts and the operator's page with it. A server
// that is to be small calls parley.Serve instead.
//
// # Life of a command
//
//	main.go        Main, and the game as the commands know it
//	cli.go         run: arguments to a command, errors to a sentence and an exit status
//	help.go        help, and the output of parley without arguments
//	completion.go  scripts for bash, zsh, fish and powershell
//	version.go     the version of this build
//	serve.go       the game for players of all dialects: serve_config.go (flags to a server), serve_file.go (environment
//	               and file to flags), serve_ready.go (the ready file), profile.go (profiles of realm,
//	               which the arena has)
//	join.go        a player at the terminal; by lines, with join_map.go: its map, join_act.go: its actions
//	join_play.go   the same in a full screen: join_screen.go has the terminal, and package tui what is on it
//	bots.go        many players, and their measurements
//	rooms.go       the rooms of a running server, and players.go, kick.go, ban.go, say.go and match.go: what an operator does,
//	               over the operator's API (remote.go)
//	replay.go      runs a recording of the game again and compares
//	impair.go      a simulated bad network
//	ticket.go      makes and checks tickets of relay rooms
//	account.go     accounts of players: add, passwd, ban, unban, list, rm (account_*.go)
//	codec.go       what a dialect gives to decode and encode, and the list of built-in dialects
//	codec_table.go the JSON of packets by tables: the fields of each kind; codec_fields.go: how each field is shown and read
//	decode.go      hex to JSON
//	encode.go      JSON to hex
//	route.go       the flags that decode and encode share
//	convert.go     their two modes: arguments, or lines of standard input
//	lines.go       lines of bounded length
//	hex.go         hex as people paste it
//
// # Exit statuses
//
//	0    done
//	1    a bad packet among the arguments, failed input or output, a server that is unreachable or went away
//	2    a usage mistake: one sentence on standard error says what to do
//	3    there is no such room, player or ban, or nobody was found for a match
//	130  interrupted while it asked for a password
//
// # Adding a dialect
//
// A dialect does not know of this package. A file codec_<dialect>.go here adapts its codec with a table of the fields of
// its packets, and builtIn lists it; nothing registers itself. A test then checks it against
// protocol/<dialect>/core/testdata/vectors.json, both ways.
//
// # Limits
//
// A line of standard input is bounded (limits.go). The operating system bounds arguments.
//
// # What it does not do
//
// It holds no wire format and checks no packet: that is the codec's work. It does not recover from a codec's panic, as that
// is a bug that should be seen.
package program
