package core

import (
	"encoding/binary"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
)

// "ok is followed, in this order, by: the chunk that the player's entity is in, entity_create
// for every entity in sight, meta_action player_joined for every player present, the player's
// own entity_create, then player_joined broadcast to all, the newcomer included."
func TestTheOrderOfALogin(t *testing.T) {
	w := newTown(t, kit.Rand(t), Config{Terrain: &flatland{}})
	ann := w.join("ann")
	if got, want := ann.kinds(), []Kind{KindConfig, KindLoginResponse, KindChunksUpdate, KindEntityCreate, KindMetaAction, KindChunksUpdate}; !slices.Equal(got, want) {
		t.Errorf("the first player is told %v, want %v", got, want)
	}
	bob := w.arrive(Config{})
	w.drive()
	bob.client.Login(w.now, "bob", "password of bob")
	w.drive()
	want := []Kind{KindConfig, KindLoginResponse, KindChunksUpdate, KindEntityCreate, KindMetaAction, KindEntityCreate, KindMetaAction, KindChunksUpdate}
	var ids []uint16
	var names []string
	for _, ev := range bob.events {
		switch ev.Message.Kind {
		case KindEntityCreate:
			ids = append(ids, ev.Message.Entity.ID)
		case KindMetaAction:
			names = append(names, string(ev.Message.Name))
		}
	}
	if got := bob.kinds(); !slices.Equal(got, want) {
		t.Errorf("the second player is told %v, want %v", got, want)
	}
	if !slices.Equal(ids, []uint16{1, 2}) || !slices.Equal(names, []string{"ann", "bob"}) {
		t.Errorf("entities %v, players %v", ids, names)
	}
	if got := ann.kinds(); !slices.Equal(got, []Kind{KindMetaAction}) {
		t.Errorf("the first player is told %v of the second", got)
	}
	// The example of the document: entity_destroy, then the player has left.
	bob.client.Close(w.now, ExitClientQuit, "")
	w.drive()
	if got := ann.kinds(); !slices.Equal(got, []Kind{KindMetaAction}) || w.mux.Players() != 1 {
		t.Errorf("the first player is told %v, and %d are in", got, w.mux.Players())
	}
	if w.game.ended[0].Reason != ReasonPeer || w.game.ended[0].Exit != ExitClientQuit {
		t.Error(w.game.ended[0])
	}
}

// The login's answer says which tick it is and when that began, and ticks count on from
// there, across the wrap of their 16 bits.
func TestTicksOfALogin(t *testing.T) {
	w := newTown(t, kit.Rand(t), Config{})
	w.mux.BeginTick(w.now, 1<<16-2)
	ann := w.join("ann")
	for i := range uint64(200_000) {
		if i%1000 != 0 {
			continue
		}
		w.now = townEpoch.Add(time.Duration(i) * 50 * time.Millisecond)
		if got := ann.client.ServerTick(w.now); got != 1<<16-2+i {
			t.Fatalf("%d ticks later it is tick %d", i, got)
		}
		if got, want := ann.client.ServerTime(w.now), w.mux.Unix(w.now); got != want {
			t.Fatalf("the client's time is %d, the server's %d", got, want)
		}
	}
}

func TestTicksOfTheClock(t *testing.T) {
	m := NewMux(townEpoch, Config{TickRate: 60}, &Shared{})
	for _, tt := range []struct {
		after time.Duration
		want  uint64
	}{{0, 0}, {16 * time.Millisecond, 0}, {17 * time.Millisecond, 1}, {time.Second, 60}, {time.Hour, 216_000}} {
		if got := m.Tick(townEpoch.Add(tt.after)); got != tt.want {
			t.Errorf("after %v it is tick %d, want %d", tt.after, got, tt.want)
		}
	}
}

// "older ones and ones more than 2 ticks ahead are refused (counted)".
func TestTicksThatAreTooFarAreRefused(t *testing.T) {
	w := newTown(t, kit.Rand(t), Config{})
	ann := w.join("ann")
	const now = 100_000
	w.mux.BeginTick(w.now, now)
	for _, tt := range []struct {
		tick int
		kind EventKind
	}{{now, EventMessage}, {now + 2, EventMessage}, {now + 3, EventRefused}, {now - 20, EventMessage}, {now - 21, EventRefused},
		{now + 32767, EventRefused}, {now - 32768, EventRefused}} {
		for _, m := range []Message{{Kind: KindEntityUpdate, Entity: Entity{ID: 1}}, {Kind: KindActionDo, Action: Action{ID: 7}}} {
			m.Tick = uint16(tt.tick)
			w.game.messages = nil
			ann.up = testCodec.AppendTo(nil, &m)
			w.drive()
			if len(w.game.messages) != 1 || w.game.messages[0].Kind != tt.kind || w.game.messages[0].Tick != uint64(tt.tick) {
				t.Errorf("%v of tick %d: %+v, want %v", m.Kind, tt.tick, w.game.messages, tt.kind)
			}
		}
	}
	if got := ann.conn.Stats(); got.Refused != 8 || got.Check() != nil || w.mux.Traffic().Refused != 8 {
		t.Errorf("%+v, %+v", got, w.mux.Stats())
	}
}

