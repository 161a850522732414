package core

import (
	"fmt"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
)

// segment is what is on its way through a simulated TCP connection.
type segment struct {
	at   time.Time
	data []byte
}

// path is one direction of it: a second of delay, 100 ms of jitter. A quarter of the segments are lost, and what is
// lost comes a round trip later, and all behind it too.
type path struct {
	town *town
	list []segment
	last time.Time
}

func (p *path) put(b []byte) {
	r := p.town.rand
	at := p.town.now.Add(time.Second + time.Duration(r.IntN(100))*time.Millisecond)
	for r.IntN(4) == 0 {
		at = at.Add(2 * time.Second)
	}
	if at.Before(p.last) {
		at = p.last
	}
	p.last = at
	p.list = append(p.list, segment{at, append([]byte(nil), b...)})
}

func (p *path) due() (b []byte) {
	for len(p.list) > 0 && !p.list[0].at.After(p.town.now) {
		b = append(b, p.list[0].data...)
		p.list = p.list[1:]
	}
	return b
}

// T22: 16 players far away and over a bad path, who speak every other second: a quarter of a simulated hour in the gate, 24
// hours in a soak. Each hears each line of the others once and in order, and nobody is lost.
func TestSoak(t *testing.T) {
	const players, step = 16, 50 * time.Millisecond
	seconds := promise.Keeps(t, "T22", "realm", kit.Tier(60, 900, 24*3600))
	w := newTown(t, kit.Rand(t), Config{ChatRate: 10, VersionWithin: 30 * time.Second, Timeout: time.Minute})
	up, down := make([]path, players), make([]path, players)
	for i := range players {
		w.accounts[fmt.Sprint("player-", i)] = "password"
		w.arrive(Config{Timeout: time.Minute})
		up[i], down[i] = path{town: w}, path{town: w}
	}
	var said [players]int
	var heard [players][players]int
	speak := func(i, turn int) {
		c := w.people[i].client
		switch {
		case c.State() == StateLobby && turn%100 == 0:
			if err := c.Login(w.now, fmt.Sprint("player-", i), "password"); err != nil {
				t.Fatal(err)
			}
		case c.State() == StatePlaying && (turn+i)%40 == 0 && turn < seconds*20:
			if err := c.Send(w.now, &Message{Kind: KindChatSend, Text: fmt.Appendf(nil, "%d %d", i, said[i])}); err != nil {
				t.Fatal(err)
			}
			said[i]++
		}
	}
	listen := func(i int) {
		p := w.people[i]
		p.poll()
		for _, ev := range p.events {
			if ev.Kind == EventClosed {
				t.Fatalf("player %d was lost: %+v", i, ev.Close)
			}
			if ev.Message == nil || ev.Message.Kind != KindChatReceive {
				continue
			}
			from, n := 0, 0
			if _, err := fmt.Sscanf(string(ev.Message.Text), "%d %d", &from, &n); err != nil {
				t.Fatal(err)
			}
			if heard[i][from] == 0 {
				heard[i][from] = n // what was said before it came
			}
			if n != heard[i][from] {
				t.Fatalf("player %d heard line %d of %d where %d was due", i, n, from, heard[i][from])
			}
			heard[i][from]++
		}
		p.events = nil
	}
	for turn := range (seconds + 60) * 20 { // the last minute is quiet
		w.now = w.now.Add(step)
		w.mux.HandleTimeout(w.now)
		for i, p := range w.people {
			p.client.HandleTimeout(w.now)
			speak(i, turn)
			for n := p.client.PollBytes(w.buf[:]); n > 0; n = p.client.PollBytes(w.buf[:]) {
				up[i].put(w.buf[:n])
			}
			if b := up[i].due(); len(b) > 0 {
				w.mux.HandleBytes(w.now, p.conn, b)
			}
			w.events()
		}
		for c, n, ok := w.mux.PollBytes(w.buf[:]); ok; c, n, ok = w.mux.PollBytes(w.buf[:]) {
			for i, p := range w.people {
				if p.conn == c {
					down[i].put(w.buf[:n])
				}
			}
		}
		w.events()
		for i, p := range w.people {
			if b := down[i].due(); len(b) > 0 {
				p.client.HandleBytes(w.now, b)
			}
			listen(i)
		}
	}
	for i := range players {
		for from := range players {
			if i != from && (heard[i][from] != said[from] || said[from] < seconds/4) {
				t.Errorf("player %d heard %d of %d lines of %d", i, heard[i][from], said[from], from)
			}
		}
	}
	w.checkFrames()
}
