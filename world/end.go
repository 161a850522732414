package world

// ending is the end of a world: the tick at which the game called End, and the result. It is state: a rewind takes it back.
type ending struct {
	at     uint64 // 1 + the tick; 0 if the world goes on
	result string
}

// End ends the room with a result, such as who has won. The first call counts. The world goes on until the tick can no longer be rewound, as
// a late input may still take the end back. Then the room's log ends, its players are told, and Server.Events and Server.Result tell the
// result. A result is cut to MaxResult bytes, and to what is UTF-8 of it.
func (w *World) End(result string) {
	if w.ending.at == 0 {
		w.ending = ending{w.tick + 1, fitText(result, MaxResult)}
	}
}

// Ended reports whether End was called, and with which result.
func (w *World) Ended() (result string, ended bool) { return w.ending.result, w.ending.at != 0 }

// hash folds the end into a hash. Worlds that go on have the hashes that they had before there was an end.
func (e *ending) hash(h uint64) uint64 {
	if e.at == 0 {
		return h
	}
	return hashText(hash(h, e.at), e.result)
}

// Settled reports whether further ticks without inputs make nothing final: no fact, and no end of the world.
func (s *Sim) Settled() bool {
	for tick := s.Final(); tick <= s.now+MaxAhead; tick++ {
		if m := s.history.at(tick); len(m.inputs)+len(m.words) > 0 {
			return false
		}
	}
	return s.world.ending.at == 0 || s.log.ended
}

// Over reports whether the game has ended the world at a tick that can no longer be rewound, and with which result. The owner of the Sim
// then calls End with the result, and makes one more entry: the room's last.
func (s *Sim) Over() (result string, over bool) {
	e := &s.world.ending
	return e.result, e.at != 0 && e.at <= s.Final()
}
