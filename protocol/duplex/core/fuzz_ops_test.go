package core

import (
	"maps"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
)

// script plays operations, each of two bytes, on a server and a client with everything that is
// between them in its hands.
type script struct {
	t      *testing.T
	now    time.Time
	mux    *Mux
	scene  *Scene
	conn   *Conn
	client *Endpoint
	up     [][]byte // datagrams on their way
	down   [][]byte
	toMux  []byte // bytes of main on their way
	toHim  []byte
	buf    [1 << 16]byte
	state  map[int16]string
	newest uint64
	value  uint64
	ended  [2]int
}

func newScript(t *testing.T, pass []byte) *script {
	s := &script{t: t, now: stageStart, state: map[int16]string{}}
	s.mux = NewMux(s.now, Config{Schema: gameSchema, MaxQueue: 1 << 18, Judge: func(*Conn, []byte) {}}, newShared(1), keyOf(1))
	s.client = NewClient(s.now, serverAddr, serverAddr, Config{Schema: gameSchema, Pass: pass}, newShared(2))
	s.conn = s.mux.Accept(s.now, clientAddr)
	if s.scene = &s.mux.Scene; pass != nil {
		s.scene = s.mux.NewScene()
	}
	return s
}

// op does one operation.
func (s *script) op(what, arg byte) {
	n := int(arg)
	switch what % 16 {
	case 0:
		s.now = s.now.Add(time.Duration(n) * 20 * time.Millisecond)
		s.client.HandleTimeout(s.now)
		if at, ok := s.mux.NextTimeout(); ok && !at.After(s.now) {
			s.mux.HandleTimeout(s.now)
		}
	case 1, 2:
		if len(s.down) > 0 {
			i := n % len(s.down)
			b := s.down[i]
			if what%16 == 1 {
				s.down = append(s.down[:i:i], s.down[i+1:]...)
			}
			s.client.HandleDatagram(s.now, serverAddr, b)
		}
	case 3:
		if len(s.up) > 0 {
			i := n % len(s.up)
			b := s.up[i]
			s.up = append(s.up[:i:i], s.up[i+1:]...)
			s.mux.HandleDatagram(s.now, clientAddr, b)
		}
	case 4:
		s.down, s.up = s.down[:len(s.down)/2], s.up[:len(s.up)/2]
	case 5:
		k := min(n, len(s.toMux))
		s.toMux = s.toMux[s.mux.HandleBytes(s.now, s.conn, s.toMux[:k]):]
	case 6:
		k := min(n, len(s.toHim))
		s.toHim = s.toHim[s.client.HandleBytes(s.now, s.toHim[:k]):]
	case 7:
		s.value++
		if err := s.scene.Set(int16(n%7), valueOf(s.value)); err != nil {
			s.t.Fatal(err)
		}
	case 8:
		s.scene.Remove(int16(n % 7))
	case 9:
		s.mux.Advance(s.now)
		s.scene.Flush()
	case 10:
		_ = s.client.Update(s.now, 1, noise[:8])
	case 11:
		_, _ = s.client.Query(s.now, Channel(1+n%2), 65, noise[:4])
	case 12:
		if len(s.conn.e.owed.list) > 0 {
			_ = s.conn.Reply(s.conn.e.owed.list[n%len(s.conn.e.owed.list)].id, 0, noise[:4])
		}
	case 13:
		_ = s.client.RequestSync(s.now)
	case 14:
		switch sid := int16(n >> 2 % 7); n % 4 {
		case 0:
			s.conn.ShowAll()
		case 1:
			s.conn.HideAll()
		case 2:
			s.conn.Show(sid)
		case 3:
			s.conn.Hide(sid)
		}
	case 15:
		switch n {
		case 0:
			s.client.Close(s.now, "")
		case 1:
			s.conn.Close("")
		case 2:
			s.mux.HandleEnd(s.now, s.conn, "broken")
		case 3:
			s.client.HandleEnd(s.now, "")
		case 4, 5: // of nothing, if no pass is being judged
			s.mux.Advance(s.now)
			s.conn.AnswerPass(uint8(n-4), 5, s.scene)
		}
	}
	s.poll()
}

