package keep

// A Room is the log of a room that is written. Its methods may be called from any goroutine, Append and Snapshot from one at a time.
type Room struct {
}

// Append adds the entry of a tick, as Sim.Seal returned it: call it between Seal and Advance, for every tick without gaps. It copies the
// entry, and never waits for the disk. If too much waits for the disk already, the entry is dropped: the room is in trouble, and wants
// a snapshot as soon as it can go on.
func (r *Room) Append(tick uint64, entry []byte) { panic("keep: not written yet") }

// Safe returns up to which tick players may be told: of ticks below it. In mode Tick these are synced, and while the disk fails Safe
// stands still. In mode Second these are written, which survives the end of the process. While the disk fails or has not answered for
// a second, these are all that were appended. With Off they always are. A new room has 0 until its first snapshot is on disk.
func (r *Room) Safe() uint64 { return 0 }

// WantsSnapshot reports whether it is time for a snapshot: half a minute after the last one if there were entries since then, after 16
// MiB of them, and when the log cannot go on without one. It costs a load from memory.
func (r *Room) WantsSnapshot() bool { return false }

// Snapshot gives a snapshot, as Sim.AppendSnapshot made it right after Advance: tick is Sim.Tick, the one that comes next. It copies b,
// and does not wait for the disk. In a room that stands still, as Safe does not grow in mode Tick, give one as soon as WantsSnapshot says so.
func (r *Room) Snapshot(tick uint64, b []byte) { panic("keep: not written yet") }

// End ends the log: nothing may be appended any more. With remove the room's files go, once all is written. With Config.History
// they are moved aside instead. It does not wait for the disk.
func (r *Room) End(remove bool) { panic("keep: not written yet") }