// A game that is behind the clock, in a long tick or while it catches up, is sent what its players do
// now, which is ahead of it; and still what it can go back to. Who enters meanwhile counts as the
// others do.
func TestAGameThatIsBehindHearsItsPlayers(t *testing.T) {
	w := newTown(t, kit.Rand(t), Config{})
	const tick, late = 100_000, 60
	began := w.now
	w.mux.BeginTick(began, tick)
	ann := w.join("ann")
	send := func(who *person, tick int) EventKind {
		w.game.messages = nil
		who.up = testCodec.AppendTo(nil, &Message{Kind: KindActionDo, Action: Action{ID: 7}, Tick: uint16(tick)})
		w.drive()
		if len(w.game.messages) != 1 || w.game.messages[0].Tick != uint64(tick) {
			t.Fatalf("tick %d: %+v", tick, w.game.messages)
		}
		return w.game.messages[0].Kind
	}
	w.now = began.Add(late * 50 * time.Millisecond)
	for world := tick; world <= tick+late; world += 20 { // it catches up with the clock
		w.mux.BeginTick(began.Add(time.Duration(world-tick)*50*time.Millisecond), uint64(world))
		who := ann
		if world == tick+20 {
			who = w.join("bob")
			if got := who.client.ServerTick(w.now); uint16(got) != uint16(world&0xffff) {
				t.Errorf("the response told tick %d, and what follows is of %d", got, world)
			}
			clock := who.client.Clock() // the time server says how far the world is behind
			clock.HandleAnswer(w.now, binary.BigEndian.AppendUint64(clock.AppendQuestion(w.now, Version10, nil), w.mux.Unix(w.now)))
		}
		if got := who.client.ServerTick(w.now); uint16(got) != uint16((tick+late)&0xffff) {
			t.Errorf("at tick %d of the world a client counts %d", world, got)
		}
		for _, tt := range []struct {
			tick int
			kind EventKind
		}{{tick + late, EventMessage}, {tick + late + 2, EventMessage}, {tick + late + 3, EventRefused},
			{world - 20, EventMessage}, {world - 21, EventRefused}} {
			if got := send(who, tt.tick); got != tt.kind {
				t.Errorf("at tick %d of the world and %d of the clock, %d is %v, want %v", world, tick+late, tt.tick, got, tt.kind)
			}
		}
	}
}

// T19: what a limit refuses has no effect, and is counted: chat beyond the rate reaches nobody.
func TestChatBeyondTheRateReachesNobody(t *testing.T) {
	r := kit.Rand(t)
	for range promise.Keeps(t, "T19", "realm", kit.Rounds(10_000, 10_000)) {
		rate := 1 + r.IntN(5)
		w := newTown(t, r, Config{ChatRate: rate})
		ann, bob := w.join("ann"), w.join("bob")
		bob.events = nil
		sent, began := 0, w.now
		for range 40 {
			if err := ann.client.Send(w.now, &Message{Kind: KindChatSend, Text: []byte("hello")}); err != nil {
				t.Fatal(err)
			}
			sent++
			w.drive()
			w.now = w.now.Add(time.Duration(r.IntN(300)) * time.Millisecond)
		}
		got := len(bob.kinds())
		limit := rate + int(w.now.Sub(began)*time.Duration(rate)/time.Second) + 1
		stats := ann.conn.Stats()
		if got > limit || got+int(stats.ChatFast) != sent || w.mux.Traffic().ChatFast != stats.ChatFast || got < min(sent, rate) || stats.Check() != nil {
			t.Fatalf("%d of %d arrived at a rate of %d in %v: %+v", got, sent, rate, w.now.Sub(began), stats)
		}
	}
}

