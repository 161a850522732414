package world

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// A log is a file of blocks: a head, and an entry for each tick. Running the entries through Step gives the world. A recording is a
// log that also has the state after each tick, so that a replay can name the field in which it differs. A snapshot is a head and all
// that running on needs; it may stand before the entries of a log.
//
//	file      magic 8 bytes, version u16, blocks; then perhaps another file
//	block     size u32 of what follows the sum, CRC-32C u32 of the same, kind u8, content
//	head      fingerprint of the schema u64, seed u64, rollback v, replay v, reuse v, ticks a second v, flags u8 (1: the entries
//	          have states, 2: At goes back by another time than a quarter of a second: ticks v), the game's name t, its version t, the mode t
//	entry     tick v, epoch v, due i (Unix µs), hash u64 of the world before it, ticks that were skipped before it v,
//	          node u64 that made it, and items to the end of the block: log_item.go has their layout
//	state     tick u64, sums of entities, players, terrain and random u64 each,
//	          then what has changed: id u64, kind u8, count u16, then field u16 and value each;
//	          an id of 0 ends it; then the ids that are gone
//	snapshot  its blocks are in snapshot.go
//
// Numbers are little endian. v is an unsigned and i a signed varint, as short as may be. A text t is its size v and its bytes.
// In a state a value is 8 bytes or a text of size u8. Files of version 2 are read too: replay_old.go has their layout.
const (
	logMagic   = "parleyW\n"
	logVersion = 3
	oldVersion = 2

	blockHead   = 1
	blockInputs = 2 // of version 2
	blockState  = 3
	blockEntry  = 4
	blockChunk  = 5 // of a snapshot
	blockWorld  = 6
	blockTick   = 7
	blockKept   = 8
	blockPast   = 9

	blockHeader = 8 // size and sum
	fileHeader  = len(logMagic) + 2
)

// Errors of logs, recordings and snapshots.
var (
	ErrNotRecording = errors.New("world: not a recording, a log or a snapshot")
	ErrVersion      = errors.New("world: another version of the format")
	ErrOtherGame    = errors.New("world: another game, or other kinds and actions")
	ErrDamaged      = errors.New("world: damaged")

	// ErrStale means that an entry is void: its epoch is lower than that of an entry before it.
	ErrStale = errors.New("world: an entry of an earlier epoch")
	// ErrDiverged means that the world is not the one for which the entry was made.
	ErrDiverged = errors.New("world: the state differs from the log")
	// ErrLater means that the entry of the next tick is full: try again after Advance.
	ErrLater = errors.New("world: the entry of the next tick is full")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A Head says of which game and of which world a file is.
type Head struct {
	Name    string // Game.Name
	Version string // Game.Version
	Config  Config

	schema uint64 // its fingerprint
	states bool
}

// damaged wraps ErrDamaged.
func damaged(what string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(what, args...))
}

// AppendHead appends the beginning of a file: entries follow it, or the blocks of a snapshot.
func (s *Sim) AppendHead(b []byte) []byte { return s.appendHead(b, false) }

func (s *Sim) appendHead(b []byte, states bool) []byte {
	b = binary.LittleEndian.AppendUint16(append(b, logMagic...), logVersion)
	b, start := openBlock(b, blockHead)
	b = binary.LittleEndian.AppendUint64(b, s.schema.sum)
	b = binary.LittleEndian.AppendUint64(b, s.config.Seed)
	for _, v := range [...]int{s.config.MaxRollbackTicks, s.config.ReplayBudget, s.config.ReuseTicks, s.config.TickRate} {
		b = binary.AppendUvarint(b, uint64(v))
	}
	shown := s.config.MaxShownTicks
	isOther := shown != defaultShown(s.config.TickRate)
	if b = append(b, bitIf(states, 1)|bitIf(isOther, 2)); isOther {
		b = binary.AppendUvarint(b, uint64(shown))
	}
	b = appendText(b, s.game.Name)
	b = appendText(b, s.game.Version)
	b = appendText(b, s.config.Mode)
	return closeBlock(b, start)
}

func (h *Head) read(in *reading) error {
	h.schema, h.Config.Seed = in.u64(), in.u64()
	c := &h.Config
	for _, v := range [...]*int{&c.MaxRollbackTicks, &c.ReplayBudget, &c.ReuseTicks, &c.TickRate} {
		*v = in.int(1<<31 - 1)
	}
	flags := in.u8()
	h.states = flags&1 != 0
	if flags&2 != 0 {
		if c.MaxShownTicks = in.int(maxShown); c.MaxShownTicks == 0 {
			c.MaxShownTicks = -1
		}
	}
	h.Name, h.Version, c.Mode = in.text(), in.text(), in.text()
	if !in.done() || flags > 3 || len(h.Version) > maxLabelBytes || len(c.Mode) > maxLabelBytes {
		return damaged("its head")
	}
	h.noDefaults()
	return nil
}

// noDefaults makes New take the numbers as they are: a rollback of 0 was none.
func (h *Head) noDefaults() {
	if h.Config.MaxRollbackTicks == 0 {
		h.Config.MaxRollbackTicks = -1
	}
}

// openBlock begins a block at the end of b, with room for its size and sum, and returns where it begins.
func openBlock(b []byte, kind byte) ([]byte, int) {
	return append(b, 0, 0, 0, 0, 0, 0, 0, 0, kind), len(b)
}

// closeBlock fills in the size and the sum.
func closeBlock(b []byte, start int) []byte {
	body := b[start+blockHeader:]
	binary.LittleEndian.PutUint32(b[start:], uint32(len(body)))
	binary.LittleEndian.PutUint32(b[start+4:], crc32.Checksum(body, castagnoli))
	return b
}

func appendText[T string | []byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func bitIf(set bool, bit byte) byte {
	if set {
		return bit
	}
	return 0
}
