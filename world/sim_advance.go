package world

// Advance runs one tick. If inputs came late, it first goes back to the oldest tick that
// is affected and runs forward again, once for all late inputs. Then it publishes the
// new state for views, and the Events.
func (s *Sim) Advance() {
	s.events, s.facts = s.events[:0], nil
	s.hearViews()
	s.seal()
	if s.earliest < s.now {
		s.stats.Rewinds++
		s.world.load(&s.history.at(s.earliest).before)
		for tick := s.earliest; tick < s.now; tick++ {
			s.run(tick)
			s.stats.TicksReplayed++
		}
	}
	s.run(s.now)
	s.stats.Ticks++
	s.now++
	s.earliest = s.now
	s.share.settle()
	s.close()
	s.publish()
	s.number()
	s.log.passed(s.game.Version)
	if s.recorder != nil {
		s.recorder.state(s)
	}
	s.judge()
}

// run makes one tick of history, for the first time or again.
func (s *Sim) run(tick uint64) {
	m, w := s.history.at(tick), s.world
	w.enter(m, tick)
	s.admit(m)
	s.game.Step(w, s.scratch)
	for i := range s.scratch {
		if in := &s.scratch[i]; in.Kind == Leave {
			p, _ := w.Player(in.Player)
			in.Name, in.Steer.Entity = p.Name, p.Entity
			w.despawnOwned(in.Player)
			w.players.remove(in.Player)
		}
	}
	w.settle(&m.before)
	s.harvest(m)
}

// admit gathers the inputs that come to Step: those of players who are there.
func (s *Sim) admit(m *moment) {
	m.sort(&s.spare)
	s.scratch, s.params = s.scratch[:0], s.params[:0]
	w := s.world
	for _, key := range m.order {
		i := int32(uint32(key))
		in := &m.inputs[i]
		if in.Kind == Join {
			w.players.add(Player{ID: in.Player, Name: in.Name, Since: w.tick})
		}
		own, ok := w.players.find(in.Player)
		if !ok && in.Player != 0 { // 0 is the world itself
			in.outcome = Absent
			continue
		}
		in.outcome = 0
		s.scratch = append(s.scratch, *in)
		in = &s.scratch[len(s.scratch)-1]
		in.index = i
		in.keep(&s.params)
		if in.Kind == Steer && in.Steer.Entity == 0 {
			in.Steer.Entity = w.players.list[own].Entity
		}
	}
}

// harvest looks at what Step made of the inputs, and tells what is new of it.
func (s *Sim) harvest(m *moment) {
	m.done = m.done[:0]
	for i := range s.scratch {
		ran := &s.scratch[i]
		in := &m.inputs[ran.index]
		switch {
		case ran.Kind != Steer && ran.Kind != Act:
			ran.outcome = Accepted
		case ran.outcome == 0:
			ran.outcome = Ignored
		}
		in.outcome = ran.outcome
		if in.Kind == Act && in.outcome == Accepted {
			m.noteDone(in, ran)
		}
		if in.outcome != in.told {
			s.tellOutcome(ran)
			in.told = in.outcome
		}
		if ran.temp != 0 && ran.child != 0 && !in.toldID {
			s.tell(EntityNamed, ran, ran.child)
			in.toldID = true
		}
	}
	if len(s.scratch) == len(m.inputs) {
		return // nobody was absent
	}
	for i := range m.inputs {
		if in := &m.inputs[i]; in.outcome == Absent && in.told != Absent {
			s.stats.Refused[Absent]++
			s.tell(InputRefused, in, in.Steer.Entity)
			in.told = Absent
		}
	}
}

func (s *Sim) tellOutcome(in *Input) {
	entity := in.Steer.Entity
	if in.Kind != Steer && in.Kind != Leave {
		if p, ok := s.world.Player(in.Player); ok {
			entity = p.Entity
		}
	}
	switch {
	case in.Kind == Join:
		s.tell(PlayerJoined, in, entity)
	case in.Kind == Leave:
		s.tell(PlayerLeft, in, entity)
	case in.Kind == Away:
		s.tell(PlayerAway, in, entity)
	case in.Kind == Back:
		s.tell(PlayerBack, in, entity)
	case in.outcome.Refused():
		s.stats.Refused[in.outcome]++
		s.tell(InputRefused, in, entity)
	case in.Kind == Act:
		s.tell(ActionDone, in, entity)
	case in.tag != 0:
		s.tell(InputAccepted, in, entity)
	}
}

// close counts the inputs that fall out of the window, as what became of them
// is final, and makes room for the tick that is now 2 ahead. After the last entry of a room all is final.
func (s *Sim) close() {
	if past := s.now - s.history.depth - 1; past < s.now {
		m := s.history.at(past)
		s.finalize(past)
		for i := range m.inputs {
			s.stats.InputsPending--
			if m.inputs[i].outcome.Refused() {
				s.stats.InputsRefused++
			} else {
				s.stats.InputsDone++
			}
		}
		m.empty()
	}
	if s.log.ended {
		s.conclude()
	}
	s.history.open(s.now + MaxAhead)
}
