package core

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/promise"
	"parley/simnet"
)

var perfect = simnet.Profile{Delay: 5 * time.Millisecond}

// only returns the events that begin with a word.
func only(events []string, word string) (got []string) {
	for _, ev := range events {
		if strings.HasPrefix(ev, word) {
			got = append(got, ev)
		}
	}
	return got
}

// "Replies on main come in the order of the queries of that code", whatever the order of the
// game's answers.
func TestRepliesOnMainComeInTheOrderOfQueries(t *testing.T) {
	w, x := joined(t, 1, Config{}, perfect)
	var ids []uint32
	w.onEvent = func(c *Conn, ev Event) {
		if ev.Kind == EventQuery {
			ids = append(ids, ev.ID)
		}
	}
	var asked []uint32
	for i := range 4 {
		code, data := uint8(64), []byte{1, byte(i)}
		if i == 2 {
			code, data = 66, nil
		}
		id, err := x.Query(x.host.Now(), Main, code, data)
		if err != nil {
			t.Fatal(err)
		}
		asked = append(asked, id)
	}
	x.run(50 * time.Millisecond)
	if len(ids) != 4 {
		t.Fatalf("the server saw %v", w.log)
	}
	var got []uint32
	x.onEvent = func(ev Event) {
		if ev.Kind == EventReply {
			got = append(got, ev.ID)
		}
	}
	for _, i := range []int{3, 2, 1, 0} {
		var data []byte
		if i != 2 {
			data = fmt.Appendf(nil, "ans%d", i)
		}
		if err := x.conn().Reply(ids[i], 0, data); err != nil {
			t.Fatal(err)
		}
		if err := x.conn().Reply(ids[i], 0, data); !errors.Is(err, ErrNoQuery) {
			t.Errorf("a second reply: %v", err)
		}
		w.server.Poke()
		w.run(20 * time.Millisecond)
	}
	// The one of the other code goes at once, the rest when the first of them is answered.
	if want := []uint32{asked[2], asked[0], asked[1], asked[3]}; !slices.Equal(got, want) {
		t.Errorf("replies to %v came, want %v", got, want)
	}
	if want := []string{"reply 66 on main: status 0, ", "reply 64 on main: status 0, 616e7330", "reply 64 on main: status 0, 616e7331",
		"reply 64 on main: status 0, 616e7333"}; !slices.Equal(only(x.events, "reply"), want) {
		t.Errorf("%q", only(x.events, "reply"))
	}
}

func TestAQueryOnTheFeedIsRepeatedUntilItsReply(t *testing.T) {
	w, x := joined(t, 1, Config{}, perfect)
	w.onEvent = func(c *Conn, ev Event) {
		if ev.Kind == EventQuery {
			if err := c.Reply(ev.ID, 0, ev.Data); err != nil {
				t.Error(err)
			}
		}
	}
	ask := func() (uint32, error) {
		id, err := x.Query(x.host.Now(), Feed, 65, []byte("1234"))
		x.host.Poke()
		return id, err
	}
	if _, err := ask(); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(); !errors.Is(err, ErrBusy) {
		t.Errorf("a second of the same code: %v", err)
	}
	w.run(20 * time.Millisecond)
	if got := only(x.events, "reply"); len(got) != 1 {
		t.Fatalf("%q", got)
	}
	// Answered at once and never repeated: the next may go.
	w.net.Default(simnet.Profile{Loss: 1})
	if _, err := ask(); err != nil {
		t.Fatal(err)
	}
	w.run(500 * time.Millisecond)
	w.net.Default(perfect)
	w.run(time.Second)
	if got := only(x.events, "reply"); len(got) != 2 {
		t.Fatalf("%q", got)
	}
	if got := only(w.log, "query 65 on feed"); len(got) != 2 {
		t.Errorf("the server saw %q", got)
	}
	// It was repeated: another reply may come, so no other goes for a second.
	x2 := len(only(x.events, "reply"))
	w.net.Default(simnet.Profile{Delay: 600 * time.Millisecond})
	w.run(2 * time.Second)
	if _, err := ask(); err != nil {
		t.Fatal(err)
	}
	w.runUntil("a late reply", func() bool { return len(only(x.events, "reply")) > x2 }, 5*time.Second)
	if _, err := ask(); !errors.Is(err, ErrBusy) {
		t.Errorf("right after a repeated one: %v", err)
	}
	stray := x.Stats().Stray
	w.run(990 * time.Millisecond)
	if got := x.Stats().Stray; got == stray {
		t.Error("no second reply was dropped: the test shows nothing")
	}
	if len(only(x.events, "reply")) != x2+1 {
		t.Errorf("%q", only(x.events, "reply"))
	}
	w.run(20 * time.Millisecond)
	if _, err := ask(); err != nil {
		t.Errorf("a second later: %v", err)
	}
}

