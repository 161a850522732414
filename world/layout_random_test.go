package world_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"parley/internal/kit/chance"
	"parley/play/message"
	"parley/play/schema"
	duplex "parley/protocol/duplex/core"
	realm "parley/protocol/realm/core"
	"parley/world"
)

// A choice makes types of bytes: random ones, or those of the fuzzer.
type choice struct{ b []byte }

func (c *choice) intN(n int) int {
	if len(c.b) == 0 {
		return 0
	}
	v := int(c.b[0]) % n
	c.b = c.b[1:]
	return v
}

var (
	goodLeaves = []reflect.Type{
		reflect.TypeFor[bool](), reflect.TypeFor[int8](), reflect.TypeFor[int16](), reflect.TypeFor[int32](), reflect.TypeFor[int64](), reflect.TypeFor[uint8](),
		reflect.TypeFor[uint16](), reflect.TypeFor[uint32](), reflect.TypeFor[uint64](), reflect.TypeFor[float32](), reflect.TypeFor[float64](), reflect.TypeFor[string](), reflect.TypeFor[world.ID](),
	}
	badLeaves = []reflect.Type{
		reflect.TypeFor[int](), reflect.TypeFor[uint](), reflect.TypeFor[uintptr](), reflect.TypeFor[*int8](), reflect.TypeFor[[]uint8](), reflect.TypeFor[map[int8]int8](),
		reflect.TypeFor[chan int8](), reflect.TypeFor[func()](), reflect.TypeFor[any](), reflect.TypeFor[complex64](), reflect.TypeFor[world.Body](),
	}
)

// structOf returns a struct with fields up to a depth. Bad ones have types and tags that are refused.
func (c *choice) structOf(depth, most int, hidden, bad bool) reflect.Type {
	var fields []reflect.StructField
	for i := range c.intN(most) + 1 {
		f := reflect.StructField{Name: string(rune('A' + i))}
		f.Type = c.typeOf(depth, hidden, bad)
		leaf := f.Type
		for leaf.Kind() == reflect.Array {
			leaf = leaf.Elem()
		}
		switch n := c.intN(4); {
		case bad && n == 0:
			f.Tag = reflect.StructTag("parley:" + strconv.Quote(c.tag()))
		case leaf.Kind() == reflect.String:
			f.Tag = reflect.StructTag(fmt.Sprintf(`parley:"max=%d"`, n+1))
		case n == 0 && (leaf.Kind() == reflect.Float32 || leaf.Kind() == reflect.Float64):
			f.Tag = `parley:"q=0.25,min=-20,max=20"`
		case n == 1:
			f.Tag = reflect.StructTag(fmt.Sprintf(`parley:"name=%s%d"`, strings.ToLower(f.Name), i))
		}
		if hidden && c.intN(5) == 0 {
			f.Name, f.PkgPath = strings.ToLower(f.Name), "parley/world"
		}
		fields = append(fields, f)
	}
	return reflect.StructOf(fields)
}

// tag returns a tag that may be good: known parts, or any bytes.
func (c *choice) tag() string {
	parts := []string{"name=", "attr=", "max=", "min=", "q=", "countdown", "kind=", "action=", "speed=", "cap=", "angle=", "norm=", ""}
	n := c.intN(12)
	text := c.b[:min(len(c.b), n)]
	c.b = c.b[len(text):]
	return parts[c.intN(len(parts))] + string(text)
}

func (c *choice) typeOf(depth int, hidden, bad bool) reflect.Type {
	switch n := c.intN(8); {
	case bad && n == 7:
		return badLeaves[c.intN(len(badLeaves))]
	case depth > 0 && n == 0:
		return c.structOf(depth-1, 3, hidden, bad)
	case depth > 0 && n <= 2:
		return reflect.ArrayOf(c.intN(4), c.typeOf(depth-1, hidden, bad))
	}
	return goodLeaves[c.intN(len(goodLeaves))]
}

// A leaf is a value as a walk by reflection finds it, which knows nothing of how the world does it.
type leaf struct{ name, value string }