func (s *script) poll() {
	for ev, ok := s.client.PollEvent(); ok; ev, ok = s.client.PollEvent() {
		switch ev.Kind {
		case EventUpdate:
			if v := bigEndian(ev.Data[1:]); v < s.newest {
				s.t.Fatalf("update %d after %d", v, s.newest)
			}
			s.state[ev.SID] = string(ev.Data)
		case EventSync:
			s.state[ev.SID] = string(ev.Data)
		case EventGone:
			delete(s.state, ev.SID)
		case EventClosed:
			s.ended[0]++
		}
	}
	for _, ev, ok := s.mux.PollEvent(); ok; _, ev, ok = s.mux.PollEvent() {
		if ev.Kind == EventClosed {
			s.ended[1]++
		}
	}
	if n := s.client.PollBytes(s.buf[:]); n > 0 {
		s.toMux = append(s.toMux, s.buf[:n]...)
		s.client.Written(s.now)
	}
	for n, c, ok := s.mux.PollBytes(s.buf[:]); ok; n, c, ok = s.mux.PollBytes(s.buf[:]) {
		s.toHim = append(s.toHim, s.buf[:n]...)
		s.mux.Written(s.now, c)
	}
	for n, _, ok := s.client.PollTransmit(s.buf[:]); ok; n, _, ok = s.client.PollTransmit(s.buf[:]) {
		s.up = append(s.up, append([]byte(nil), s.buf[:n]...))
	}
	for n, _, ok := s.mux.PollTransmit(s.buf[:]); ok; n, _, ok = s.mux.PollTransmit(s.buf[:]) {
		s.down = append(s.down, append([]byte(nil), s.buf[:n]...))
	}
}

// settle lets everything arrive, and time pass.
func (s *script) settle() {
	s.conn.ShowAll()
	s.op(9, 0)
	for range 40 {
		for len(s.down)+len(s.up)+len(s.toMux)+len(s.toHim) > 0 {
			down, up, toMux, toHim := len(s.down), len(s.up), len(s.toMux), len(s.toHim)
			for ; down > 0; down-- {
				s.op(1, 0)
			}
			for ; up > 0; up-- {
				s.op(3, 0)
			}
			if s.conn.judged() {
				s.op(15, 4)
			}
			for ; toMux > 0 && len(s.toMux) > 0; toMux -= 255 {
				s.op(5, 255)
			}
			for ; toHim > 0 && len(s.toHim) > 0; toHim -= 255 {
				s.op(6, 255)
			}
			for len(s.conn.e.owed.list) > 0 && s.conn.e.State() == StateOpen {
				s.op(12, 0)
			}
		}
		s.op(0, 25)
	}
}

// FuzzOps: whatever is done in whatever order, the two agree in the end or have both ended,
// each once.
func FuzzOps(f *testing.F) {
	f.Add([]byte{5, 9, 6, 9, 3, 0, 1, 0, 5, 9, 7, 1, 9, 0, 6, 200, 7, 1, 9, 0, 1, 0})
	f.Add([]byte{5, 9, 6, 9, 0, 255, 5, 9, 7, 1, 7, 2, 9, 0, 8, 1, 9, 0, 14, 1, 9, 0, 13, 0, 11, 0, 11, 1, 12, 0, 15, 0})
	f.Add([]byte{5, 9, 6, 9, 3, 0, 1, 0, 5, 9, 15, 2})
	f.Fuzz(func(t *testing.T, ops []byte) { runScript(t, ops[:min(len(ops), 2000)], nil) })
}

// FuzzPassOps is FuzzOps with a client that shows a pass, which leads into a scene.
func FuzzPassOps(f *testing.F) {
	f.Add([]byte{5, 9, 6, 9, 5, 9, 15, 4, 6, 9, 3, 0, 1, 0, 5, 9, 7, 1, 9, 0, 6, 200, 7, 1, 9, 0, 1, 0})
	f.Add([]byte{5, 9, 6, 9, 5, 9, 7, 1, 9, 0, 0, 255, 15, 5, 6, 9})
	f.Fuzz(func(t *testing.T, ops []byte) { runScript(t, ops[:min(len(ops), 2000)], passOf("x")[1:]) })
}

func runScript(t *testing.T, ops, pass []byte) {
	s := newScript(t, pass)
	s.poll()
	for ; len(ops) >= 2; ops = ops[2:] {
		s.op(ops[0], ops[1])
	}
	s.settle()
	for _, e := range []*Endpoint{s.client, &s.conn.e} {
		stats := e.Stats()
		if err := stats.Check(); err != nil {
			t.Fatal(err)
		}
	}
	switch {
	case s.client.State() == StateOpen && s.conn.e.State() == StateOpen:
		truth := s.scene.truth()
		if !maps.Equal(s.state, truth) {
			t.Fatalf("the client knows %x, and the truth is %x", s.state, truth)
		}
	case s.client.State() == StateClosed && s.ended[0] != 1, s.conn.e.State() == StateClosed && s.ended[1] != 1:
		t.Fatalf("%v and %v are told %v times", s.client.State(), s.conn.e.State(), s.ended)
	}
}

// T10's kind: random scripts, as many as the tier wants.
func TestRandomScripts(t *testing.T) {
	t.Parallel()
	r := kit.Rand(t)
	for range promise.Keeps(t, "T10", "duplex", kit.Rounds(3_000, 100_000)) {
		ops := make([]byte, 400)
		for i := range ops {
			ops[i] = byte(r.Uint32())
			if i%2 == 0 && ops[i]%16 == 15 && r.IntN(20) > 0 {
				ops[i] = 0 // most of them do not end
			}
		}
		runScript(t, ops, [][]byte{nil, passOf("x")[1:]}[r.IntN(2)])
	}
}
