package world

// Reserve takes a free entity number for the entity that a player will own. Duplex needs it, as
// it tells players their number before they join. Reserve returns 0 if few numbers are free, as
// players in the world need some for the entities that they create. Use the number with JoinAs,
// or give it back with Release.
func (s *Sim) Reserve() uint16 {
	if s.book.spare() <= keptNumbers {
		return 0
	}
	wire := s.book.next()
	if wire == 0 {
		return 0
	}
	p := &s.book.pages[wire]
	if p.id != 0 {
		s.book.wires.remove(p.id)
	}
	*p = page{alive: true} // of no entity yet
	return wire
}

// Release gives back a number from Reserve that no player joined with.
func (s *Sim) Release(wire uint16) {
	if int(wire) < len(s.book.pages) && s.book.pages[wire].alive && s.book.pages[wire].id == 0 && wire != 0 {
		s.book.lose(wire)
	}
}

// JoinAs is Join for a player whose first own entity, set by Own, gets a number from Reserve.
// If the player leaves before it has an entity, the number is released.
func (s *Sim) JoinAs(name string, wire uint16) (PlayerID, error) {
	p, err := s.Join(name)
	if err != nil {
		s.Release(wire)
		return 0, err
	}
	if s.awaited == nil {
		s.awaited = map[PlayerID]uint16{}
	}
	s.awaited[p] = wire
	return p, nil
}

// expect notes which entities are those that numbers are reserved for.
func (s *Sim) expect() {
	clear(s.owed)
	for p := range s.awaited { // whose entity it is does not depend on the order
		if i, ok := s.world.players.find(p); ok && s.world.players.list[i].Entity != 0 {
			if s.owed == nil {
				s.owed = map[ID]PlayerID{}
			}
			s.owed[s.world.players.list[i].Entity] = p
		}
	}
}

// reservedFor returns the number that was reserved for an entity, 0 if none was.
func (s *Sim) reservedFor(id ID) uint16 {
	p, ok := s.owed[id]
	if !ok {
		return 0
	}
	delete(s.owed, id)
	wire := s.awaited[p]
	delete(s.awaited, p)
	return wire
}

// forgo ends the wait for a player's own entity.
func (s *Sim) forgo(p PlayerID) {
	if wire, ok := s.awaited[p]; ok {
		delete(s.awaited, p)
		s.Release(wire)
	}
}

// giveReserved gives an entity a reserved number. One that has a number already keeps that.
func (b *book) giveReserved(id ID, kind int, wire uint16) uint16 {
	if _, ok := b.wires.get(id); ok {
		b.lose(wire)
		return b.give(id, kind)
	}
	b.pages[wire] = page{id: id, kind: uint8(kind), alive: true}
	b.wires.put(id, uint32(wire))
	return wire
}

// Again makes the world anew, as New does with the same game and configuration. Numbers that Reserve gave and nobody has joined with stay
// reserved in it: they are known outside.
func (s *Sim) Again() (*Sim, error) {
	c := s.config
	if c.MaxRollbackTicks == 0 {
		c.MaxRollbackTicks = -1
	}
	if c.MaxShownTicks == 0 {
		c.MaxShownTicks = -1
	}
	n, err := emptySim(s.game, c)
	if err != nil {
		return nil, err
	}
	n.book.takeReserved(s)
	n.setUp()
	return n, nil
}

// takeReserved takes over the numbers that are reserved in another world. Those below them that are not are as if they had just been used.
func (b *book) takeReserved(s *Sim) {
	awaited := map[uint16]bool{}
	for _, wire := range s.awaited {
		awaited[wire] = true
	}
	for wire := 1; wire < len(s.book.pages); wire++ {
		p := &s.book.pages[wire]
		b.pages = append(b.pages, page{alive: true})
		if !p.alive || p.id != 0 || awaited[uint16(wire)] {
			b.lose(uint16(wire))
		}
	}
}