func leavesOf(v reflect.Value, name string, secret bool, out *[2][]leaf) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			part := strings.ToLower(f.Name)
			if _, tag, ok := strings.Cut(f.Tag.Get("parley"), "name="); ok {
				part = tag
			}
			leavesOf(v.Field(i), strings.TrimPrefix(name+"."+part, "."), secret || !f.IsExported(), out)
		}
		return
	case reflect.Array:
		for i := range v.Len() {
			leavesOf(v.Index(i), fmt.Sprintf("%s[%d]", name, i), secret, out)
		}
		return
	}
	text := ""
	switch {
	case v.Kind() == reflect.Bool:
		text = strconv.FormatBool(v.Bool())
	case v.Kind() == reflect.String:
		text = strconv.Quote(v.String())
	case v.CanInt():
		text = strconv.FormatInt(v.Int(), 10)
	case v.CanUint():
		text = strconv.FormatUint(v.Uint(), 10)
	default:
		text = strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits())
	}
	which := 0
	if secret {
		which = 1
	}
	out[which] = append(out[which], leaf{name, text})
}

// randomValue returns a value for a field. n is the source.
func randomValue(f *world.Field, n func(int) int, ids []world.ID) world.Value {
	bits := uint64(n(1<<31)) << 33 >> n(64)
	switch f.Type {
	case world.Bool:
		return world.UintValue(f.Type, bits&1)
	case world.Text:
		return world.TextValue(strings.Repeat("é", f.Max/2)[:n(f.Max/2+1)*2])
	case world.F32, world.F64:
		return world.FloatValue(f.Type, float64(n(1<<20)-1<<19)/1000)
	case world.Entity:
		if len(ids) == 0 {
			return world.UintValue(f.Type, 0)
		}
		return world.UintValue(f.Type, uint64(ids[n(len(ids))]))
	case world.I8, world.I16, world.I32, world.I64:
		shift := 64 - 8*f.Type.Bytes()
		return world.IntValue(f.Type, int64(bits<<shift)>>shift)
	}
	return world.UintValue(f.Type, bits&(1<<(8*f.Type.Bytes())-1))
}

// randomGame is a game of random structs. Each step changes some fields, spawns and despawns.
func randomGame(kinds, actions []reflect.Type) (world.Game, error) {
	change := func(w *world.World, r world.Row, ids []world.ID) {
		n := func(n int) int { return w.Random().IntN(n) }
		visible, hidden := r.Fields()
		for _, fields := range [...][]world.Field{visible, hidden} {
			for i := range fields {
				if n(3) > 0 {
					r.Set(&fields[i], randomValue(&fields[i], n, ids))
				}
			}
		}
	}
	g := world.Game{Name: "random", Kinds: world.KindsOf(kinds...), Actions: world.ActionsOf(actions...)}
	g.Step = func(w *world.World, in []world.Input) {
		for i := range in {
			if in[i].Kind == world.Act {
				world.Accept(&in[i])
			}
		}
		if n := w.Random().IntN(4); n < len(kinds) && len(world.RowsOf(w)) < 6 {
			world.SpawnOf(w, n)
		}
		rows := world.RowsOf(w)
		if len(rows) > 3 && w.Random().IntN(6) == 0 {
			w.Despawn(rows[w.Random().IntN(len(rows))].ID)
			rows = world.RowsOf(w)
		}
		ids := []world.ID{0, 1 << 60}
		for _, r := range rows {
			ids = append(ids, r.ID)
		}
		for _, r := range rows {
			change(w, r, ids)
		}
	}
	_, err := g.Schema()
	return g, err
}

// Random structs, with arrays and structs in them: what is spawned is what a log, a recording, a snapshot and a view have, and what each
// dialect's message says.
func TestRandomStructs(t *testing.T) {
	r := chance.Rand(t, 0x57c7)
	fields, typed, tried := 0, 0, 0
	n := world.Rounds(2000, 50_000)
	for made := 0; made < n; tried++ {
		c := choice{make([]byte, 600)}
		for i := range c.b {
			c.b[i] = byte(r.Uint32())
		}
		var kinds []reflect.Type
		for range 1 + c.intN(3) {
			kinds = append(kinds, c.structOf(3, 5, true, false))
		}
		g, err := randomGame(kinds, []reflect.Type{c.structOf(2, 3, false, false)})
		if err != nil {
			continue // too large, or nothing to see
		}
		made++
		rig := newRandomRig(t, g, r.Uint64())
		for range 20 {
			rig.tick(r.IntN)
			fields += rig.seen
		}
		rig.end()
		for _, mask := range schema.RealmTyped(rig.schema) {
			if mask != 0 {
				typed++
			}
		}
		if t.Failed() {
			t.Fatalf("game %d: %v", made, kinds)
		}
	}
	t.Logf("%d games of %d that were made, %d fields seen, %d kinds whose attributes depend on the type", n, tried, fields, typed)
	if fields < 100*n || typed == 0 {
		t.Errorf("%d fields, %d kinds", fields, typed)
	}
}

