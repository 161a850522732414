package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// liveOf reads an event live.
func liveOf(t *testing.T, text []byte) (l Live) {
	t.Helper()
	data, ok := strings.CutPrefix(string(text), "event: live\ndata: ")
	if err := json.Unmarshal([]byte(data), &l); !ok || err != nil {
		t.Fatalf("%.80q: %v", text, err)
	}
	return l
}

func newWatch(f *fakeOperator) *watch {
	l := newLive(f, func() error { return nil }, &history{op: f, stats: func() any { return stats{} }})
	return &watch{live: l, people: map[personID]*person{}, rooms: map[string]Room{}}
}

// A page that applies the changes knows what one knows that has just come.
func TestChangesAddUp(t *testing.T) {
	f := newFake()
	w := newWatch(f)
	players, rooms := map[uint32]LivePlayer{}, map[string]Room{}
	for turn := range 200 {
		now := then.Add(time.Duration(turn) * time.Second)
		f.players = f.players[:0]
		for id := range 40 {
			if (id*7+turn*3)%11 == 0 {
				continue // away for a turn, and then somebody else
			}
			since := then.Add(time.Duration((id*7+turn*3)/11) * time.Minute)
			f.players = append(f.players, Player{ID: uint16(id + 1), Name: fmt.Sprint("n", id), Room: "main", Since: since, RTT: float64(turn % 5), BytesOut: uint64(turn * 100), Conn: uint32(turn / 50)})
		}
		f.rooms = f.rooms[:1+turn%2]
		f.rooms[0].Tick++
		m := w.look(now)
		d, full := liveOf(t, m.delta), liveOf(t, m.full())
		for _, p := range d.People {
			players[p.Key] = p
		}
		for _, n := range d.Numbers {
			p, ok := players[n.Key]
			if !ok {
				t.Fatalf("turn %d: numbers of nobody", turn)
			}
			p.LiveNumbers = n
			players[n.Key] = p
		}
		for _, key := range d.Gone {
			delete(players, key)
		}
		for _, r := range d.RoomList {
			rooms[r.Name] = r
		}
		for _, name := range d.RoomsGone {
			delete(rooms, name)
		}
		if len(players) != len(full.People) || len(rooms) != len(full.RoomList) {
			t.Fatalf("turn %d: %d players of %d, %d rooms of %d", turn, len(players), len(full.People), len(rooms), len(full.RoomList))
		}
		for _, p := range full.People {
			if players[p.Key] != p {
				t.Fatalf("turn %d: %+v, want %+v", turn, players[p.Key], p)
			}
		}
	}
}

// Rates are of a second, loss of the last ten, and neither is told where it is not known.
func TestNumbersOfAPlayer(t *testing.T) {
	f := newFake()
	w := newWatch(f)
	p := &f.players[0]
	look := func(second int) LivePlayer {
		return liveOf(t, w.look(then.Add(time.Duration(second)*time.Second)).full()).People[0]
	}
	if got := look(0); got.Loss != -1 || got.Out != 0 {
		t.Errorf("at first %+v", got)
	}
	p.BytesOut, p.BytesIn, p.BytesArrived, p.BytesLost = p.BytesOut+2000, p.BytesIn+500, p.BytesArrived+1500, p.BytesLost+500
	if got := look(2); got.Loss != 25 || got.Out != 1000 || got.In != 250 {
		t.Errorf("after two seconds %+v", got)
	}
	for s := range lossSpan {
		p.BytesArrived += 1000
		look(3 + s)
	}
	if got := look(20); got.Loss != 0 {
		t.Errorf("after ten seconds without loss: %+v", got)
	}
	p.Conn, p.BytesOut, p.BytesIn, p.BytesArrived, p.BytesLost = 18, 1, 1, 0, 0
	if got := look(21); got.Loss != -1 || got.Out != 0 {
		t.Errorf("over a new connection: %+v", got)
	}
}

