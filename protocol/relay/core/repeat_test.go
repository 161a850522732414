package core

import (
	"testing"
	"time"

	"parley/internal/pace"
)

// A package that a peer waits for is sent again after a few milliseconds, if probes are lost on the path to it, or too few were sent to tell.
func TestAnAnswerIsSentTwice(t *testing.T) {
	h := newHall(t, Config{})
	n := 0
	p := newProbed(h, near(1), func(id uint32, again bool) []time.Duration {
		if n++; n%10 == 9 {
			return nil // the probe or its confirmation was lost
		}
		return []time.Duration{40 * time.Millisecond}
	})
	// answer returns when the same package came, after it was sent.
	answer := func(payload string) (came []time.Duration) {
		began := h.now
		p.tick(1000)
		if err := p.peer.Send(Unreliable, []byte(payload)); err != nil {
			t.Fatal(err)
		}
		p.peer.Repeat([]byte(payload))
		h.turn()
		for range 50 {
			for _, b := range h.out[p.a] {
				if d := (Datagram{}); d.Parse(b) && d.Kind == KindPackage && string(d.Payload) == payload {
					came = append(came, h.now.Sub(began))
				}
			}
			p.take()
			h.wait(time.Millisecond)
		}
		return came
	}
	want := func(what string, times int) {
		t.Helper()
		if came := answer(what); len(came) != times || times == 2 && came[1] != copyAfter {
			t.Errorf("%s: it came after %v", what, came)
		}
	}
	p.play(3, 1000)
	want("little is known", 2)
	p.play(30*20, 1000)
	want("some is lost", 2)
	if path := p.peer.Path(); path.Budget != pace.Unlimited {
		t.Fatalf("%+v: the path is narrow by now", path)
	}
	p.reply = alike(40 * time.Millisecond)
	p.play(120*20, 1000)
	want("nothing is lost", 1)
}

// A peer whose path nobody measures is sent nothing twice, and one that has left nothing at all.
func TestARepeatNeedsAPath(t *testing.T) {
	h := newHall(t, Config{})
	p := newProbed(h, near(1), alike(40*time.Millisecond))
	none := func(from int) {
		t.Helper()
		h.wait(time.Second)
		for _, b := range h.out[p.a][from:] {
			if d := (Datagram{}); d.Parse(b) && len(d.Payload) > 0 && d.Mode == Unreliable {
				t.Errorf("%x", b)
			}
		}
	}
	p.peer.Repeat([]byte("x"))
	none(0)
	p.play(5, 1000)
	p.peer.Repeat([]byte("x"))
	if p.peer.end.probes.echoAt == 0 {
		t.Fatal("it is not to be sent again: this tests nothing")
	}
	from := len(h.out[p.a])
	p.peer.Remove(Close{})
	none(from)
}