// A randomRig plays a random game and follows it by all ways there are.
type randomRig struct {
	t      *testing.T
	game   world.Game
	sim    *world.Sim
	schema *world.Schema
	player world.PlayerID
	other  *world.Sim // which runs the log, and is loaded from a snapshot now and then
	record bytes.Buffer
	codec  *realm.Codec
	typed  []uint64
	seen   int
}

func newRandomRig(t *testing.T, g world.Game, seed uint64) *randomRig {
	must := func(sim *world.Sim, err error) *world.Sim {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return sim
	}
	x := &randomRig{t: t, game: g, sim: must(world.New(g, world.Config{Seed: seed})), other: must(world.New(g, world.Config{Seed: seed}))}
	x.schema = x.sim.Schema()
	x.sim.Keep(1, 1)
	if err := x.sim.Record(&x.record); err != nil {
		t.Fatal(err)
	}
	x.player, _ = x.sim.Join("ann")
	x.codec, x.typed = realm.NewCodec(schema.Realm(x.schema, 0)), schema.RealmTyped(x.schema)
	return x
}

// tick runs one tick, and compares.
func (x *randomRig) tick(n func(int) int) {
	x.t.Helper()
	a := x.schema.Actions[0]
	var params []world.Value
	for i := range a.Fields {
		params = append(params, randomValue(&a.Fields[i], n, nil))
	}
	x.sim.Act(x.player, x.sim.Tick(), a, params, 0)
	block := bytes.Clone(x.sim.Seal(0, 0))
	x.sim.Advance()
	e, err := x.other.ReadEntry(block)
	if err == nil {
		err = x.other.Apply(e)
	}
	if err != nil || x.other.World().Hash() != x.sim.World().Hash() {
		x.t.Errorf("the log leads elsewhere: %v", err)
		return
	}
	if n(4) == 0 {
		snapshot := x.sim.AppendSnapshot(nil)
		loaded, _, err := world.Load(x.game, bytes.NewReader(snapshot))
		if err != nil || loaded.World().Hash() != x.sim.World().Hash() || !bytes.Equal(loaded.AppendSnapshot(nil), snapshot) {
			x.t.Errorf("the snapshot is another world: %v", err)
			return
		}
		x.other = loaded
	}
	x.compare()
	for i := range x.sim.Events() {
		if ev := &x.sim.Events()[i]; ev.Kind == world.ActionDone {
			x.action(ev.Action, ev.Params[:len(ev.Action.Fields)])
		}
	}
}

// end runs the recording again.
func (x *randomRig) end() {
	report, err := world.Replay(x.game, &x.record)
	if err != nil || report.Difference != nil || report.Ticks != x.sim.Tick() {
		x.t.Errorf("the recording: %v, %v, %d ticks", err, report.Difference, report.Ticks)
	}
}