func TestACancelledQueryIsNotTold(t *testing.T) {
	w, x := joined(t, 1, Config{}, perfect)
	var ids []uint32
	w.onEvent = func(c *Conn, ev Event) {
		if ev.Kind == EventQuery {
			ids = append(ids, ev.ID)
		}
	}
	for _, on := range []Channel{Main, Feed} {
		id, err := x.Query(x.host.Now(), on, 65, []byte("1234"))
		if err != nil {
			t.Fatal(err)
		}
		x.run(20 * time.Millisecond)
		x.Cancel(x.host.Now(), id)
	}
	for i, id := range ids {
		if err := x.conn().Reply(id, 1, []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	w.server.Poke()
	w.run(20 * time.Millisecond)
	if got := only(x.events, "reply"); len(got) != 0 || x.State() != StateOpen {
		t.Errorf("%q, %v", got, x.State())
	}
	// On main the place of the cancelled one was kept: the next reply is the next query's.
	id, _ := x.Query(x.host.Now(), Main, 65, []byte("5678"))
	x.run(20 * time.Millisecond)
	if err := x.conn().Reply(ids[2], 0, []byte("5678")); err != nil {
		t.Fatal(err)
	}
	var got uint32
	x.onEvent = func(ev Event) { got = ev.ID }
	w.server.Poke()
	w.run(20 * time.Millisecond)
	if got != id {
		t.Errorf("the reply is that of query %d, want %d", got, id)
	}
}

func TestQueriesThatMayNotBeSent(t *testing.T) {
	w, x := joined(t, 1, Config{}, perfect)
	for _, tt := range []struct {
		name string
		on   Channel
		code uint8
		data string
		want error
	}{
		{"one that is not idempotent on the feed", Feed, 64, "\x00", ErrNotIdempotent},
		{"an unknown one", Main, 100, "", ErrCode},
		{"a code that is none of a query", Main, 14, "", ErrCode},
		{"a reply", Main, 200, "", ErrCode},
		{"one of a wrong size", Main, 66, "x", ErrSize},
	} {
		if _, err := x.Query(x.host.Now(), tt.on, tt.code, []byte(tt.data)); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	if err := x.Reply(x.host.Now(), 1, 0, nil); !errors.Is(err, ErrNoQuery) {
		t.Errorf("a reply to nothing: %v", err)
	}
	for _, code := range []uint8{CodeSyncOK, 15, 64} {
		if err := x.Signal(x.host.Now(), Main, code); !errors.Is(err, ErrCode) {
			t.Errorf("signal %d: %v", code, err)
		}
	}
	if err := x.conn().e.RequestSync(w.server.Now()); !errors.Is(err, ErrCode) {
		t.Errorf("a server asks for a sync: %v", err)
	}
	y := w.dial(1)
	if err := y.Update(y.host.Now(), 1, noise[:8]); !errors.Is(err, ErrNotJoined) {
		t.Errorf("before joining: %v", err)
	}
}

// T11: a peer that asks and never reads, or is never answered, is bounded and not cut off
// for what the game does not do.
func TestQueriesWithoutAnswersAreBounded(t *testing.T) {
	promise.Keeps(t, "T11", "duplex", 1)
	w, x := joined(t, 1, Config{Resync: -1}, perfect)
	sent := 0
	for ; ; sent++ {
		if _, err := x.Query(x.host.Now(), Main, 66, nil); err != nil {
			if !errors.Is(err, ErrBusy) {
				t.Fatal(err)
			}
			break
		}
	}
	if sent != maxQuestions {
		t.Errorf("%d queries are taken, want %d", sent, maxQuestions)
	}
	// A client that does not keep to that limit: the server stops reading its main.
	for range 3 * maxQuestions {
		if err := x.putMain(&Message{Kind: KindQuery, Code: 66}); err != nil {
			t.Fatal(err)
		}
	}
	x.run(time.Second)
	c := x.conn()
	if len(c.e.owed.list) != maxQuestions || len(x.pipe.toServer.rest) != 3*maxQuestions || c.e.State() != StateOpen {
		t.Errorf("%d are owed, %d bytes are unread, %v", len(c.e.owed.list), len(x.pipe.toServer.rest), c.e.State())
	}
	// As the game answers, it is read on.
	for len(c.e.owed.list) > 0 {
		for len(c.e.owed.list) > 0 {
			if err := c.Reply(c.e.owed.list[0].id, 0, nil); err != nil {
				t.Fatal(err)
			}
			x.asked.main = append(x.asked.main, question{code: 66})
		}
		w.server.Poke()
		w.run(20 * time.Millisecond)
	}
	if got := len(only(w.log, "query")); len(x.pipe.toServer.rest) != 0 || got < 900 && len(w.log) < 1000 {
		t.Errorf("%d bytes are unread, and the server saw %d queries", len(x.pipe.toServer.rest), got)
	}
}