// A watcher that misses a moment is told everything, one that does not is told what has changed, and nothing waits for either.
func TestAWatcherThatMissesAMomentGetsAll(t *testing.T) {
	w := newWatch(newFake())
	l := w.live
	l.now = w.look(then)
	text, one, _ := l.after(0)
	if !liveOf(t, text).Full {
		t.Error("who comes is told a change")
	}
	l.now = w.look(then.Add(time.Second))
	text, two, _ := l.after(one)
	if liveOf(t, text).Full {
		t.Error("who has read all is told everything")
	}
	if text, _, _ := l.after(two); text != nil {
		t.Error("something is told twice")
	}
	l.now = w.look(then.Add(2 * time.Second))
	l.now = w.look(then.Add(3 * time.Second))
	if text, _, _ := l.after(two); !liveOf(t, text).Full {
		t.Error("who has missed a moment is told a change")
	}
}

// The server is looked at once a second for all watchers, and not at all for none. At most 64 watch.
func TestWatchersShareALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		a, h := newAPI(withDefaults(operated(f)))
		ctx, cancel := context.WithCancel(context.Background())
		for range maxListeners {
			go readLive(ctx, h)
		}
		time.Sleep(10*time.Second + time.Millisecond)
		if n := f.count("players"); n < 10 || n > 11 {
			t.Errorf("the players were asked for %d times in ten seconds", n)
		}
		if w := (asked{method: "GET", path: "/v1/live"}).send(h); w.Code != 503 {
			t.Errorf("one more: status %d", w.Code)
		}
		cancel()
		synctest.Wait()
		before := f.total()
		time.Sleep(time.Minute)
		if f.total() != before {
			t.Error("the server is looked at for nobody")
		}
		a.stop()
	})
}

// readLive reads /v1/live until ctx ends.
func readLive(ctx context.Context, h http.Handler) {
	in, out := io.Pipe()
	r, _ := http.NewRequestWithContext(ctx, "GET", "/v1/live", nil)
	r.Host = "127.0.0.1"
	r.Header.Set("Authorization", "Bearer "+testToken)
	go func() {
		h.ServeHTTP(&reading{header: http.Header{}, text: out}, r)
		out.Close()
	}()
	io.Copy(io.Discard, in)
}

// The ring has ten minutes, and a page that comes late has all of them.
func TestHistoryIsARing(t *testing.T) {
	f := newFake()
	h := &history{op: f, stats: func() any { return stats{} }}
	for i := range 1000 {
		h.look(then.Add(time.Duration(i) * historyEvery))
		h.look(then.Add(time.Duration(i)*historyEvery + historyEvery/2)) // too early
	}
	all := h.all()
	if len(all.Points) != historyPoints || all.Every != 2 {
		t.Fatalf("%d points, every %v s", len(all.Points), all.Every)
	}
	for i, p := range all.Points {
		if want := then.Add(time.Duration(1000-historyPoints+i) * historyEvery); !p.Time.Equal(want) || p.P99 != 0.25 || p.Players != 1 {
			t.Fatalf("point %d is %+v, want one at %v", i, p, want)
		}
	}
	if h.newest() != all.Points[historyPoints-1] {
		t.Error("the newest is another")
	}
}

// A client that does not read is cut off, and no other waits for it.
func TestSlowWatchers(t *testing.T) {
	f := newFake()
	for i := range 3000 {
		f.players = append(f.players, Player{ID: uint16(i), Name: strings.Repeat("n", 64), Room: "main", Since: then})
	}
	p, err := Listen("127.0.0.1:0", operated(f))
	if err != nil {
		t.Fatal(err)
	}
	var slow []net.Conn
	for range 20 {
		c, err := net.Dial("tcp", p.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c.(*net.TCPConn).SetReadBuffer(4096)
		fmt.Fprintf(c, "GET /v1/live HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n\r\n", testToken)
		slow = append(slow, c)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, "GET", "http://"+p.Addr().String()+"/v1/live", nil)
	r.Header.Set("Authorization", "Bearer "+testToken)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1<<16)
	for events := 0; events < 3; {
		n, err := res.Body.Read(buf)
		if events += strings.Count(string(buf[:n]), "event: live"); err != nil {
			t.Fatal(err)
		}
	}
	res.Body.Close()
	for _, c := range slow {
		c.Close()
	}
	if err := p.Close(ctx); err != nil {
		t.Error(err)
	}
}
