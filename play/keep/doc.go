// Package keep holds rooms on disk: the log of each room and its snapshots, so that a server that is stopped or killed goes on where it
// was. It writes what package world encodes, and knows nothing of players.
//
// # Usage
//
//	shelf, err := keep.Open(keep.Config{Dir: data, Mode: keep.Second}) // locks the folder
//	for _, name := range shelf.Rooms() {
//		sim, settings, err := shelf.Load(name, game) // an error is a sentence for the operator: the room is left aside
//		sim.Keep(node, sim.Epoch()+1)
//		room, err := shelf.Room(name, sim, settings)
//	}
//	// each tick of a room:
//	block := sim.Seal(due, skipped)
//	room.Append(sim.Tick(), block)
//	sim.Advance()
//	if room.WantsSnapshot() {
//		buf = sim.AppendSnapshot(buf[:0])
//		room.Snapshot(sim.Tick(), buf)
//	}
//	// players are told of ticks below room.Safe(), which grows when shelf.Notify() has something
//	err = shelf.Close(ctx) // everything is synced
//
// # Life of an entry
//
//	room.go     Append copies it into the room's buffer and wakes the writer
//	writer.go   the writer takes the buffers of all rooms, writes each to its segment and syncs them side by side: a group
//	room.go     Safe grows
//
// A snapshot goes another way, so that no entry waits for it: archive.go writes it beside the log, reads it back, and removes what is
// older than the newest two. Then the writer begins a new segment. load.go reads both.
//
// # Files
//
// <Dir>/rooms/<room>/ has settings, snapshot-<tick> and log-<tick>, where the tick is the one that comes next, in 20 digits. A snapshot
// and a segment appear by a rename, whole and synced. docs/keep.md says more.
//
// # Limits
//
// limits.go: the bytes that wait for the disk, the size of the settings, how often things are done.
//
// # What it does not do
//
// It does not make snapshots, as only the goroutine of a room can: it asks for them. It does not look for bit rot in files that nobody
// reads. It does not encrypt: the log has the players' names and lines of chat, and hashes of their tokens. Files are for the
// server's user alone.
package keep
