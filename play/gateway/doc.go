// Package gateway connects dialects and rooms: it turns packets into inputs and views into packets. Each dialect has a file. A Hub
// has all dialects and all rooms of a server; a Room has a world, its players, their names and their chat.
//
// # Life of a connection
//
//	gate.go            its pass is read by the dialect's loop: a ticket, the wish for a room, or the token of a session
//	enter.go           the hub finds the room that the pass leads to. The room lets a newcomer in (spent.go: a ticket admits one
//	                   player), or gives a player who comes back its seat
//	leave.go           a player leaves, or is away: its seat is held
//
// # Life of an input
//
//	a server's loop    the dialect's handler parses a packet into a request (replica.go, …; play/message has the bytes)
//	service.go         what all dialects have in common: the inbox, the loop that the hub stops, counters
//	door.go            the seat of the connection passes it on, in the same way for all dialects
//	inbox.go           it waits for a turn of the hub; each connection may have a bounded number
//	hub_turn.go        a turn takes all requests, and runs the rooms whose tick is due
//	room_tick.go       a room submits what was asked: steers, acts, chat. held.go keeps inputs for a later tick
//	workers.go         a worker seals the entry of the tick, has it kept (kept.go, play/keep) and runs Step
//	chunks.go          which players are sent terrain in this tick; land.go makes it
//	crew.go            each dialect publishes all rooms that have run, on all cores, while all loops are paused
//	replica.go, …      the stage of a room over a dialect: the view of each player becomes packets, which the loops then send
//
// # Life of an event
//
//	world              Advance makes the facts of a tick final that can no longer be rewound
//	tap.go             the hub pours them into the tap of each who follows the room, and lets them out when they are on disk
//	follow.go          the consumer's goroutine takes them; what happened before comes from the log, which it runs again (play/keep)
//	over.go            a room that its game has ended: its result, and the main room that begins anew
//	borrow.go          other ways in and out: a world is lent to be read, actions are injected, lines of chat are edited
//
// # Sequencer and stage
//
// A room is its log: one entry a tick, in which all inputs have their order. What decides the order is the sequencer: Hub.take,
// Room.handle and Seal. What runs an entry and tells players of it is a stage: Advance, Room.settle, and a stage type for each
// dialect. In one process the sequencer hands its entry to the stage beside it, and no byte of it is encoded unless something
// keeps or records the log.
//
// Where several servers run a room, no connection changes anything by itself. What it asks for becomes a wish (ask.go, wish.go), which goes to
// the server that makes the entries, and happens when an entry has it:
//
//	shared.go    the room's part in the cluster: a worker runs its entries, and waits behind each until players are told
//	sequence.go  what the sequencer grants, and under which name
//	settle.go    what an entry has brought: players come and go, lines are said, and who has asked is answered
//	cluster.go   how the hub reaches all of this: a program that makes no Nodes has no code of it
//
// # Ownership
//
// The hub's goroutine owns all rooms, players and views, except while a worker has a room's world for a step: what is asked of the
// room then waits (Room.do). A dialect's loop owns its connections. To publish, the hub pauses all loops. Its crew of goroutines
// then makes the packets of each dialect: it reads the worlds, and changes only the dialect's own state. Of the hub, a loop
// uses only the inbox and the Gatekeeper, and each has a lock of its own. While a tick publishes, all packets wait some milliseconds.
// At other times, only packets for the world wait.
//
// # Many rooms
//
// Ticks of rooms are spread over the period (schedule). An empty room sleeps and has no ticks. The hub waits for a step until
// another room is due, and then goes on without that room, whose players are told when it is done. A room whose game panics ends,
// and so does one whose step does not end within two seconds: its worker is lost, and another takes its place.
package gateway