// compare holds the structs, the view and the dialects' messages against each other.
func (x *randomRig) compare() {
	x.seen = 0
	rows := map[world.ID]world.Row{}
	for _, row := range world.RowsOf(x.sim.World()) {
		rows[row.ID] = row
		var want [2][]leaf
		leavesOf(row.Struct(), "", false, &want)
		visible, hidden := row.Fields()
		for which, fields := range [...][]world.Field{visible, hidden} {
			var got []leaf
			for i := range fields {
				got = append(got, leaf{fields[i].Name, row.Get(&fields[i]).String()})
			}
			if !reflect.DeepEqual(got, want[which]) {
				x.t.Errorf("got  %v\nwant %v", got, want[which])
			}
		}
	}
	view := x.sim.NewView(0, world.ViewConfig{Radius: -1, BytesPerTick: -1, Reliable: true})
	defer view.Close()
	view.Update()
	for c := view.Next(); c != nil; c = view.Next() {
		row, ok := rows[c.ID]
		if !ok {
			x.t.Errorf("a view tells of %v, which is not there", c.ID)
			return
		}
		delete(rows, c.ID)
		values := make([]world.Value, len(c.Kind.Fields))
		for i := range c.Kind.Fields {
			f := &c.Kind.Fields[i]
			values[i] = c.Value(i)
			want := row.Get(f)
			if f.Type == world.Entity {
				want = world.UintValue(f.Type, uint64(x.sim.Wire(world.ID(want.Uint()))))
			}
			if values[i] != want {
				x.t.Errorf("%s: the view has %v, and the struct %v", f.Name, values[i], want)
			}
		}
		x.seen += len(values)
		x.entity(c, values)
		view.Take(0)
	}
	if len(rows) > 0 {
		x.t.Errorf("%d entities are not in view", len(rows))
	}
}

// entity writes an entity as each dialect does, and reads it again.
func (x *randomRig) entity(c *world.Change, values []world.Value) {
	fields := c.Kind.Fields
	for _, o := range []world.Order{message.Little, message.Big} { // stamp, relay
		b, ok := message.AppendRecord(nil, c, o, 1<<20)
		for rec := range message.Records(b, o) {
			got := make([]world.Value, len(fields))
			rest, parsed := message.ParseFields(got, fields, rec.Fields, o)
			if !ok || !parsed || len(rest) > 0 || !reflect.DeepEqual(got, values) || rec.Kind != c.Kind.Number {
				x.t.Errorf("record %x is %v, want %v", b, got, values)
			}
		}
	}
	element := duplex.Message{Kind: duplex.KindSync, SID: 5, Data: message.AppendElement(nil, c)}
	sizes := schema.Duplex(x.schema)
	if err := sizes.Check(duplex.FromServer, &element); err != nil {
		x.t.Error(err)
	}
	if element.Data = element.Data[:len(element.Data)-1]; sizes.Check(duplex.FromServer, &element) == nil {
		x.t.Errorf("%x is a whole element too", element.Data)
	}
	variables := schema.Replica(c.Kind)
	for i := range fields {
		b := message.AppendVariable(nil, c, i)
		at, _ := message.VariableOf(c.Kind, i)
		if variables[at].Name != fields[i].Name || !variables[at].Type.Fits(len(b)) {
			x.t.Errorf("%s is the variable %+v with %d bytes", fields[i].Name, variables[at], len(b))
		}
		if fields[i].Type == world.Text {
			continue
		}
		if got, ok := message.ParseVariable(c.Kind, i, b); !ok || got != values[i] {
			x.t.Errorf("variable %x is %v, want %v", b, got, values[i])
		}
	}
	x.block(c, values)
}

// block writes an entity as realm does, with its type only if it needs it.
func (x *randomRig) block(c *world.Change, values []world.Value) {
	e, codec := realm.Entity{ID: c.Entity, Has: realm.HasObject, Type: uint16(c.Kind.Number)}, x.codec
	if x.typed[c.Kind.Index()] != 0 {
		e.Has |= realm.HasType
		codec = codec.Of(e.Type)
	}
	var raw []byte
	var list []realm.Attribute
	for i := range values {
		f := &c.Kind.Fields[i]
		list = append(list, realm.Attribute{ID: f.Attr, Value: schema.ToRealm(f, values[i], &raw)})
	}
	var err error
	if e.Attributes, err = codec.Attributes(list...); err != nil {
		x.t.Error(err)
		return
	}
	var m realm.Message
	b := x.codec.AppendTo(nil, &realm.Message{Kind: realm.KindEntityUpdate, Entity: e})
	if err := x.codec.ParseErr(realm.FromClient, b, &m); err != nil || m.Entity.Attributes.Len() != len(values) {
		x.t.Errorf("%x: %v", b, err)
		return
	}
	i := 0
	for id, v := range m.Entity.Attributes.All() {
		f := &c.Kind.Fields[i]
		if got, ok := schema.FromRealm(f, v); !ok || id != f.Attr || got != values[i] {
			x.t.Errorf("attribute %d is %v, want %s: %v", id, got, f.Name, values[i])
		}
		i++
	}
}

