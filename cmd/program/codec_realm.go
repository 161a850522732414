package program

import (
	"fmt"
	"iter"

	"parley/protocol/realm"
)

// realmCodec joins the dialect realm to decode and encode. The shapes of entities, chunks and actions
// are in codec_realm_shapes.go.
var realmCodec = Codec{Name: "realm", Decode: decodeRealm, Encode: encodeRealm}

// realmGame is the schema of the vectors, as attributes and actions cannot be read without
// one.
var realmGame = realm.NewCodec(realm.Schema{
	Attributes: map[uint16]realm.Field{
		0:     {Name: "ticks_left", Type: realm.TypeU16},
		1:     {Name: "health", Type: realm.TypeU16},
		2:     {Name: "sender", Type: realm.TypeEntity},
		30000: {Name: "cooldown_one", Type: realm.TypeU16},
	},
	Actions: map[uint16][]realm.Field{
		0: {{Name: "angle", Type: realm.TypeF32}, {Name: "entity", Type: realm.TypeEntity}},
	},
})

var realmSides = map[Side]realm.Side{SideClient: realm.FromClient, SideServer: realm.FromServer}

func decodeRealm(from Side, _ string, b []byte) (any, error) {
	var m realm.Message
	if err := realmGame.ParseErr(realmSides[from], b, &m); err != nil {
		return nil, err
	}
	return realmTable.show(&m), nil
}

func encodeRealm(from Side, _ string, line []byte) ([]byte, error) {
	var m realm.Message
	if err := realmTable.take(&m, line); err != nil {
		return nil, err
	}
	b := realmGame.AppendTo(nil, &m)
	// What is left to be wrong is wrong in the bytes too, and Parse has words for it.
	return b, realmGame.ParseErr(realmSides[from], b, &m)
}

var realmTable = table[realm.Message, realm.Kind]{"message", func(m *realm.Message) *realm.Kind { return &m.Kind }, realmKinds()}

func realmKinds() map[realm.Kind][]field[realm.Message] {
	type M = realm.Message
	tick := plainField("tick", func(m *M) *uint16 { return &m.Tick })
	code := plainField("code", func(m *M) *uint8 { return &m.Code })
	id := plainField("entity", func(m *M) *uint16 { return &m.ID })
	timestamp := plainField("timestamp", func(m *M) *uint64 { return &m.Timestamp })
	pseudo := textField("pseudo", realm.MaxText, func(m *M) *[]byte { return &m.Name })
	password := textField("password", realm.MaxText, func(m *M) *[]byte { return &m.Password })
	text := textField("text", realm.MaxText, func(m *M) *[]byte { return &m.Text })
	entity := shapedField("entity", func(m *M) realmEntity { return showRealmEntity(&m.Entity) },
		func(m *M, s realmEntity) (err error) { m.Entity, err = s.entity("entity."); return err })
	is0 := func(m *M) bool { return m.Code == 0 }
	return map[realm.Kind][]field[M]{
		realm.KindPing:             nil,
		realm.KindPong:             nil,
		realm.KindExit:             {code},
		realm.KindLogin:            {pseudo, password},
		realm.KindLoginResponse:    {code, tick.only(is0, "only code 0 has one"), timestamp.only(is0, "only code 0 has one")},
		realm.KindRegister:         {pseudo, password},
		realm.KindRegisterResponse: {code},
		realm.KindMetaAction:       {tick, id, code, pseudo.only(is0, "only code 0 has one")},
		realm.KindChunkUpdate: {tick, shapedField("chunk", func(m *M) realmChunk { return showRealmChunk(m.Chunk) },
			func(m *M, s realmChunk) (err error) { m.Chunk, err = s.chunk("chunk."); return err })},
		realm.KindTerrainRequest: {listField("chunks", func(m *M) iter.Seq[realm.ChunkID] { return m.Wanted.All() }, func(id realm.ChunkID) realmWanted { return realmWanted(id) },
			func(c *realmWanted, _ string) (realm.ChunkID, error) { return realm.ChunkID(*c), nil },
			func(m *M, list []realm.ChunkID) (err error) { m.Wanted, err = realm.MakeWanted(list...); return err })},
		realm.KindEntitiesUpdate: {tick, listField("entities", func(m *M) iter.Seq[*realm.Entity] { return m.Entities.All() }, showRealmEntity, (*realmEntity).entity,
			func(m *M, list []realm.Entity) (err error) { m.Entities, err = realmGame.Entities(list...); return err })},
		realm.KindEntityUpdate: {tick, entity},
		realm.KindActionsDone: {tick, listField("actions", func(m *M) iter.Seq[realm.Done] { return m.Actions.All() }, showRealmDone, (*realmAction).done,
			func(m *M, list []realm.Done) (err error) { m.Actions, err = realmGame.Actions(list...); return err })},
		realm.KindActionDo: {tick, shapedField("action", func(m *M) realmAction { return showRealmAction(m.Action) },
			func(m *M, s realmAction) (err error) { m.Action, err = s.action("action."); return err })},
		realm.KindEntityCreate:  {tick, entity},
		realm.KindEntityDestroy: {tick, id},
		realm.KindChatSend:      {text},
		realm.KindChatReceive:   {tick, id, text},
		realm.KindVersion:       {plainField("version", func(m *M) *uint16 { return &m.Version })},
		realm.KindConfig: {
			plainField("max_rollback_ticks", func(m *M) *uint16 { return &m.MaxRollbackTicks }),
			plainField("time_server_port", func(m *M) *uint16 { return &m.TimeServerPort }),
		},
		realm.KindEntityIDChange: {plainField("old", func(m *M) *uint16 { return &m.Old }), plainField("new", func(m *M) *uint16 { return &m.New })},
		realm.KindChunksUpdate: {tick, listField("chunks", func(m *M) iter.Seq[realm.Chunk] { return m.Chunks.All() }, showRealmChunk, (*realmChunk).chunk,
			func(m *M, list []realm.Chunk) (err error) { m.Chunks, err = realm.MakeChunks(list...); return err })},
	}
}

// listField is a list whose elements have a shape of their own in JSON: each is shown by show and made by made, and put takes them all.
func listField[Said, Shown, Made any](name string, all func(m *realm.Message) iter.Seq[Said], show func(Said) Shown, made func(s *Shown, path string) (Made, error),
	put func(m *realm.Message, list []Made) error) field[realm.Message] {
	return shapedField(name, func(m *realm.Message) []Shown { return shownList(all(m), show) }, func(m *realm.Message, shown []Shown) error {
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
