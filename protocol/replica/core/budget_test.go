package core

import (
	"bytes"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/internal/reliable"
	"parley/simnet"
)

// T18: fifty clients send large messages at once, and the shared budget has room for two. All are delivered, and
// nobody is cut off: a client waits for its turn.
func TestHonestClientsWaitForTheSharedBudget(t *testing.T) {
	w := newWorld(t, 50, Config{}, simnet.Profile{Delay: 10 * time.Millisecond, Loss: .02})
	w.mux.shared.partial = reliable.NewBudget(5 << 19)
	w.SetLimits(simnet.Limits{Steps: 20_000_000, StepsAtOnce: 50_000})
	const clients = 50
	for i := range clients {
		w.dial(i, Config{})
	}
	w.Until("connected", 20*time.Second, func() bool { return w.mux.Len() == clients })
	whole := 0
	w.onEvent = func(_ time.Time, _ *Conn, ev Event) {
		switch ev.Kind {
		case EventMessage:
			if len(ev.Data) != 300_000 || !bytes.Equal(ev.Data, bytes.Repeat(ev.Data[:1], 300_000)) {
				t.Fatalf("a message of %d bytes came", len(ev.Data))
			}
			whole++
		case EventClosed:
			t.Errorf("a client was cut off: %v", ev.Close)
		}
	}
	for i, x := range w.clients {
		x.send(Ordered, "big", string(bytes.Repeat([]byte{byte(i)}, 300_000)))
	}
	most := 0
	w.Until("all messages", 5*time.Minute, func() bool {
		most = max(most, w.mux.shared.partial.Waiting())
		return whole == clients
	})
	w.Pass(time.Second)
	for i, x := range w.clients {
		if x.closed != nil {
			t.Errorf("client %d ended: %v", i, *x.closed)
		}
	}
	if used := w.mux.shared.partial.Used(); used != 0 || most < clients/2 {
		t.Errorf("%d bytes are in use at the end, and %d waited at most", used, most)
	}
	promise.Kept(t, "T18", "replica", clients)
}

// A client whose message waits for longer than a sender tries lives on, and so does the one that it waits for, as that
// one goes on sending; when the latter stops, it gives way.
func TestAClientWaitsLongerThanASenderTries(t *testing.T) {
	w := newWorld(t, 51, Config{}, kit.Lan())
	w.mux.shared.partial = reliable.NewBudget(1)
	hog, x := w.dial(0, Config{}), w.dial(1, Config{})
	w.Until("connected", 5*time.Second, func() bool { return w.mux.Len() == 2 })
	w.Pass(time.Second)
	c := w.mux.Conn(hog.host.Addr())
	whole := false
	w.onEvent = func(_ time.Time, _ *Conn, ev Event) { whole = whole || ev.Kind == EventMessage }
	number := c.endpoint.near + 1
	pieces := func(n int) {
		for range n {
			w.Inject(c.Peer(), serverAddr, pieceOf(c, number, c.endpoint.ServerTime(w.Now()), true, number == c.endpoint.near+1, make([]byte, 1100)))
			number++
			w.Pass(20 * time.Millisecond)
		}
	}
	pieces(16)
	x.send(Ordered, "big", string(make([]byte, 400_000)))
	for range 12 {
		pieces(16)
		w.Pass(5 * time.Second)
	}
	if whole || x.closed != nil || c.endpoint.State() != StateOpen || !w.mux.Conn(x.host.Addr()).endpoint.parts.Waits() {
		t.Fatalf("after a minute: delivered %v, the client that waits %v, the other %v", whole, x.closed, c.endpoint.State())
	}
	w.Until("the message", time.Minute, func() bool { return whole })
	if x.closed != nil || w.mux.Conn(x.host.Addr()) == nil {
		t.Errorf("the client that waited ended: %v", x.closed)
	}
}

// A message that is read is given back at once, and not with its sender's next one.
func TestALargeMessageIsGivenBackWhenItIsRead(t *testing.T) {
	w, x, _ := connected(t, 52, Config{}, kit.Lan())
	got := 0
	w.onEvent = func(_ time.Time, _ *Conn, ev Event) {
		if ev.Kind == EventMessage {
			got = len(ev.Data)
		}
	}
	x.send(Ordered, "big", string(make([]byte, 50_000)))
	w.Until("the message", 10*time.Second, func() bool { return got == 50_000 })
	if n := w.mux.shared.partial.Used(); n != 0 {
		t.Errorf("%d bytes are in use", n)
	}
}

