package match

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

var seedFlag = flag.Uint64("seed", 0, "the seed of random tests; 0 picks one")

func newRand(t *testing.T) *rand.Rand {
	seed := *seedFlag
	for seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

var start = time.Unix(1_000_000, 0)

// lobby is a queue with a clock.
type lobby struct {
	*testing.T
	q   *Queue
	now time.Time
}

func newLobby(t *testing.T, c Config) *lobby { return &lobby{t, New(c), start} }

func (l *lobby) join(mode string, players int) ID {
	l.Helper()
	id, err := l.q.Join(l.now, Wish{Mode: mode, Players: players})
	if err != nil {
		l.Fatal(err)
	}
	return id
}

// matched returns all groups that are complete, as text.
func (l *lobby) matched() string {
	var list []string
	for g, ok := l.q.Take(); ok; g, ok = l.q.Take() {
		if l.q.Settle(g) {
			list = append(list, fmt.Sprint(g.Mode, g.IDs))
		}
	}
	return strings.Join(list, " ")
}

func (l *lobby) wantMatched(want string) {
	l.Helper()
	if got := l.matched(); got != want {
		l.Errorf("matched %q, want %q", got, want)
	}
}

// after lets time pass, and returns who has waited too long.
func (l *lobby) after(d time.Duration) (out []ID) {
	l.now = l.now.Add(d)
	l.q.HandleTimeout(l.now)
	for id, ok := l.q.PollExpired(); ok; id, ok = l.q.PollExpired() {
		out = append(out, id)
	}
	return out
}

func TestThoseWhoWantTheSameAreMatched(t *testing.T) {
	l := newLobby(t, Config{})
	l.join("duel", 2)
	l.join("race", 2)
	l.join("duel", 3)
	l.wantMatched("")
	l.join("duel", 2)
	l.wantMatched("duel[1 4]")
	l.join("duel", 3)
	l.join("race", 2)
	l.join("duel", 3)
	l.wantMatched("race[2 6] duel[3 5 7]")
	if n := l.q.Len(); n != 0 {
		t.Errorf("%d still wait", n)
	}
}

func TestTheGroupThatWaitsLongestIsFirst(t *testing.T) {
	l := newLobby(t, Config{})
	for _, mode := range []string{"a", "b", "c", "c", "b", "a", "c", "c"} {
		l.join(mode, 2)
	}
	l.wantMatched("a[1 6] b[2 5] c[3 4] c[7 8]")
}

func TestAPlayerWhoHangsUpIsOut(t *testing.T) {
	l := newLobby(t, Config{})
	one := l.join("duel", 2)
	l.q.Leave(one)
	l.q.Leave(one) // a second time is nothing
	l.join("duel", 2)
	l.wantMatched("")
	l.join("duel", 2)
	l.wantMatched("duel[2 3]")
}

// A player who hangs up while its room is opened is out, and the other keeps its place in the line.
func TestAPlayerHangsUpWhileItsRoomIsOpened(t *testing.T) {
	l := newLobby(t, Config{})
	one, two := l.join("duel", 2), l.join("duel", 2)
	g, _ := l.q.Take()
	l.q.Leave(one)
	l.join("duel", 2)
	l.wantMatched("")
	if l.q.Settle(g) {
		t.Error("a group was matched without one of its players")
	}
	l.wantMatched(fmt.Sprintf("duel[%d 3]", two))
	if st := l.q.Stats(); st != (Stats{Joined: 3, Matched: 2, Left: 1}) {
		t.Errorf("%+v", st)
	}
}

func TestAGroupWithoutARoomKeepsItsPlace(t *testing.T) {
	l := newLobby(t, Config{})
	for range 5 {
		l.join("duel", 2)
	}
	first, _ := l.q.Take()
	second, _ := l.q.Take()
	l.q.Restore(second)
	l.join("duel", 2)
	l.q.Restore(first)
	l.wantMatched("duel[1 2] duel[3 4] duel[5 6]")
}

func TestWaitingEnds(t *testing.T) {
	l := newLobby(t, Config{})
	if _, any := l.q.NextTimeout(); any {
		t.Error("an empty queue has a timeout")
	}
	l.join("duel", 2)
	l.after(10 * time.Second)
	l.join("race", 2)
	if at, ok := l.q.NextTimeout(); !ok || !at.Equal(start.Add(30*time.Second)) {
		t.Errorf("the first timeout is at %v", at)
	}
	if out := l.after(20*time.Second - 1); out != nil {
		t.Errorf("%v are out too early", out)
	}
	if out := l.after(1); !slices.Equal(out, []ID{1}) {
		t.Errorf("out are %v, want 1", out)
	}
	l.join("duel", 2)
	l.wantMatched("")
	if out := l.after(30 * time.Second); !slices.Equal(out, []ID{2, 3}) {
		t.Errorf("out are %v, want 2 and 3", out)
	}
	if st := l.q.Stats(); st != (Stats{Joined: 3, Expired: 3}) {
		t.Errorf("%+v", st)
	}
}

func TestTheQueueIsBounded(t *testing.T) {
	l := newLobby(t, Config{MaxWaiting: 5, PerAddress: 2})
	join := func(addr string) error {
		_, err := l.q.Join(l.now, Wish{Mode: "x", Players: 100, From: netip.MustParseAddr(addr)})
		return err
	}
	for _, tt := range []struct {
		addr string
		want error
	}{
		{"10.0.0.1", nil}, {"10.0.0.1", nil}, {"10.0.0.1", ErrCrowd}, {"::ffff:10.0.0.1", ErrCrowd},
		{"2001:db8::1", nil}, {"2001:db8::2", nil}, {"2001:db8::3", ErrCrowd}, {"2001:db8:0:1::3", nil}, {"10.0.0.2", ErrFull},
	} {
		if err := join(tt.addr); !errors.Is(err, tt.want) || tt.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", tt.addr, err, tt.want)
		}
	}
	l.q.Leave(1)
	if err := join("10.0.0.1"); err != nil {
		t.Errorf("after one has left: %v", err)
	}
	for _, w := range []Wish{{Players: 1}, {Players: 0}, {Players: -1}, {Players: 1001}, {Mode: strings.Repeat("x", MaxMode+1), Players: 2}} {
		if _, err := l.q.Join(l.now, w); !errors.Is(err, ErrWish) {
			t.Errorf("%d players of a mode of %d bytes: %v", w.Players, len(w.Mode), err)
		}
	}
}

