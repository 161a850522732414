package world

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"
)

// An EntryHead is the beginning of an entry.
type EntryHead struct {
	Tick    uint64
	Epoch   uint64
	Due     int64  // Unix microseconds
	Hash    uint64 // of the world before it
	Skipped uint64 // ticks that were left out before it
	Node    uint64 // that made it
}

// An Entry is one tick of a log.
type Entry struct {
	EntryHead
	Items []Item

	block   []byte
	origins origins
	params  []params
}

// Inputs returns the number of inputs.
func (e *Entry) Inputs() (n int) {
	for i := range e.Items {
		if e.Items[i].Kind == ItemInput {
			n++
		}
	}
	return n
}

// Of iterates over the items of a kind.
func (e *Entry) Of(kind ItemKind) iter.Seq[*Item] {
	return func(yield func(*Item) bool) {
		for i := range e.Items {
			if e.Items[i].Kind == kind && !yield(&e.Items[i]) {
				return
			}
		}
	}
}

// ReadEntryHead reads the beginning of the block of an entry, and nothing behind it: neither the sum nor the items are checked.
func ReadEntryHead(block []byte) (h EntryHead, err error) {
	if len(block) <= blockHeader || block[blockHeader] != blockEntry {
		return h, damaged("a block that is no entry")
	}
	r := reading{b: block[blockHeader+1:]}
	if h.read(&r); r.failed {
		return EntryHead{}, damaged("the head of an entry")
	}
	return h, nil
}

func (h *EntryHead) read(r *reading) {
	*h = EntryHead{Tick: r.v(), Epoch: r.v(), Due: r.i(), Hash: r.u64(), Skipped: r.v(), Node: r.u64()}
}

// ReadEntry reads the block of an entry: what Seal returned, or LogReader.Next. The entry is valid until the next ReadEntry, and as long as
// the block is. It changes nothing.
func (s *Sim) ReadEntry(block []byte) (*Entry, error) {
	if len(block) <= blockHeader || int(binary.LittleEndian.Uint32(block)) != len(block)-blockHeader {
		return nil, damaged("an entry of another size than it says")
	}
	if crc32.Checksum(block[blockHeader:], castagnoli) != binary.LittleEndian.Uint32(block[4:]) {
		return nil, damaged("the sum of an entry is wrong")
	}
	if block[blockHeader] != blockEntry {
		return nil, damaged("a block that is no entry")
	}
	e := &s.log.entry
	return e, e.read(s.schema, block)
}

// read parses a block whose sum is right.
func (e *Entry) read(s *Schema, block []byte) error {
	if len(block) > blockHeader+maxEntry {
		return damaged("an entry of %d bytes", len(block))
	}
	r := reading{b: block[blockHeader+1:]}
	*e = Entry{Items: e.Items[:0], block: block, origins: e.origins, params: e.params[:0]}
	e.EntryHead.read(&r)
	e.origins.reset(e.Node)
	for r.more() {
		e.Items = append(e.Items, Item{})
		r.item(&e.Items[len(e.Items)-1], &e.origins, e.Tick, s, &e.params)
	}
	if !r.done() {
		return damaged("the entry of tick %d", e.Tick)
	}
	return nil
}

// Apply runs an entry that another Sim, or an earlier run of this one, has made: it compares the state, submits what is in it and
// advances. Then Events has what came of it, and the caller tells its players the chat, the kicks and the answers of the entry. With
// ErrStale, ErrDiverged and ErrOtherGame nothing was changed. After ErrDamaged the Sim is of no use any more.
func (s *Sim) Apply(e *Entry) error {
	if err := s.submitAll(e); err != nil {
		return err
	}
	s.Advance()
	return nil
}

// submitAll checks an entry and submits what is in it.
func (s *Sim) submitAll(e *Entry) error {
	l := &s.log
	switch {
	case l.asked || l.sealed:
		panic("world: Apply after something was submitted for the next tick")
	case e.Epoch < l.epoch:
		return fmt.Errorf("%w: %d, and this is %d", ErrStale, e.Epoch, l.epoch)
	case e.Tick != s.now || l.ended:
		return damaged("an entry of tick %d where that of %d follows", e.Tick, s.now)
	case e.Hash != s.world.Hash() && !l.renewed:
		return fmt.Errorf("%w: before tick %d", ErrDiverged, e.Tick)
	}
	for it := range e.Of(ItemVersion) {
		if string(it.Text) != s.game.Version {
			return fmt.Errorf("%w: %q, and this is %q", ErrOtherGame, it.Text, s.game.Version)
		}
	}
	if s.recorder != nil {
		s.recorder.write(e.block)
	}
	defer func(on bool) { l.on = on }(l.on)
	l.on = false
	for i := range e.Items {
		it := &e.Items[i]
		s.heard(it.Origin)
		if err := s.redo(it); err != nil {
			return fmt.Errorf("%w in the entry of tick %d", err, e.Tick)
		}
	}
	l.sealed = true
	l.epoch, l.due = e.Epoch, max(l.due, e.Due)
	s.roll.sweep(l.due)
	return nil
}

// redo submits an item.
func (s *Sim) redo(it *Item) error {
	switch it.Kind {
	case ItemInput:
		it.Input.tag = it.Tag
		return s.resubmit(&it.Input, it.putOff)
	case ItemSession, ItemKnown:
		if !s.isPresent(it.Player) {
			return damaged("a session of nobody")
		}
		if it.Kind == ItemSession {
			s.roll.admit(it.Player, &it.Session)
		} else {
			s.roll.know(it.Player, it.newest)
		}
	case ItemChat, ItemSay:
		s.history.at(s.now).hear(it.Player, it.Text)
	case ItemVersion:
		s.log.renewed = false
	case ItemEnd:
		s.log.ended, s.log.result = true, string(it.Text)
	}
	return nil
}

// resubmit is Join, Leave, Away, Back, Steer or Act as it was noted: at which tick it was done, by how many ticks that was put off.
// Nobody's budget decides anew, and the accounts become what they were.
func (s *Sim) resubmit(in *Input, putOff uint64) error {
	here := in.Kind != Steer && in.Kind != Act
	if in.Player == 0 {
		return s.reinject(in, putOff)
	}
	if s.log.renewed && in.Tick < s.floor {
		in.Tick = s.now // of that tick there is no history
	}
	if in.Kind == Join {
		if s.isPresent(in.Player) || in.Player == 0 || s.players >= MaxPlayers {
			return damaged("a join of a player who is there")
		}
		s.enter(in.Player)
	}
	if !s.isPresent(in.Player) || in.Tick > s.now+MaxAhead || !s.inReach(in.Tick) ||
		(here || putOff != 0) && in.Tick != s.now || putOff > s.history.depth || !s.keep(in) {
		return damaged("an input that was accepted is not any more")
	}
	switch {
	case in.Kind == Leave:
		s.exit(in.Player)
	case putOff != 0:
		s.share.putOff(in.Player, s.now, putOff)
	case in.Tick < s.now:
		s.share.note(in.Player, s.now-in.Tick)
	}
	return nil
}

// Renew says that the log from here on may be of another version of the game, as Load finds of a snapshot: entries up to one that tells this version are run
// and not compared, and if this Sim makes the next entry, that tells it. Call it right after New.
func (s *Sim) Renew() { s.log.renewed = true }

// Renewed reports whether the world came from another version of the game, and no entry has told this one yet.
func (s *Sim) Renewed() bool { return s.log.renewed }
