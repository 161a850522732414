package world

// Add adds the counters of another world.
func (s *Stats) Add(o *Stats) {
	s.InputsDone += o.InputsDone
	s.InputsRefused += o.InputsRefused
	s.InputsPending += o.InputsPending
	for i := range s.Refused {
		s.Refused[i] += o.Refused[i]
	}
	s.Ticks += o.Ticks
	s.Rewinds += o.Rewinds
	s.TicksReplayed += o.TicksReplayed
	s.LateDoneNow += o.LateDoneNow
	s.NotFinite += o.NotFinite
	s.SpawnsRefused += o.SpawnsRefused
	s.Unnumbered += o.Unnumbered
}