// Ten thousand players of some modes are matched in the order in which they came.
func TestTenThousandAreMatchedInOrder(t *testing.T) {
	const n = 10_000
	random := newRand(t)
	l := newLobby(t, Config{})
	want := map[string][]ID{}
	for range n {
		mode := fmt.Sprint("mode-", random.IntN(7))
		want[mode] = append(want[mode], l.join(mode, 4))
	}
	var before ID
	matched := 0
	for g, ok := l.q.Take(); ok; g, ok = l.q.Take() {
		if !slices.Equal(g.IDs, want[g.Mode][:4]) || g.IDs[0] < before {
			t.Fatalf("%s: %v is matched, want %v, after %d", g.Mode, g.IDs, want[g.Mode][:4], before)
		}
		before, want[g.Mode] = g.IDs[0], want[g.Mode][4:]
		l.q.Settle(g)
		matched += 4
	}
	if left := l.q.Len(); left >= 4*7 || matched+left != n || len(l.q.lines) > 7 {
		t.Errorf("%d are matched, %d wait in %d lines", matched, left, len(l.q.lines))
	}
}

// Two groups whose players have come by turns are restored in the order in which the players came.
func TestGroupsThatAlternateAreRestoredInOrder(t *testing.T) {
	l := newLobby(t, Config{})
	take := func() Group {
		g, ok := l.q.Take()
		if !ok {
			t.Fatal("there is no group")
		}
		return g
	}
	for range 4 {
		l.join("duel", 2)
	}
	first, second := take(), take()
	l.q.Leave(2)
	l.q.Restore(first)
	l.join("duel", 2)
	mixed := take() // 1 and 5
	l.q.Restore(second)
	l.q.Restore(mixed)
	l.wantMatched("duel[1 3] duel[4 5]")
}

