package carry

import "time"

// begin starts the sweeper with the first carrier that has the hall. A hall that is shut has none.
func (h *Hall) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.begun && !h.shut {
		h.begun = true
		h.group.Go(h.sweep)
	}
}

// sweep keeps the time limits of all sessions.
func (h *Hall) sweep() {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	var sessions []*Session
	var streams []*StreamSession
	for {
		select {
		case <-h.closed:
			return
		case now := <-ticker.C:
			sessions, streams = h.all(sessions[:0], streams[:0])
			for _, s := range sessions {
				s.sweep(now)
			}
			for _, s := range streams {
				s.sweep(now)
			}
			clear(sessions)
			clear(streams)
		}
	}
}

// all appends all sessions.
func (h *Hall) all(sessions []*Session, streams []*StreamSession) ([]*Session, []*StreamSession) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, s := range h.sessions {
		sessions = append(sessions, s)
	}
	for s := range h.streams {
		streams = append(streams, s)
	}
	return sessions, streams
}

// part has the sessions leave whose connections are over.
func (h *Hall) part() {
	h.come.Lock()
	list := h.leavers
	h.leavers = nil
	h.come.Unlock()
	for _, s := range list {
		s.leave()
	}
}

// bury forgets sessions whose end the core has been told.
func (h *Hall) bury(list []*Session) {
	if len(list) == 0 {
		return
	}
	h.mu.Lock()
	for _, s := range list {
		delete(h.sessions, s.addr.Addr())
	}
	h.mu.Unlock()
}

// stop admits no further sessions.
func (h *Hall) stop() {
	h.mu.Lock()
	h.shut = true
	h.mu.Unlock()
}

// signal tells close that a session has ended.
func (h *Hall) signal() {
	select {
	case h.less <- struct{}{}:
	default:
	}
}

// close ends all sessions. Those whose peers read get what waits for them.
func (h *Hall) close() {
	h.stop()
	sessions, streams := h.all(nil, nil)
	for _, s := range sessions {
		s.leave()
	}
	late := time.NewTimer(closeTime)
	defer late.Stop()
	for waiting := true; waiting && h.counts.open.Load() > 0; {
		select {
		case <-h.less:
		case <-late.C:
			waiting = false
		}
	}
	for _, s := range sessions {
		s.end(Cut)
	}
	for _, s := range streams {
		s.end(Cut)
	}
	h.mu.Lock()
	if h.begun {
		h.begun = false
		close(h.closed)
	}
	clear(h.sessions)
	h.mu.Unlock()
	h.group.Wait()
}