// A client that says goodbye while its last message waits for room loses nothing that was acknowledged.
func TestAMessageThatWaitsIsReadAtTheEnd(t *testing.T) {
	w := newWorld(t, 53, Config{}, kit.Lan())
	w.mux.shared.partial = reliable.NewBudget(1)
	hog, x := w.dial(0, Config{}), w.dial(1, Config{Linger: 5 * time.Second})
	w.Until("connected", 5*time.Second, func() bool { return w.mux.Len() == 2 })
	w.Pass(time.Second)
	c := w.mux.Conn(hog.host.Addr())
	for i, number := 0, c.endpoint.near+1; i < 20; i, number = i+1, number+1 {
		w.Inject(c.Peer(), serverAddr, pieceOf(c, number, c.endpoint.ServerTime(w.Now()), true, i == 0, make([]byte, 1100)))
		w.Pass(20 * time.Millisecond)
	}
	got := 0
	w.onEvent = func(_ time.Time, _ *Conn, ev Event) {
		if ev.Kind == EventMessage {
			got += len(ev.Data)
		}
	}
	x.send(Ordered, "last", string(make([]byte, 100_000)))
	x.Close(x.host.Now(), "")
	x.host.Poke()
	w.Until("left", 20*time.Second, func() bool { return w.mux.Len() == 1 })
	if got != 100_000 {
		t.Errorf("%d bytes of the last message came", got)
	}
}

// A hundred peers leave a gap open and hold all that the shared budget has. Clients on a path that loses packets go
// on: what is refused comes again.
func TestPeersThatLeaveGapsDoNotStopOthers(t *testing.T) {
	w := newWorld(t, 54, Config{}, simnet.Profile{Delay: 20 * time.Millisecond, Loss: .03})
	w.SetLimits(simnet.Limits{Steps: 20_000_000, StepsAtOnce: 50_000})
	w.mux.shared.buffers.MaxHeld = 4 << 20
	const hostile, honest = 100, 10
	for i := range hostile + honest {
		w.dial(i, Config{})
	}
	w.Until("connected", 20*time.Second, func() bool { return w.mux.Len() == hostile+honest })
	w.Pass(time.Second)
	data := make([]byte, 1000)
	for _, x := range w.clients[:hostile] {
		c := w.mux.Conn(x.host.Addr())
		for i := range uint64(250) {
			w.mux.HandleDatagram(w.Now(), c.Peer(), pieceOf(c, c.endpoint.near+5+i, c.endpoint.ServerTime(w.Now()), true, false, data))
		}
	}
	w.server.Poke()
	held := w.mux.shared.buffers.Held()
	if held < 3<<20 || held > 4<<20+hostile*16<<10 {
		t.Fatalf("%d KiB are held", held>>10)
	}
	got := map[*Conn]int{}
	w.onEvent = func(_ time.Time, c *Conn, ev Event) {
		if ev.Kind == EventMessage {
			if int(ev.Data[0]) != got[c]%200 {
				t.Errorf("message %d came as %d", ev.Data[0], got[c])
			}
			got[c]++
		}
	}
	for i := range 200 {
		for _, x := range w.clients[hostile:] {
			x.send(Ordered, "n", string(append([]byte{byte(i)}, data[:200]...)))
		}
		w.Pass(20 * time.Millisecond)
	}
	w.Until("all messages", time.Minute, func() bool {
		for _, x := range w.clients[hostile:] {
			if c := w.mux.Conn(x.host.Addr()); c == nil || got[c] < 200 {
				return false
			}
		}
		return true
	})
}

// T18: a hundred peers send large messages so slowly that they keep all places, and are before everybody else in the queue. An honest
// message of 64 KiB is delivered within seconds, again and again, and nobody is cut off.
func TestSlowSendersDoNotHoldUpAMessageThatIsAllThere(t *testing.T) {
	w := newWorld(t, 55, Config{}, simnet.Profile{Delay: 20 * time.Millisecond, Loss: .02})
	w.SetLimits(simnet.Limits{Steps: 20_000_000, StepsAtOnce: 50_000})
	const hostile = 100
	for i := range hostile + 1 {
		w.dial(i, Config{})
	}
	w.Until("connected", 20*time.Second, func() bool { return w.mux.Len() == hostile+1 })
	w.Pass(time.Second)
	slow := make([]uint64, hostile) // their next numbers
	drip := func(pieces int) {
		for i := range slow {
			c := w.mux.Conn(w.clients[i].host.Addr())
			if c == nil {
				t.Fatal("a slow peer was cut off")
			}
			for range pieces {
				first := slow[i] == 0
				if first {
					slow[i] = c.endpoint.near + 1
				}
				w.mux.HandleDatagram(w.Now(), c.Peer(), pieceOf(c, slow[i], c.endpoint.ServerTime(w.Now()), true, first, make([]byte, 1100)))
				slow[i]++
			}
		}
		w.server.Poke()
	}
	drip(20)
	honest, got := w.clients[hostile], 0
	w.onEvent = func(_ time.Time, _ *Conn, ev Event) {
		if ev.Kind == EventMessage {
			got += len(ev.Data)
		}
	}
	for i := range 10 {
		got = 0
		honest.send(Ordered, "big", string(make([]byte, 64<<10)))
		for range 6 { // 2.2 kB a second each: more than what counts as stalled
			drip(1)
			w.Pass(500 * time.Millisecond)
		}
		if budget := w.mux.shared.partial; got != 64<<10 || budget.Waiting() < hostile/2 || honest.closed != nil {
			t.Fatalf("message %d: %d bytes came in 3 s beside %d that wait: %v", i, got, budget.Waiting(), honest.closed)
		}
	}
}