func TestChatIsJudged(t *testing.T) {
	w := newTown(t, kit.Rand(t), Config{})
	ann, bob := w.join("ann"), w.join("bob")
	bob.events = nil
	for _, text := range []string{"", "x", strings.Repeat("y", 512)} {
		ann.client.Send(w.now, &Message{Kind: KindChatSend, Text: []byte(text)})
	}
	w.drive()
	if got := bob.kinds(); len(got) != 2 || ann.conn.endpoint.State() != StatePlaying {
		t.Errorf("%v arrived, and the speaker is %v", got, ann.conn.endpoint.State())
	}
	ann.client.Send(w.now, &Message{Kind: KindChatSend, Text: make([]byte, 513)})
	w.drive()
	if c, over := ann.client.Over(); !over || c.Exit != ExitNetworkError || !c.Remote {
		t.Error(c)
	}
}

// OwnChat leaves it to the game.
func TestOwnChat(t *testing.T) {
	w := newTown(t, kit.Rand(t), Config{OwnChat: true})
	ann := w.join("ann")
	ann.events = nil
	ann.client.Send(w.now, &Message{Kind: KindChatSend, Text: []byte("x")})
	w.drive()
	if got := ann.kinds(); len(got) != 0 || len(w.game.messages) != 1 {
		t.Errorf("%v arrived, %d were told", got, len(w.game.messages))
	}
}

// Questions are answered in their order, however late, and one at a time.
func TestQuestionsAreAnsweredInOrder(t *testing.T) {
	w := newTown(t, kit.Rand(t), Config{})
	p := w.arrive(Config{})
	w.drive()
	w.hold = true
	p.client.Register(w.now, "fay", "password of fay")
	p.client.Login(w.now, "fay", "wrong")
	p.client.Register(w.now, "ann", "password")
	p.client.Login(w.now, "fay", "password of fay")
	p.client.Login(w.now, "fay", "password of fay")
	w.drive()
	for range 5 {
		if len(w.slow) > 1 {
			t.Fatalf("%d questions of one connection at once", len(w.slow))
		}
		w.release()
		w.drive()
	}
	var got []string
	for _, ev := range p.events {
		switch ev.Kind {
		case EventRegistered:
			got = append(got, RegisterCode(ev.Message.Code).String())
		case EventLoggedIn:
			got = append(got, LoginCode(ev.Message.Code).String())
		}
	}
	want := []string{"ok", "wrong_password", "used_pseudo", "ok", "already_connected"}
	if !slices.Equal(got, want) || p.client.State() != StatePlaying {
		t.Errorf("%v, %v", got, p.client.State())
	}
}

func TestTheServerIsFull(t *testing.T) {
	w := newTown(t, kit.Rand(t), Config{MaxPlayers: 1})
	w.join("ann")
	p := w.arrive(Config{})
	w.drive()
	p.client.Login(w.now, "bob", "password of bob")
	w.drive()
	if ev, ok := p.last(EventLoggedIn); !ok || LoginCode(ev.Message.Code) != LoginPlayerLimitReached || p.client.State() != StateLobby {
		t.Errorf("%+v", ev)
	}
}

// T31: who does not log in makes room for who comes later.
func TestACrowdKeepsNobodyOut(t *testing.T) {
	promise.Keeps(t, "T31", "realm", 1)
	w := newTown(t, kit.Rand(t), Config{MaxWaiting: 10, MaxPlayers: 200})
	for i := range 100 {
		w.arrive(Config{})
		if i%10 == 0 {
			w.drive()
		}
		if w.mux.waiting > 10 {
			t.Fatalf("%d wait", w.mux.waiting)
		}
	}
	w.join("ann")
	w.drive()
	if got := w.mux.Stats(); got.Crowded != 91 || got.Players != 1 || got.Waiting != 9 {
		t.Errorf("%+v", got)
	}
}

func TestVersions(t *testing.T) {
	for _, tt := range []struct {
		version uint16
		exit    ExitCode
		open    bool
	}{{9, 0, true}, {10, 0, true}, {8, ExitClientOutdated, false}, {1, ExitClientOutdated, false}, {11, ExitServerOutdated, false}, {65535, ExitServerOutdated, false}} {
		w := newTown(t, kit.Rand(t), Config{})
		p := w.arrive(Config{Version: tt.version})
		w.drive()
		c, over := p.client.Over()
		if over == tt.open || over && (c.Exit != tt.exit || !c.Remote) || tt.open && p.conn.Version() != tt.version {
			t.Errorf("version %d: %v, over %t", tt.version, c, over)
		}
	}
}

