package world

import "encoding/binary"

// A ledger makes the entries of a log. It is off until Keep or Record: then no byte is encoded.
type ledger struct {
	on     bool
	kept   bool // by Keep: who has switched it on looks at Full
	sealed bool // the entry of the next tick is made
	asked  bool // something was submitted since the last tick
	ended  bool
	result string // of End

	node  uint64
	epoch uint64
	due   int64
	from  Origin // of what is submitted

	items   []byte // of the next entry
	origins origins
	block   []byte // the last entry
	entry   Entry  // the last that was read

	// renewed says that the world came from another version of the game: the next entry says so, and entries before it are of a game
	// whose hashes this one does not have.
	renewed bool
}

// Keep switches the log on, right after New, Load, Apply or Advance: from then on Seal returns entries. node tells this run of this
// server from all others; no client may know it. epoch is at least that of the log so far: it is one more for each server that takes
// a room over.
func (s *Sim) Keep(node, epoch uint64) {
	s.write(node, epoch)
	s.log.kept = true
}

// write has items written from now on.
func (s *Sim) write(node, epoch uint64) {
	if s.log.asked {
		panic("world: Keep after something was submitted for the next tick")
	}
	s.log.on, s.log.node, s.log.epoch = true, node, max(epoch, s.log.epoch)
	s.log.begin(s.game.Version)
}

// begin makes room for the items of a tick.
func (l *ledger) begin(version string) {
	l.items = l.items[:0]
	l.origins.reset(l.node)
	if l.renewed {
		l.items = appendText(append(l.items, byte(ItemVersion)), version)
	}
}

// Epoch returns the epoch of the last entry, or of Keep.
func (s *Sim) Epoch() uint64 { return s.log.epoch }

// Due returns when the last entry was due, in Unix microseconds; 0 if there is none yet.
func (s *Sim) Due() int64 { return s.log.due }

// Ended reports whether the log has ended: see End.
func (s *Sim) Ended() bool { return s.log.ended }

// From says where the request came from that is submitted next. What is submitted up to the next From, Seal or Advance is of it. If it
// is refused, the entry has the answer. From returns false if the log has that request already, or has too many nodes in this entry:
// then it is not to be submitted. The zero Origin is for what nobody asked for.
func (s *Sim) From(o Origin) bool {
	l := &s.log
	l.from = Origin{}
	if o.Request != 0 && o.Request <= s.roll.newest(o.Node) || l.on && l.origins.find(o.Node) >= maxNodes {
		return false
	}
	l.from = o
	return true
}

// Full reports whether the entry of the next tick takes no more requests, as it has 512 KiB. Join then returns ErrLater, and Steer, Act and
// Chat return Later: the caller keeps the request and submits it after the next Advance. Without Keep it is always false.
func (s *Sim) Full() bool { return s.log.kept && len(s.log.items) >= fullEntry }

// Chat puts a player's line into the log. The world has no part in it: whoever runs the log tells its players.
func (s *Sim) Chat(p PlayerID, text []byte) Reason {
	switch {
	case s.Full():
		return Later
	case !s.isPresent(p):
		return s.refuse(Absent)
	case len(text) > maxWordBytes:
		return s.refuse(Malformed)
	}
	s.word(ItemChat, p, text)
	s.history.at(s.now).hear(p, text)
	return Accepted
}

// Say puts an operator's line into the log. Beyond 4,096 bytes it is cut.
func (s *Sim) Say(text []byte) {
	text = text[:min(len(text), s.mostWord())]
	s.word(ItemSay, 0, text)
	s.history.at(s.now).hear(0, text)
}

// Kick notes in the log why a player is sent away. Leave removes the player.
func (s *Sim) Kick(p PlayerID, why []byte) { s.word(ItemKick, p, why) }

// End makes the next entry the last one of the room, with its result. It is the last call before Seal. Beyond MaxResult bytes the result
// is cut. Then all facts are final, and the last is that the room has ended.
func (s *Sim) End(result []byte) {
	if s.log.ended {
		return
	}
	result = result[:min(len(result), MaxResult)]
	if s.note(ItemEnd, 0) {
		s.log.items = appendText(s.log.items, result)
	}
	s.log.ended, s.log.result = true, string(result)
}

// Answer notes that the request of the last From was refused by its caller. Refusals by Steer and Act are noted without it.
func (s *Sim) Answer(why Reason) {
	if l := &s.log; l.from.Request != 0 {
		if s.note(ItemAnswer, 0) {
			l.items = append(l.items, byte(why))
		}
	}
}

func (s *Sim) word(kind ItemKind, p PlayerID, text []byte) {
	most := s.mostWord()
	if s.note(kind, p) {
		s.log.items = appendText(s.log.items, text[:min(len(text), most)])
	}
}

// mostWord is how many bytes of a text the next entry takes.
func (s *Sim) mostWord() int {
	if s.Full() {
		return maxWordFull
	}
	return maxWordBytes
}

// note begins an item that is no input. It is false if nothing is kept.
func (s *Sim) note(kind ItemKind, p PlayerID) bool {
	l := &s.log
	l.asked = true
	s.heard(l.from)
	if !l.on {
		return false
	}
	l.mayWrite()
	l.items = l.origins.appendCode(l.items, byte(kind), l.from, 0, 0)
	if kind.hasPlayer() {
		l.items = binary.AppendUvarint(l.items, uint64(p))
	}
	return true
}

// input notes an input that was accepted into history.
func (l *ledger) input(in *Input, now, putOff uint64) {
	l.mayWrite()
	l.items = appendInput(l.origins.appendCode(l.items, byte(in.Kind), l.from, int64(in.Tick-now), putOff), in)
}

func (l *ledger) mayWrite() {
	if l.sealed || l.ended {
		panic("world: something was submitted between Seal and Advance, or after End")
	}
}

// heard notes the newest request of an origin.
func (s *Sim) heard(o Origin) {
	if o.Request != 0 {
		s.roll.hear(o, s.now)
	}
}

// Seal makes the entry of the tick that the next Advance runs, and returns its block, which is valid until the next Seal. Nothing may be
// submitted between the two. due is when the tick was due, in Unix microseconds; it never goes back. skipped is how many ticks were left
// out before it, of a room that slept. Without Keep it returns nil. With a recording alone, Advance calls it.
func (s *Sim) Seal(due int64, skipped uint64) []byte {
	l := &s.log
	if l.sealed {
		panic("world: Seal twice")
	}
	l.due = max(l.due, due)
	s.roll.sweep(l.due)
	if !l.on {
		return nil
	}
	b, _ := openBlock(l.block[:0], blockEntry)
	b = binary.AppendUvarint(b, s.now)
	b = binary.AppendUvarint(b, l.epoch)
	b = binary.AppendVarint(b, l.due)
	b = binary.LittleEndian.AppendUint64(b, s.world.Hash())
	b = binary.AppendUvarint(b, skipped)
	b = binary.LittleEndian.AppendUint64(b, l.node)
	b = append(b, l.items...)
	l.block = closeBlock(b, 0)
	l.sealed, l.renewed = true, false
	if s.recorder != nil {
		s.recorder.write(l.block)
	}
	return l.block
}

// seal is Seal by Advance, where the caller has not.
func (s *Sim) seal() {
	if l := &s.log; l.on && !l.sealed {
		if s.recorder == nil {
			panic("world: Advance without Seal, and the log is kept")
		}
		s.Seal(l.due, 0)
	}
}

// passed ends the tick of an entry.
func (l *ledger) passed(version string) {
	l.asked, l.sealed, l.from = false, false, Origin{}
	if l.on {
		l.begin(version)
	}
}
