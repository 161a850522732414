package schema

import (
	"bytes"
	"fmt"
	"testing"

	"parley/play/message"
	"parley/protocol/duplex/core"
	"parley/world"
)

// Crab is a kind with a text between numbers, and Shout an action with the same.
type Crab struct {
	world.Body
	Name string
	Legs uint8
}

type Shout struct {
	Loud uint8
	Text string
	Far  uint16
}

func beach(t *testing.T) *world.Schema {
	t.Helper()
	sim, err := world.New(world.Game{Name: "beach", Kinds: world.Kinds(Crab{}), Actions: world.Actions(Shout{}), Step: func(*world.World, []world.Input) {}}, world.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return sim.Schema()
}

// Each message that a client or a server writes is one of the schema, as a whole, and is cut out of main as it was. No beginning
// of it is, and nothing longer.
func TestTheSizesOfDuplexMessages(t *testing.T) {
	s := beach(t)
	d := Duplex(s)
	shout := s.Actions[0]
	params := []world.Value{world.IntValue(world.U8, 9), world.TextValue("hey"), world.IntValue(world.U16, 300)}
	stamp := message.Stamp{Number: 7, Tick: 66_051, Shown: 66_048}
	crab := append([]byte{1}, message.AppendParams(nil, s.Kinds[0].Fields, crabValues(s), message.Big)...)
	fate := append(message.Fate{Tick: 5, Number: 7, Margin: -2}.AppendTo(nil, message.Big), crab...)
	sync, update, query, reply := core.KindSync, core.KindUpdate, core.KindQuery, core.KindReply
	for _, tt := range []struct {
		name string
		from core.Side
		m    core.Message
	}{
		{"an entity", core.FromServer, core.Message{Kind: sync, SID: 5, Data: crab}},
		{"an entity on the feed", core.FromServer, core.Message{Kind: update, SID: 5, Data: crab}},
		{"a line", core.FromServer, core.Message{Kind: sync, SID: message.DuplexSaid, Data: message.AppendDuplexSaid(nil, "ann", []byte("hi"))}},
		{"a session", core.FromServer, core.Message{Kind: sync, SID: message.DuplexSession, Data: message.Session{Hold: 30}.AppendTo(nil, message.Big)}},
		{"the world", core.FromServer, core.Message{Kind: sync, SID: message.DuplexWorld, Data: message.World{Mode: []byte("duel")}.AppendTo(nil, message.Big)}},
		{"the world without a mode", core.FromServer, core.Message{Kind: sync, SID: message.DuplexWorld, Data: message.World{}.AppendTo(nil, message.Big)}},
		{"a member", core.FromServer, core.Message{Kind: sync, SID: message.DuplexMember, Data: message.Member{What: message.MemberJoined, Entity: 5, Name: "ann"}.AppendTo(nil, message.Big)}},
		{"a member and its via", core.FromServer, core.Message{Kind: sync, SID: message.DuplexVia, Data: message.Member{What: message.MemberJoined, Entity: 5, Name: "ann", Via: 0x11}.AppendViaTo(nil, message.Big)}},
		{"the wish for members with their via", core.FromClient, core.Message{Kind: query, Code: message.DuplexVias}},
		{"the wish for members", core.FromClient, core.Message{Kind: query, Code: message.DuplexRoster}},
		{"a tick", core.FromServer, core.Message{Kind: update, SID: message.DuplexTick, Data: fate}},
		{"a tick without a body", core.FromServer, core.Message{Kind: update, SID: message.DuplexTick, Data: append(fate[:message.FateBytes:message.FateBytes], 0)}},
		{"steering", core.FromClient, core.Message{Kind: update, SID: 5, Data: message.AppendSteer(nil, 1, 2, message.Big)}},
		{"steering with a stamp", core.FromClient, core.Message{Kind: update, SID: message.DuplexSteer, Data: message.AppendDuplexSteer(nil, stamp, 1, 2)}},
		{"the same without a feed", core.FromClient, core.Message{Kind: sync, SID: message.DuplexSteer, Data: message.AppendDuplexSteer(nil, stamp, 1, 2)}},
		{"an action", core.FromClient, core.Message{Kind: query, Code: message.DuplexAct, Data: message.AppendAct(nil, shout, params, message.Big)}},
		{"an action with a stamp", core.FromClient, core.Message{Kind: query, Code: message.DuplexStamped, Data: message.AppendDuplexAct(nil, shout, stamp, params)}},
		{"its reply", core.FromServer, core.Message{Kind: reply, Code: message.DuplexStamped + message.DuplexReply, Status: 5}},
		{"a pass", core.FromClient, core.Message{Kind: query, Code: message.DuplexPass, Data: message.AppendSized(nil, message.AppendRoomPass(nil, "main", "ann"))}},
		{"no pass", core.FromClient, core.Message{Kind: query, Code: message.DuplexPass, Data: message.AppendSized(nil, nil)}},
		{"a good pass", core.FromServer, core.Message{Kind: reply, Code: message.DuplexPass + message.DuplexReply, Data: []byte{0, 9}}},
		{"a bad pass", core.FromServer, core.Message{Kind: reply, Code: message.DuplexPass + message.DuplexReply, Status: 3}},
		{"a session is there", core.FromClient, core.Message{Kind: query, Code: message.DuplexConfirm}},
		{"its reply", core.FromServer, core.Message{Kind: reply, Code: message.DuplexConfirm + message.DuplexReply}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := d.Check(tt.from, &tt.m); err != nil {
				t.Fatalf("%v: %x", err, tt.m.Data)
			}
			for n := range tt.m.Data {
				m := tt.m
				if m.Data = m.Data[:n]; d.Check(tt.from, &m) == nil {
					t.Errorf("the first %d of %d bytes are a message too", n, len(tt.m.Data))
				}
			}
			m := tt.m
			if m.Data = append(bytes.Clone(m.Data), 0); d.Check(tt.from, &m) == nil {
				t.Error("one byte more is a message too")
			}
			if tt.m.Kind == update {
				return
			}
			in, got := core.NewStream(d, tt.from), core.Message{}
			b := tt.m.AppendTo(nil)
			for i := range b {
				_, ok := in.Next(b[i:i+1], &got)
				if ok != (i == len(b)-1) || in.Err() != nil {
					t.Fatalf("byte %d of %d: whole is %t, %v", i, len(b), ok, in.Err())
				}
			}
			if fmt.Sprint(got.SID, got.Status, got.Data) != fmt.Sprint(tt.m.SID, tt.m.Status, tt.m.Data) {
				t.Errorf("got %+v, want %+v", got, tt.m)
			}
		})
	}
	// The update of a SID is not a sync of it.
	for _, m := range []core.Message{{Kind: sync, SID: message.DuplexTick, Data: fate}, {Kind: update, SID: message.DuplexWorld, Data: message.World{}.AppendTo(nil, message.Big)}} {
		if d.Check(core.FromServer, &m) == nil {
			t.Errorf("%v of %d has the form of the other", m.Kind, m.SID)
		}
	}
}

func crabValues(s *world.Schema) []world.Value {
	values := make([]world.Value, len(s.Kinds[0].Fields))
	for i := range values {
		switch f := &s.Kinds[0].Fields[i]; f.Type {
		case world.Text:
			values[i] = world.TextValue("carla")
		case world.F32, world.F64:
			values[i] = world.FloatValue(f.Type, 1)
		default:
			values[i] = world.IntValue(f.Type, 8)
		}
	}
	return values
}