// The queue against a list that is searched from its beginning.
func TestTheQueueIsAList(t *testing.T) {
	random := newRand(t)
	for range 200 {
		l := newLobby(t, Config{Wait: 50, MaxWaiting: 12})
		var list []modelWaiter
		var held []Group
		for step := range 150 {
			switch random.IntN(7) {
			case 0, 1, 2:
				w := Wish{Mode: string(rune('a' + random.IntN(2))), Players: 2 + random.IntN(2)}
				id, err := l.q.Join(l.now, w)
				if (err == nil) != (len(list) < 12) {
					t.Fatalf("step %d: Join with %d in the queue: %v", step, len(list), err)
				}
				if err == nil {
					list = append(list, modelWaiter{id: id, game: game{w.Mode, w.Players}, until: l.now.Add(50)})
				}
			case 3:
				if len(list) == 0 {
					continue
				}
				i := random.IntN(len(list))
				l.q.Leave(list[i].id)
				if list[i].aside {
					list[i].left = true
				} else {
					list = slices.Delete(list, i, i+1)
				}
			case 4:
				g, ok := l.q.Take()
				if want := modelTake(list); !slices.Equal(g.IDs, want) || ok != (want != nil) {
					t.Fatalf("step %d: took %v, want %v", step, g.IDs, want)
				}
				if ok {
					held = append(held, g)
				}
			case 5:
				if len(held) == 0 {
					continue
				}
				i := random.IntN(len(held))
				g := held[i]
				held = slices.Delete(held, i, i+1)
				settle := random.IntN(2) == 0
				if settle {
					whole := !slices.ContainsFunc(list, func(w modelWaiter) bool { return w.left && slices.Contains(g.IDs, w.id) })
					if got := l.q.Settle(g); got != whole {
						t.Fatalf("step %d: Settle is %v", step, got)
					}
					settle = whole
				} else {
					l.q.Restore(g)
				}
				list = slices.DeleteFunc(list, func(w modelWaiter) bool { return slices.Contains(g.IDs, w.id) && (settle || w.left) })
				for i := range list {
					if slices.Contains(g.IDs, list[i].id) {
						list[i].aside = false
					}
				}
			case 6:
				var want []ID
				got := l.after(time.Duration(random.IntN(30)))
				list = slices.DeleteFunc(list, func(w modelWaiter) bool {
					out := !w.aside && !w.until.After(l.now)
					if out {
						want = append(want, w.id)
					}
					return out
				})
				if !slices.Equal(got, want) {
					t.Fatalf("step %d: out are %v, want %v", step, got, want)
				}
			}
			st := l.q.Stats()
			if l.q.Len() != len(list) || st.Joined != st.Matched+st.Left+st.Expired+uint64(st.Waiting) {
				t.Fatalf("step %d: %d wait, want %d: %+v", step, l.q.Len(), len(list), st)
			}
		}
	}
}

type modelWaiter struct {
	id          ID
	game        game
	until       time.Time
	aside, left bool
}

// modelTake finds the next group, and puts it aside.
func modelTake(list []modelWaiter) (group []ID) {
	for _, first := range list {
		var found []int
		for i, w := range list {
			if !w.aside && w.game == first.game && len(found) < w.game.players {
				found = append(found, i)
			}
		}
		if first.aside || len(found) < first.game.players {
			continue
		}
		for _, i := range found {
			list[i].aside = true
			group = append(group, list[i].id)
		}
		return group
	}
	return nil
}

// The cost of a player from Join to Settle, with ten thousand in the queue who wait for other games.
func BenchmarkMatch(b *testing.B) {
	q := New(Config{})
	for i := range 10_000 {
		if _, err := q.Join(start, Wish{Mode: fmt.Sprint(i), Players: 2}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		q.Join(start, Wish{Mode: "duel", Players: 2})
		if g, ok := q.Take(); ok {
			q.Settle(g)
		}
	}
}