// action writes an action as each dialect does, and reads it again.
func (x *randomRig) action(a *world.Action, params []world.Value) {
	for _, o := range []world.Order{message.Little, message.Big} {
		b := message.AppendAct(nil, a, params, o)
		got, again, ok := message.ParseAct(x.schema, b, o)
		if !ok || got != a || !reflect.DeepEqual(again[:len(params)], params) {
			x.t.Errorf("%x is %v, want %v", b, again, params)
		}
	}
	var raw []byte
	var values []realm.Value
	for i := range params {
		values = append(values, schema.ToRealm(&a.Fields[i], params[i], &raw))
	}
	action, err := x.codec.Action(uint16(a.Number), values...)
	if err != nil {
		x.t.Error(err)
		return
	}
	var m realm.Message
	b := x.codec.AppendTo(nil, &realm.Message{Kind: realm.KindActionDo, Action: action})
	if err := x.codec.ParseErr(realm.FromClient, b, &m); err != nil {
		x.t.Error(err)
		return
	}
	for i := range params {
		if got, ok := schema.FromRealm(&a.Fields[i], m.Action.Params.Get(i)); !ok || got != params[i] {
			x.t.Errorf("%s: got %v, want %v", a.Fields[i].Name, got, params[i])
		}
	}
}

// FuzzDescribe makes structs of any bytes, with types and tags that are refused too. None panics, and the description of what is taken
// holds what clients rely on.
func FuzzDescribe(f *testing.F) {
	f.Add([]byte{1, 2, 3}, []byte{4, 5, 6})
	f.Add([]byte("kind=7,name=x"), bytes.Repeat([]byte{7, 1, 9}, 40))
	f.Add(bytes.Repeat([]byte{0, 1, 2, 3, 0, 2, 9}, 30), bytes.Repeat([]byte{3}, 20))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var kinds []reflect.Type
		for _, b := range [][]byte{first, second} {
			c := choice{b}
			kinds = append(kinds, c.structOf(3, 7, true, true))
		}
		for _, list := range [][]reflect.Type{kinds, kinds[:1], kinds[1:]} {
			g := world.Game{Name: "fuzz", Kinds: world.KindsOf(list...), Actions: world.ActionsOf(list[:1]...), Step: func(*world.World, []world.Input) {}}
			if _, err := g.Schema(); err != nil { // an action has fewer fields
				g.Actions = world.Actions()
			}
			d, err := schema.Describe(g, 0)
			if err != nil {
				if !strings.HasPrefix(err.Error(), "world: ") {
					t.Error(err)
				}
				continue
			}
			checkDescription(t, d)
			if _, err := world.New(g, world.Config{}); err != nil {
				t.Error(err)
			}
		}
	})
}

func checkDescription(t *testing.T, d *schema.Description) {
	text, err := json.Marshal(d)
	if err != nil || len(d.Text()) == 0 {
		t.Errorf("%s: %v", text, err)
	}
	for _, k := range d.Kinds {
		names, attributes := map[string]bool{}, map[int]bool{}
		for i, f := range k.Fields {
			name := ""
			for _, part := range f.Path {
				if index, ok := part.(int); ok {
					name += fmt.Sprintf("[%d]", index)
				} else {
					name += "." + part.(string)
				}
			}
			if name[1:] != f.Name || names[f.Name] || f.Realm == nil || attributes[f.Realm.Attribute] || f.Replica.Variable != i+1 || len(f.Name) > 255 {
				t.Errorf("%+v of %s", f, text)
			}
			names[f.Name], attributes[f.Realm.Attribute] = true, true
		}
		if len(k.Fields) == 0 || len(k.Fields) > 64 || k.RecordBytes > 255 || k.Hidden > 192 {
			t.Errorf("%s", text)
		}
	}
	for _, a := range d.Actions {
		if len(a.Fields) > world.MaxParams {
			t.Errorf("%s", text)
		}
	}
}
