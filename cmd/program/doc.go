// Package program is the parley command: one file a subcommand, flags and output,
// and no logic of its own.
//
// # Usage
//
//	os.Exit(cli.Run(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
//
// # Life of a command
//
//	cli.go         Run: arguments to a command, errors to a sentence and an exit status
//	help.go        help, and what parley prints when it is given nothing
//	completion.go  scripts for bash, zsh, fish and powershell
//	version.go     what this build is
//	serve.go       the arena for players of all dialects: serve_config.go (flags to a server), serve_file.go (environment
//	               and file to flags), serve_ready.go (what others are told), profile.go (realm's)
//	join.go        a player at the terminal; join_map.go: what it sees
//	bots.go        many players, and what they felt
//	replay.go      a recording of the arena, run again and compared
//	impair.go      a bad network to order
//	ticket.go      makes and checks tickets of relay rooms
//	account.go     accounts of players: add, passwd, ban, unban, list, rm (account_*.go)
//	codec.go       what a dialect gives to decode and encode, and the list of those that are built in
//	codec_table.go the JSON of packets by tables: which fields each kind has, and how each is shown and taken
//	decode.go      hex to JSON
//	encode.go      JSON to hex
//	route.go       the flags that decode and encode share
//	convert.go     the two ways both work: arguments, or lines of standard input
//	lines.go       lines of bounded length
//	hex.go         hex as people paste it
//
// # Exit statuses
//
//	0  done
//	1  a bad packet among the arguments, input or output that failed, a server that is not there or went away
//	2  a usage mistake: one sentence on standard error says what to do
//
// # Joining a dialect
//
// A dialect does not know of this package. Its codec is adapted in a file
// codec_<dialect>.go here, which has a table of the fields of its packets, and
// listed in builtIn; nothing registers itself. A test then holds it to protocol/<dialect>/testdata/vectors.json, both ways.
//
// # Limits
//
// A line of standard input is bounded (limits.go). Arguments are bounded by
// the operating system.
//
// # What it does not do
//
// It holds no wire format and judges no packet: that is the codec's work. It
// does not catch a codec's panic, as a codec that panics is a defect to see.
package program
