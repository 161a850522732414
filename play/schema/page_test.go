package schema

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"parley/internal/pagetest"
	"parley/play/message"
	duplex "parley/protocol/duplex/core"
	realm "parley/protocol/realm/core"
	replica "parley/protocol/replica/core"
	"parley/world"
)

// The game of the page: a chest with slots, and an action that moves what is in one to another.
type (
	Slot struct {
		Item  uint8
		Count uint16
	}
	Chest struct {
		Lid   struct{ Open bool }
		Slots [2]Slot
		Owner world.ID
	}
	Spot struct {
		Chest world.ID
		Slot  uint8
	}
	Move struct{ From, To Spot }
)

// vault is a world with one chest, and the chest as a view tells of it.
func vault(t *testing.T) (*world.Schema, *world.Change) {
	t.Helper()
	sim, err := world.New(world.Game{
		Name: "vault", Kinds: world.Kinds(Chest{}), Actions: world.Actions(Move{}), Step: func(*world.World, []world.Input) {},
		Setup: func(w *world.World) {
			c := Chest{Slots: [2]Slot{{3, 300}, {4, 1}}}
			c.Lid.Open = true
			world.Spawn(w, c)
		},
	}, world.Config{})
	if err != nil {
		t.Fatal(err)
	}
	sim.Advance()
	v := sim.NewView(0, world.ViewConfig{Radius: -1})
	v.Update()
	c := v.Next()
	if c == nil {
		t.Fatal("nobody sees the chest")
	}
	return sim.Schema(), c
}

// The bytes of the page are those that servers and clients write, and are read as what was written.
func TestTheExamplesOfArraysAndStructs(t *testing.T) {
	s, c := vault(t)
	k, a := c.Kind, s.Actions[0]
	move := []world.Value{world.UintValue(world.Entity, 1), world.UintValue(world.U8, 0), world.UintValue(world.Entity, 7), world.UintValue(world.U8, 1)}
	codec := realm.NewCodec(Realm(s, 0))
	var raw []byte
	var attributes []realm.Attribute
	for i := range k.Fields {
		attributes = append(attributes, realm.Attribute{ID: k.Fields[i].Attr, Value: ToRealm(&k.Fields[i], c.Value(i), &raw)})
	}
	pairs, err := codec.Attributes(attributes...)
	if err != nil {
		t.Fatal(err)
	}
	block := realm.Entity{ID: c.Entity, Has: realm.HasType | realm.HasObject, Type: uint16(k.Number), Attributes: pairs}
	var params []realm.Value
	for i := range a.Fields {
		params = append(params, ToRealm(&a.Fields[i], move[i], &raw))
	}
	done, err := codec.Action(uint16(a.Number), params...)
	if err != nil {
		t.Fatal(err)
	}
	realmBytes := func(m *realm.Message, from realm.Side) []byte {
		b := codec.AppendTo(nil, m)
		var got realm.Message
		if err := codec.ParseErr(from, b, &got); err != nil || !bytes.Equal(codec.AppendTo(nil, &got), b) {
			t.Errorf("%x: %v", b, err)
		}
		return b[3:] // the type and the tick
	}
	var table replica.TableWriter
	table.Start(nil, &replica.Packet{Kind: replica.KindLinkTable, Reliable: true, Ordered: true}, 1200)
	for i, v := range Replica(k) {
		table.Add(uint16(k.Index()), k.Name, uint8(i), v.Type, v.Name)
	}
	const count1 = 4
	at, _ := message.VariableOf(k, count1)
	var values replica.ReplicateWriter
	values.Start(nil, &replica.Packet{Kind: replica.KindReplicate, Reliable: true}, 1200)
	values.Add(uint16(k.Index()), uint16(at), 5, message.AppendVariable(nil, c, count1))
	record := func(o world.Order) []byte {
		b, _ := message.AppendRecord(nil, c, o, 100)
		return b
	}
	element := message.AppendElement(nil, c)
	if err := Duplex(s).Check(duplex.FromServer, &duplex.Message{Kind: duplex.KindSync, SID: 1, Data: element}); err != nil {
		t.Error(err)
	}
	all := map[string][]byte{
		"replica: the kind in the link table": table.Bytes()[8:],
		"replica: a value in a replicate":     values.Bytes()[14:],
		"replica: `move` of a client":         message.AppendParams(nil, a.Fields, move, message.Little),
		"stamp: a record":                     record(message.Little),
		"relay: a record":                     record(message.Big),
		"relay: 1 to":                         message.AppendAct(nil, a, move, message.Big),
		"duplex: SYNC_MSG of an entity":       element,
		"duplex: query 64":                    message.AppendAct(nil, a, move, message.Big),
		"realm: `entity_create`":              realmBytes(&realm.Message{Kind: realm.KindEntityCreate, Entity: block}, realm.FromServer),
		"realm: `action_do`":                  realmBytes(&realm.Message{Kind: realm.KindActionDo, Action: done}, realm.FromClient),
	}
	page := pagetest.Tables(t, "../../docs/gateway.md")["Arrays and nested structs"]
	for name, want := range all {
		found := false
		for _, row := range page {
			if row["message"] != name {
				continue
			}
			found = true
			got, err := hex.DecodeString(strings.NewReplacer(" ", "", "`", "").Replace(row["bytes"]))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: we write %x, and the page has %x (%v)", name, want, got, err)
			}
		}
		if !found {
			t.Errorf("the page is without %s: %x", name, want)
		}
	}
	// Both orders of records are read as the values of the view.
	for _, o := range []world.Order{message.Little, message.Big} {
		for rec := range message.Records(record(o), o) {
			got := make([]world.Value, len(k.Fields))
			rest, ok := message.ParseFields(got, k.Fields, rec.Fields, o)
			if !ok || len(rest) > 0 || fmt.Sprint(got) != fmt.Sprint([]any{"true", "3", "300", "4", "1", "0"}) {
				t.Errorf("%x is read as %v, %v", rec.Fields, got, ok)
			}
		}
	}
}