// "5 s without a message: ping. 10 s: exit 3 and close."
func TestPings(t *testing.T) {
	w := newTown(t, kit.Rand(t), Config{})
	ann := w.join("ann")
	w.advance(time.Minute)
	if ann.conn.endpoint.State() != StatePlaying || ann.client.State() != StatePlaying {
		t.Fatalf("%v and %v after a minute", ann.conn.endpoint.State(), ann.client.State())
	}
	// Each side pings after 5 s of silence, and the answer keeps both for 5 s more.
	if got := ann.conn.Stats(); got.In < 12 || got.In > 40 {
		t.Errorf("%d messages came in a minute of silence", got.In)
	}
	// Silence of the client.
	ann.ended = true
	began := w.now
	for ann.conn.endpoint.State() == StatePlaying {
		at, ok := w.mux.NextTimeout()
		if !ok {
			t.Fatal("no timeout")
		}
		w.now = at
		w.mux.HandleTimeout(w.now)
		w.events()
		for _, _, ok := w.mux.PollBytes(w.buf[:]); ok; _, _, ok = w.mux.PollBytes(w.buf[:]) {
		}
	}
	w.events()
	if c := w.game.ended[0]; c.Reason != ReasonTimeout || c.Exit != ExitPingTimeout {
		t.Error(c)
	}
	if d := w.now.Sub(began); d > 10*time.Second {
		t.Errorf("it took %v", d)
	}
}

// T38: "A connection that has not sent version within 5 s, or not logged in within 60 s, is
// closed", however it trickles.
func TestDeadlines(t *testing.T) {
	promise.Keeps(t, "T38", "realm", 1)
	w := newTown(t, kit.Rand(t), Config{})
	silent := w.arrive(Config{})
	silent.ended = true
	w.advance(4999 * time.Millisecond)
	if silent.conn.endpoint.State() != StateOpening {
		t.Errorf("%v after 4.999 s", silent.conn.endpoint.State())
	}
	w.advance(time.Millisecond)
	if silent.closed != 1 {
		t.Error("not closed after 5 s")
	}
	idle := w.arrive(Config{})
	began := w.now
	w.advance(59 * time.Second)
	if idle.conn.endpoint.State() != StateLobby {
		t.Errorf("%v after 59 s", idle.conn.endpoint.State())
	}
	w.advance(time.Second)
	if idle.closed != 1 || w.now.Sub(began) != time.Minute {
		t.Error("not closed after 60 s")
	}
	for _, c := range w.game.ended {
		if c.Reason != ReasonSlow || c.Exit != ExitNetworkError {
			t.Error(c)
		}
	}
	// One byte of a login every 9 s is no message: the connection times out.
	trickle := w.arrive(Config{})
	w.drive()
	login := testCodec.AppendTo(nil, &Message{Kind: KindLogin, Name: []byte("ann"), Password: []byte("password of ann")})
	trickle.client.heard = w.now.Add(time.Hour) // it does not ping by itself
	trickle.client.pinged = true
	trickle.deaf = true
	for _, b := range login {
		w.mux.HandleBytes(w.now, trickle.conn, []byte{b})
		w.advance(9 * time.Second)
	}
	if trickle.closed != 1 {
		t.Errorf("a trickle is %v", trickle.conn.endpoint.State())
	}
}

func TestTemporaryIDs(t *testing.T) {
	w := newTown(t, kit.Rand(t), Config{})
	ann := w.join("ann")
	seen := map[uint16]bool{}
	for range 1000 {
		id, ok := ann.client.Temporary()
		if !ok || id < FirstTemporary || seen[id] {
			t.Fatal(id, ok)
		}
		seen[id] = true
	}
	if id, ok := ann.client.Temporary(); ok {
		t.Fatalf("%d is given twice", id)
	}
	if err := ann.conn.ChangeID(64700, 600); err != nil {
		t.Fatal(err)
	}
	w.drive()
	if id, ok := ann.client.Temporary(); !ok || id != 64700 {
		t.Error(id, ok)
	}
	ann.client.ReleaseTemporary(64701)
	if id, ok := ann.client.Temporary(); !ok || id != 64701 {
		t.Error(id, ok)
	}
	for _, err := range []error{ann.conn.ChangeID(600, 700), ann.conn.ChangeID(64700, 64701),
		ann.conn.Send(&Message{Kind: KindEntityCreate, Entity: Entity{ID: FirstTemporary}})} {
		if !errors.Is(err, ErrTemporary) {
			t.Error(err)
		}
	}
	// A server that gives one breaks the rules.
	ann.down = testCodec.AppendTo(nil, &Message{Kind: KindEntityCreate, Entity: Entity{ID: FirstTemporary}})
	w.drive()
	if c, over := ann.client.Over(); !over || c.Reason != ReasonProtocol {
		t.Error(c)
	}
}

