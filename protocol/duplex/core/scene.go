package core

import "iter"

// Scene is what some of a server's clients are shown: the elements, and the players who see them. A server has one for each of
// its worlds. Two scenes may use the same SIDs for different things. A scene without elements and players costs little.
type Scene struct {
	mux      *Mux
	elements elements
	conns    []*Conn // in an order that the same seed repeats
	closed   bool
}

// NewScene returns an empty scene. AnswerPass and Place put connections into it.
func (m *Mux) NewScene() *Scene { return &Scene{mux: m, elements: newElements()} }

// Close lets go of the scene: its elements are gone, clients that are joining it are told REFUSED, and those that have
// joined are closed. Close them before to give them a reason. A client that is put into it later is told REFUSED. The scene of a
// Mux itself can be used again.
func (s *Scene) Close() {
	s.closed = s != &s.mux.Scene
	s.elements = newElements()
	for _, c := range s.conns {
		if c.e.state < StateOpen {
			c.Refuse("the scene was closed")
		} else {
			c.Close("the scene was closed")
		}
		c.told.reset(&s.elements) // of slots that are not there any more
	}
}

// Conns yields the connections of the scene, including those that have not joined. Do not call PollEvent or Conn.Place while
// ranging over them.
func (s *Scene) Conns() iter.Seq[*Conn] {
	return func(yield func(*Conn) bool) {
		for _, c := range s.conns {
			if !yield(c) {
				return
			}
		}
	}
}

// add puts a connection that is in no scene into this one.
func (s *Scene) add(c *Conn) {
	c.scene, c.index = s, int32(len(s.conns))
	s.conns = append(s.conns, c)
	c.told.reset(&s.elements)
}

// remove takes a connection out of the scene. It keeps what it was told of it.
func (s *Scene) remove(c *Conn) {
	end := len(s.conns) - 1
	last := s.conns[end]
	s.conns[c.index], last.index = last, c.index
	s.conns[end] = nil
	if s.conns = s.conns[:end]; end == 0 {
		s.conns = nil // a scene that nobody is in may stay so for long
	}
}

// Set sets the value of the element sid. The next Flush sends it to the clients that may see it. Set returns ErrSID or
// ErrSize if the data does not fit the schema. Data with kind 0 removes the element: see Elements.Kinds.
func (s *Scene) Set(sid int16, data []byte) error {
	cfg := s.mux.cfg
	r := &cfg.rules.elements[FromServer]
	if r.moments[sid] {
		return ErrSID
	}
	if err := cfg.rules.check(FromServer, &Message{Kind: KindSync, SID: sid, Data: data}); err != nil {
		return err
	}
	if r.isGone(data) {
		s.Remove(sid)
		return nil
	}
	s.elements.set(sid, data, HeaderBytes+3+len(data) > cfg.MaxUpdate)
	return nil
}

// Element returns the value of an element. The bytes are valid until the next Set or Remove.
func (s *Scene) Element(sid int16) (data []byte, ok bool) {
	el := s.elements.get(sid)
	if el == nil {
		return nil, false
	}
	return el.data, true
}

// Told returns how often an element was sent to clients since the last call, 0 if there is no such element.
func (s *Scene) Told(sid int16) (n uint64) {
	if el := s.elements.get(sid); el != nil {
		n, el.told = el.told, 0
	}
	return n
}

// Remove removes an element. Clients that know it are told.
func (s *Scene) Remove(sid int16) {
	slot, ok := s.elements.remove(sid)
	if !ok {
		return
	}
	for _, c := range s.conns {
		if c.told.known.has(slot) {
			c.e.retire(slot, sid)
			s.mux.touch(c)
		}
	}
}

// Flush sends all changes since the last Flush to the clients that may see them: on the feed for elements that a client
// knows, on main for new ones. Call it once a tick. It visits the connections of this scene only.
func (s *Scene) Flush() {
	s.elements.flush()
	least := s.elements.head()
	for _, c := range s.conns {
		if c.e.state != StateOpen {
			continue
		}
		v := &c.told
		onMain, onFeed := c.e.skip() // first, so that what look tells on main is not the feed's too
		c.e.look()
		if onMain || v.due {
			s.mux.touch(c)
		} else if onFeed || c.e.out.size > 0 {
			s.mux.load(c)
		}
		least = min(least, v.onFeed, v.onMain)
	}
	s.elements.trim(least)
	if s.elements.crowded() {
		moved := s.elements.compact()
		for _, c := range s.conns {
			c.told.onFeed, c.told.onMain = moved(c.told.onFeed), moved(c.told.onMain)
		}
	}
}
