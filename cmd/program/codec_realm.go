package program

import (
	"fmt"
	"iter"

	"parley/protocol/realm/core"
)

// realmCodec joins the dialect realm to decode and encode. The shapes of entities, chunks and actions
// are in codec_realm_shapes.go.
var realmCodec = Codec{Name: "realm", Decode: decodeRealm, Encode: encodeRealm}

// realmGame is the schema of the vectors, as attributes and actions cannot be read without
// one.
var realmGame = core.NewCodec(core.Schema{
	Attributes: map[uint16]core.Field{
		0:     {Name: "ticks_left", Type: core.TypeU16},
		1:     {Name: "health", Type: core.TypeU16},
		2:     {Name: "sender", Type: core.TypeEntity},
		30000: {Name: "cooldown_one", Type: core.TypeU16},
	},
	Actions: map[uint16][]core.Field{
		0: {{Name: "angle", Type: core.TypeF32}, {Name: "entity", Type: core.TypeEntity}},
	},
})

var realmSides = map[Side]core.Side{SideClient: core.FromClient, SideServer: core.FromServer}

func decodeRealm(from Side, _ string, b []byte) (any, error) {
	var m core.Message
	if err := realmGame.ParseErr(realmSides[from], b, &m); err != nil {
		return nil, err
	}
	return realmTable.show(&m), nil
}

func encodeRealm(from Side, _ string, line []byte) ([]byte, error) {
	var m core.Message
	if err := realmTable.take(&m, line); err != nil {
		return nil, err
	}
	b := realmGame.AppendTo(nil, &m)
	// What is left to be wrong is wrong in the bytes too, and Parse has words for it.
	return b, realmGame.ParseErr(realmSides[from], b, &m)
}

var realmTable = table[core.Message, core.Kind]{"message", func(m *core.Message) *core.Kind { return &m.Kind }, realmKinds()}

func realmKinds() map[core.Kind][]field[core.Message] {
	type M = core.Message
	tick := plainField("tick", func(m *M) *uint16 { return &m.Tick })
	code := plainField("code", func(m *M) *uint8 { return &m.Code })
	id := plainField("entity", func(m *M) *uint16 { return &m.ID })
	timestamp := plainField("timestamp", func(m *M) *uint64 { return &m.Timestamp })
	pseudo := textField("pseudo", core.MaxText, func(m *M) *[]byte { return &m.Name })
	password := textField("password", core.MaxText, func(m *M) *[]byte { return &m.Password })
	text := textField("text", core.MaxText, func(m *M) *[]byte { return &m.Text })
	entity := shapedField("entity", func(m *M) realmEntity { return showRealmEntity(&m.Entity) },
		func(m *M, s realmEntity) (err error) { m.Entity, err = s.entity("entity."); return err })
	is0 := func(m *M) bool { return m.Code == 0 }
	return map[core.Kind][]field[M]{
		core.KindPing:             nil,
		core.KindPong:             nil,
		core.KindExit:             {code},
		core.KindLogin:            {pseudo, password},
		core.KindLoginResponse:    {code, tick.only(is0, "only code 0 has one"), timestamp.only(is0, "only code 0 has one")},
		core.KindRegister:         {pseudo, password},
		core.KindRegisterResponse: {code},
		core.KindMetaAction:       {tick, id, code, pseudo.only(is0, "only code 0 has one")},
		core.KindChunkUpdate: {tick, shapedField("chunk", func(m *M) realmChunk { return showRealmChunk(m.Chunk) },
			func(m *M, s realmChunk) (err error) { m.Chunk, err = s.chunk("chunk."); return err })},
		core.KindTerrainRequest: {listField("chunks", func(m *M) iter.Seq[core.ChunkID] { return m.Wanted.All() }, func(id core.ChunkID) realmWanted { return realmWanted(id) },
			func(c *realmWanted, _ string) (core.ChunkID, error) { return core.ChunkID(*c), nil },
			func(m *M, list []core.ChunkID) (err error) { m.Wanted, err = core.MakeWanted(list...); return err })},
		core.KindEntitiesUpdate: {tick, listField("entities", func(m *M) iter.Seq[*core.Entity] { return m.Entities.All() }, showRealmEntity, (*realmEntity).entity,
			func(m *M, list []core.Entity) (err error) { m.Entities, err = realmGame.Entities(list...); return err })},
		core.KindEntityUpdate: {tick, entity},
		core.KindActionsDone: {tick, listField("actions", func(m *M) iter.Seq[core.Done] { return m.Actions.All() }, showRealmDone, (*realmAction).done,
			func(m *M, list []core.Done) (err error) { m.Actions, err = realmGame.Actions(list...); return err })},
		core.KindActionDo: {tick, shapedField("action", func(m *M) realmAction { return showRealmAction(m.Action) },
			func(m *M, s realmAction) (err error) { m.Action, err = s.action("action."); return err })},
		core.KindEntityCreate:  {tick, entity},
		core.KindEntityDestroy: {tick, id},
		core.KindChatSend:      {text},
		core.KindChatReceive:   {tick, id, text},
		core.KindVersion:       {plainField("version", func(m *M) *uint16 { return &m.Version })},
		core.KindConfig: {
			plainField("max_rollback_ticks", func(m *M) *uint16 { return &m.MaxRollbackTicks }),
			plainField("time_server_port", func(m *M) *uint16 { return &m.TimeServerPort }),
		},
		core.KindEntityIDChange: {plainField("old", func(m *M) *uint16 { return &m.Old }), plainField("new", func(m *M) *uint16 { return &m.New })},
		core.KindChunksUpdate: {tick, listField("chunks", func(m *M) iter.Seq[core.Chunk] { return m.Chunks.All() }, showRealmChunk, (*realmChunk).chunk,
			func(m *M, list []core.Chunk) (err error) { m.Chunks, err = core.MakeChunks(list...); return err })},
	}
}

// listField is a list whose elements have a shape of their own in JSON: each is shown by show and made by made, and put takes them all.
func listField[Said, Shown, Made any](name string, all func(m *core.Message) iter.Seq[Said], show func(Said) Shown, made func(s *Shown, path string) (Made, error),
	put func(m *core.Message, list []Made) error) field[core.Message] {
	return shapedField(name, func(m *core.Message) []Shown { return shownList(all(m), show) }, func(m *core.Message, shown []Shown) error {
		list := make([]Made, len(shown))
		for i := range shown {
			var err error
			if list[i], err = made(&shown[i], fmt.Sprintf("%s[%d].", name, i)); err != nil {
				return err
			}
		}
		return realmNamed(name, func() error { return put(m, list) })
	})
}

// realmNamed puts a field's name before an error.
func realmNamed(field string, run func() error) error {
	if err := run(); err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	return nil
}