// What is a client's a server does not have, and what both have is the same.
func TestAClientsCallsAtAServer(t *testing.T) {
	w := newTown(t, kit.Rand(t), Config{TimeServerPort: 9998, MaxRollbackTicks: 7})
	ann := w.join("ann")
	if _, ok := ann.conn.endpoint.Temporary(); ok || ann.conn.endpoint.Clock() != nil || ann.conn.endpoint.Login(w.now, "", "") != ErrKind || ann.conn.endpoint.Register(w.now, "", "") != ErrKind {
		t.Error("a server acts as a client")
	}
	ann.conn.endpoint.ReleaseTemporary(FirstTemporary)
	w.now = w.now.Add(time.Minute)
	if a, b := ann.client, ann.conn; a.TimeServerPort() != b.endpoint.TimeServerPort() || a.MaxRollbackTicks() != b.endpoint.MaxRollbackTicks() ||
		a.ServerTime(w.now) != b.endpoint.ServerTime(w.now) || a.ServerTick(w.now) != b.endpoint.ServerTick(w.now) || a.TimeServerPort() != 9998 || a.MaxRollbackTicks() != 7 {
		t.Errorf("%d, %d, %d, %d and %d, %d, %d, %d", a.TimeServerPort(), a.MaxRollbackTicks(), a.ServerTime(w.now), a.ServerTick(w.now),
			b.endpoint.TimeServerPort(), b.endpoint.MaxRollbackTicks(), b.endpoint.ServerTime(w.now), b.endpoint.ServerTick(w.now))
	}
}

func TestWhatAProgramMayNotSend(t *testing.T) {
	w := newTown(t, kit.Rand(t), Config{})
	ann := w.join("ann")
	early := w.arrive(Config{})
	w.drive()
	big, _ := testCodec.Attributes(slices.Repeat([]Attribute{{109, Str(make([]byte, 60000))}}, 18)...)
	for name, tt := range map[string]struct{ got, want error }{
		"a login by Send":         {ann.client.Send(w.now, &Message{Kind: KindLogin}), ErrKind},
		"an exit by Send":         {ann.conn.Send(&Message{Kind: KindExit}), ErrKind},
		"a server's by a client":  {ann.client.Send(w.now, &Message{Kind: KindChatReceive}), ErrKind},
		"a client's by a server":  {ann.conn.Send(&Message{Kind: KindChatSend}), ErrKind},
		"chat before the login":   {early.client.Send(w.now, &Message{Kind: KindChatSend, Text: []byte("x")}), ErrState},
		"to who is not in":        {early.conn.Send(&Message{Kind: KindEntityDestroy}), ErrState},
		"a login in the game":     {ann.client.Login(w.now, "ann", "x"), ErrState},
		"no such action":          {ann.client.Send(w.now, &Message{Kind: KindActionDo, Action: Action{ID: 9}}), ErrValue},
		"a bad text":              {ann.client.Send(w.now, &Message{Kind: KindChatSend, Text: []byte{0xff}}), ErrValue},
		"a meta action of code 2": {ann.conn.Send(&Message{Kind: KindMetaAction, Code: 2}), ErrValue},
		"more than 1 MiB":         {ann.client.Send(w.now, &Message{Kind: KindEntityUpdate, Entity: Entity{Has: HasObject, Attributes: big}}), ErrTooLarge},
	} {
		if !errors.Is(tt.got, tt.want) {
			t.Errorf("%s: %v, want %v", name, tt.got, tt.want)
		}
	}
	if reflect.DeepEqual(ann.conn.endpoint.State(), StateClosed) {
		t.Error("a mistake ended the connection")
	}
	ann.client.Close(w.now, ExitClientQuit, "")
	if err := ann.client.Send(w.now, &Message{Kind: KindChatSend, Text: []byte("x")}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestCloses(t *testing.T) {
	for _, code := range []ExitCode{ExitServerClosed, ExitClientKicked, ExitClientBanned} {
		w := newTown(t, kit.Rand(t), Config{})
		ann := w.join("ann")
		ann.conn.Send(&Message{Kind: KindChatReceive, Text: []byte("last words")})
		ann.events = nil
		ann.conn.Close(code, "because")
		w.drive()
		c, _ := ann.client.Over()
		if got := ann.kinds(); !slices.Equal(got, []Kind{KindChatReceive}) || c.Exit != code || !c.Remote || c.Reason != ReasonPeer || w.mux.Len() != 0 {
			t.Errorf("%v: told %v, ended %v", code, got, c)
		}
	}
	w := newTown(t, kit.Rand(t), Config{})
	ann := w.join("ann")
	w.mux.Shutdown(w.now, "")
	late := w.arrive(Config{})
	w.drive()
	for _, p := range []*person{ann, late} {
		if c, over := p.client.Over(); !over || c.Exit != ExitServerClosed {
			t.Error(c)
		}
	}
}
