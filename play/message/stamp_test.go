package message

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"parley/arena"
	"parley/internal/kit/chance"
	"parley/world"
)

var (
	someToken = Token{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	someStamp = Stamp{Number: 7, Tick: 66051, Shown: 66048}
	someFate  = Fate{Tick: 66051, Number: 7, Margin: -2}
	someWorld = World{Seed: 1, TickRate: 20, Tick: 66051, Mode: []byte("duel"), Fingerprint: 0x0102030405060708}
)

// entryCodecs are the messages about getting in, and about inputs that know their tick.
func entryCodecs(t testing.TB, sim *world.Sim) map[string]codec {
	s := sim.Schema()
	throw := s.ActionNamed("throw")
	params := []world.Value{world.FloatValue(world.F32, 1), world.UintValue(world.Entity, 2)}
	pass := func(example []byte) codec {
		return codec{example, func(b []byte) ([]byte, bool) {
			p, err := ParsePass(b)
			switch {
			case err != nil:
				return nil, false
			case p.Kind == PassTicket:
				return p.Ticket, true
			case p.Kind == PassSession:
				return AppendSessionPass(nil, p.Token), true
			}
			return AppendRoomPass(nil, p.Room, p.Name), true
		}, false}
	}
	session := func(o world.Order) codec {
		return codec{Session{someToken, 30}.AppendTo(nil, o), func(b []byte) ([]byte, bool) {
			s, ok := ParseSession(b, o)
			return s.AppendTo(nil, o), ok
		}, false}
	}
	entered := func(o world.Order) codec {
		return codec{someWorld.AppendTo(nil, o), func(b []byte) ([]byte, bool) {
			w, ok := ParseWorld(b, o)
			return w.AppendTo(nil, o), ok
		}, false}
	}
	fate := func(o world.Order, behind []byte) codec {
		return codec{append(someFate.AppendTo(nil, o), behind...), func(b []byte) ([]byte, bool) {
			f, rest, ok := ParseFate(b, o)
			return append(f.AppendTo(nil, o), rest...), ok && (behind != nil || len(rest) == 0)
		}, behind != nil}
	}
	members := func(o world.Order, list ...Member) codec {
		var example []byte
		for _, m := range list {
			example = m.AppendTo(example, o)
		}
		return codec{example, func(b []byte) (again []byte, ok bool) {
			for len(b) > 0 || !ok {
				var m Member
				if m, b, ok = ParseMember(b, o); !ok || len(list) == 1 && len(b) > 0 {
					return nil, false
				}
				again = m.AppendTo(again, o)
			}
			return again, true
		}, len(list) > 1}
	}
	ann, bob := Member{What: MemberJoined, Entity: 258, Name: "ann"}, Member{What: MemberLeft, Name: "bob"}
	vias := func(o world.Order, list ...Member) codec {
		var example []byte
		for _, m := range list {
			example = m.AppendViaTo(example, o)
		}
		return codec{example, func(b []byte) (again []byte, ok bool) {
			for len(b) > 0 || !ok {
				var m Member
				if m, b, ok = ParseMemberVia(b, o); !ok || len(list) == 1 && len(b) > 0 {
					return nil, false
				}
				again = m.AppendViaTo(again, o)
			}
			return again, true
		}, len(list) > 1}
	}
	eve, dan := Member{What: MemberJoined, Entity: 258, Name: "eve", Via: ViaOf("replica", "ws")}, Member{What: MemberHere, Name: "dan", Via: ViaOf("realm", "tls")}
	steer := func(o world.Order) codec {
		return codec{someStamp.AppendTo(AppendSteer(nil, 1, 2, o), o), func(b []byte) ([]byte, bool) {
			st, stamp, stamped, ok := ParseStampedSteer(b, o)
			return stamp.AppendTo(AppendSteer(nil, st.Angle, st.Norm, o), o), ok && stamped && st.HasAngle && st.HasNorm
		}, false}
	}
	record, _ := AppendRecord(nil, ball(t, sim), Big, 100)
	return map[string]codec{
		"pass: a room": pass(AppendRoomPass(nil, "lobby-2", "ann")), "pass: a session": pass(AppendSessionPass(nil, someToken)),
		"replica: `parley.session`": session(Little), "relay: 4 from": session(Big), "duplex: SYNC_MSG of −3": session(Big),
		"replica: `parley.world`": entered(Little), "relay: 7 from": entered(Big), "duplex: SYNC_MSG of −5": entered(Big),
		"replica: `parley.player`": members(Little, ann, bob), "relay: 9 from": members(Big, ann, bob), "duplex: SYNC_MSG of −7": members(Big, ann),
		"replica: `parley.player` with via": vias(Little, eve, dan), "relay: 9 from, with via": vias(Big, eve, dan), "duplex: SYNC_MSG of −8": vias(Big, eve),
		"replica: `parley.tick`": fate(Little, nil), "relay: 8 from": fate(Big, record), "duplex: UPDATE_MSG of −5": fate(Big, AppendElement(nil, ball(t, sim))),
		"replica: `steer` with a stamp": steer(Little), "relay: 0 to, with a stamp": steer(Big),
		"replica: `throw` of a client, with a stamp": {someStamp.AppendTo(AppendParams(nil, throw.Fields, params, Little), Little), func(b []byte) ([]byte, bool) {
			params, stamp, stamped, ok := ParseStampedParams(throw, b, Little)
			return stamp.AppendTo(AppendParams(nil, throw.Fields, params[:2], Little), Little), ok && stamped
		}, false},
		"relay: 1 to, with a stamp": {someStamp.AppendTo(AppendAct(nil, throw, params, Big), Big), func(b []byte) ([]byte, bool) {
			a, params, stamp, stamped, ok := ParseStampedAct(s, b, Big)
			if !ok || !stamped {
				return nil, false
			}
			return stamp.AppendTo(AppendAct(nil, a, params[:len(a.Fields)], Big), Big), true
		}, false},
		"duplex: UPDATE_MSG of −6": {AppendDuplexSteer(nil, someStamp, 1, 2), func(b []byte) ([]byte, bool) {
			stamp, st, ok := ParseDuplexSteer(b)
			return AppendDuplexSteer(nil, stamp, st.Angle, st.Norm), ok && st.HasAngle && st.HasNorm
		}, false},
		"duplex: query 70": {AppendDuplexAct(nil, throw, someStamp, params), func(b []byte) ([]byte, bool) {
			a, stamp, params, ok := ParseDuplexAct(s, b)
			if !ok {
				return nil, false
			}
			return AppendDuplexAct(nil, a, stamp, params[:len(a.Fields)]), true
		}, false},
	}
}

// A pass is a ticket, a room or a session, and everything else is malformed.
func TestPasses(t *testing.T) {
	long := strings.Repeat("a", MaxRoomName)
	for name, tt := range map[string]struct {
		b    []byte
		want Pass
		ok   bool
	}{
		"a ticket as it is":        {[]byte("Tanything"), Pass{Kind: PassTicket, Ticket: []byte("Tanything")}, true},
		"a room":                   {[]byte("R\x04main\x00"), Pass{Kind: PassRoom, Room: "main"}, true},
		"a room and a name":        {[]byte("R\x04main\x03ann"), Pass{Kind: PassRoom, Room: "main", Name: "ann"}, true},
		"the longest room":         {AppendRoomPass(nil, long, ""), Pass{Kind: PassRoom, Room: long}, true},
		"a room with all letters":  {AppendRoomPass(nil, "az-09", ""), Pass{Kind: PassRoom, Room: "az-09"}, true},
		"a session":                {AppendSessionPass(nil, someToken), Pass{Kind: PassSession, Token: someToken}, true},
		"nothing":                  {nil, Pass{}, false},
		"another first byte":       {[]byte("Q\x04main\x00"), Pass{}, false},
		"a room without a name":    {[]byte("R\x00\x00"), Pass{}, false},
		"a room of 33 bytes":       {AppendRoomPass(nil, long+"a", ""), Pass{}, false},
		"a capital":                {AppendRoomPass(nil, "Main", ""), Pass{}, false},
		"a dot":                    {AppendRoomPass(nil, "a.b", ""), Pass{}, false},
		"a room that is no UTF-8":  {AppendRoomPass(nil, "\xff", ""), Pass{}, false},
		"a room with no size":      {[]byte("R\x04main"), Pass{}, false},
		"a byte after the name":    {[]byte("R\x04main\x00\x00"), Pass{}, false},
		"a short token":            {append([]byte("S"), make([]byte, 15)...), Pass{}, false},
		"a long token":             {append([]byte("S"), make([]byte, 17)...), Pass{}, false},
		"a room as long as a ring": {append([]byte("R\xff"), make([]byte, 600)...), Pass{}, false},
	} {
		got, err := ParsePass(tt.b)
		same := got.Kind == tt.want.Kind && bytes.Equal(got.Ticket, tt.want.Ticket) && got.Room == tt.want.Room && got.Name == tt.want.Name && got.Token == tt.want.Token
		if !same || (err == nil) != tt.ok || err != nil && !errors.Is(err, ErrPass) {
			t.Errorf("%s: %x is %+v (%v), want %+v", name, tt.b, got, err, tt.want)
		}
	}
	if IsRoomName("") || IsRoomName(long+"a") || IsRoomName("a b") || !IsRoomName(MainRoom) {
		t.Error("a name is wrongly taken for a room's, or wrongly not")
	}
}

// A stamp is told from no stamp by the size alone, whatever texts are before it.
func TestWithAStampOrWithout(t *testing.T) {
	for n := range 40 {
		_, _, stamped, ok := ParseStampedSteer(make([]byte, n), Big)
		if ok != (n == 8 || n == 8+StampBytes) || stamped != (n == 8+StampBytes) {
			t.Errorf("a steer of %d bytes is read: %v, with a stamp: %v", n, ok, stamped)
		}
	}
	r := chance.Rand(t, 0x57a)
	a := still(t).Schema().ActionNamed("shout")
	for range 500 {
		o := []world.Order{Little, Big}[r.IntN(2)]
		params := [world.MaxParams]world.Value{
			world.UintValue(world.Bool, uint64(r.IntN(2))), world.IntValue(world.I8, int64(int8(r.Uint32()))), world.UintValue(world.U64, r.Uint64()), world.IntValue(world.I32, int64(int32(r.Uint32()))),
			world.FloatValue(world.F32, r.Float64()), world.FloatValue(world.F64, r.Float64()), world.TextValue(strings.Repeat("x", r.IntN(21))), world.UintValue(world.Entity, uint64(r.IntN(32768))),
		}
		want := Stamp{r.Uint32(), r.Uint32(), r.Uint32()}
		plain := AppendParams(nil, a.Fields, params[:], o)
		stampedBytes := want.AppendTo(bytes.Clone(plain), o)
		if _, got, stamped, ok := ParseStampedParams(a, plain, o); !ok || stamped || got != (Stamp{}) {
			t.Fatalf("without a stamp: %x is read: %v, with a stamp: %v", plain, ok, stamped)
		}
		if _, got, stamped, ok := ParseStampedParams(a, stampedBytes, o); !ok || !stamped || got != want {
			t.Fatalf("with a stamp: %x is read: %v, with %+v", stampedBytes, ok, got)
		}
		for n := range len(stampedBytes) {
			if _, _, _, ok := ParseStampedParams(a, stampedBytes[:n], o); ok != (n == len(plain)) {
				t.Fatalf("%d of %d bytes are read: %v", n, len(stampedBytes), ok)
			}
		}
	}
}

// Inputs and fates go each tick: they allocate nothing, in and out.
func TestStampsAllocateNothing(t *testing.T) {
	sim := still(t)
	s := sim.Schema()
	throw := s.ActionNamed("throw")
	var params [2]world.Value
	buf := make([]byte, 0, 1000)
	for name, f := range map[string]func(b []byte, o world.Order){
		"steer": func(b []byte, o world.Order) { ParseStampedSteer(someStamp.AppendTo(AppendSteer(b, 1, 2, o), o), o) },
		"params": func(b []byte, o world.Order) {
			ParseStampedParams(throw, someStamp.AppendTo(AppendParams(b, throw.Fields, params[:], o), o), o)
		},
		"act": func(b []byte, o world.Order) {
			ParseStampedAct(s, someStamp.AppendTo(AppendAct(b, throw, params[:], o), o), o)
		},
		"fate":    func(b []byte, o world.Order) { ParseFate(someFate.AppendTo(b, o), o) },
		"session": func(b []byte, o world.Order) { ParseSession(Session{}.AppendTo(b, o), o) },
		"world":   func(b []byte, o world.Order) { ParseWorld(someWorld.AppendTo(b, o), o) },
		"duplex": func(b []byte, _ world.Order) {
			ParseDuplexSteer(AppendDuplexSteer(b, someStamp, 1, 2))
			ParseDuplexAct(s, AppendDuplexAct(b, throw, someStamp, params[:]))
		},
	} {
		for _, o := range []world.Order{Little, Big} {
			if n := testing.AllocsPerRun(100, func() { f(buf, o) }); n != 0 {
				t.Errorf("%s, %+v: %v allocations", name, o, n)
			}
		}
	}
}

// Actions without parameters are read with a stamp or without.
func TestStampsOfActionsWithoutParameters(t *testing.T) {
	sim, err := world.New(world.Game{Kinds: world.Kinds(arena.Ball{}), Actions: world.Actions(Wait{}), Step: func(*world.World, []world.Input) {}}, world.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := sim.Schema()
	for n := range 40 {
		if _, _, _, stamped, ok := ParseStampedAct(s, make([]byte, n), Big); ok != (n == 2 || n == 2+StampBytes) || stamped != (n == 2+StampBytes) {
			t.Errorf("an act of %d bytes is read: %v", n, ok)
		}
		if _, _, _, ok := ParseDuplexAct(s, make([]byte, n)); ok != (n == 2+StampBytes) {
			t.Errorf("query 70 of %d bytes is read: %v", n, ok)
		}
	}
}
