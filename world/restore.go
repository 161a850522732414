package world

// Restore makes the world that of another Sim of the same game, which Load or New has made for it and nobody uses any more. Numbers
// by which clients know entities stay as they are, and so do views: they tell what is now otherwise. It is for a server that has lost the
// log of a room, and goes on from a snapshot. Call it right after New, Load, Apply or Advance.
func (s *Sim) Restore(from *Sim) {
	from.world.terrain.drop(from.public.told.edited)
	awaited := s.awaited
	s.world, s.history, s.share, s.roll = from.world, from.history, from.share, from.roll
	s.world.stats = &s.stats
	s.now, s.earliest, s.floor = from.now, from.earliest, from.floor
	s.present, s.players, s.lastPlayer = from.present, from.players, from.lastPlayer
	s.config = from.config
	s.lastFact, s.factless = from.lastFact, from.factless
	s.stats.InputsPending = from.stats.InputsPending
	on, kept, node := s.log.on, s.log.kept, s.log.node
	s.log = from.log
	if on {
		s.log.on, s.log.kept, s.log.node = on, kept, node
		s.log.begin(s.game.Version)
	}
	s.awaited = nil
	for p, wire := range awaited {
		if s.isPresent(p) {
			if s.awaited == nil {
				s.awaited = map[PlayerID]uint16{}
			}
			s.awaited[p] = wire
		} else {
			s.Release(wire)
		}
	}
	s.events, s.facts = s.events[:0], nil
	s.publish()
}

// Await says that the first own entity of a player who joins with the next entry gets a number from Reserve: as JoinAs, for a join that
// Apply runs.
func (s *Sim) Await(p PlayerID, wire uint16) {
	if s.awaited == nil {
		s.awaited = map[PlayerID]uint16{}
	}
	s.awaited[p] = wire
}

// Newest returns the newest request of a node that the log has, or that was submitted for the next entry.
func (s *Sim) Newest(node uint64) uint64 { return s.roll.newest(node) }

// Rise raises the epoch of the entries that Seal makes.
func (s *Sim) Rise(epoch uint64) { s.log.epoch = max(s.log.epoch, epoch) }
