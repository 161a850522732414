package program

import (
	"slices"

	"parley/protocol/realm/core"
)

// realmCodec has the shapes of entities, chunks and actions in codec_realm_shapes.go.
var realmCodec = newCodec("realm", &realmTable,
	func(m *core.Message, from side, _ string, b []byte) error {
		return realmGame.ParseErr(core.Side(from), b, m)
	},
	func(m *core.Message, _ side, _ string) ([]byte, error) { return realmGame.AppendTo(nil, m), nil })

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

var realmTable = table[core.Message, core.Kind]{"message", func(m *core.Message) *core.Kind { return &m.Kind }, realmKinds()}

func realmKinds() map[core.Kind]fields[core.Message] {
	type M = core.Message
	plain := plainFields[M]
	name := textField("pseudo", core.MaxText, func(m *M) *[]byte { return &m.Name })
	password := textField("password", core.MaxText, func(m *M) *[]byte { return &m.Password })
	text := textField("text", core.MaxText, func(m *M) *[]byte { return &m.Text })
	code0 := func(f fields[M]) fields[M] {
		return f.only(func(m *M) bool { return m.Code == 0 }, "only code 0 has one")
	}
	return map[core.Kind]fields[M]{
		core.KindPing:             nil,
		core.KindPong:             nil,
		core.KindExit:             plain("code"),
		core.KindLogin:            slices.Concat(name, password),
		core.KindLoginResponse:    slices.Concat(plain("code"), code0(plain("tick", "timestamp"))),
		core.KindRegister:         slices.Concat(name, password),
		core.KindRegisterResponse: plain("code"),
		core.KindMetaAction:       slices.Concat(plain("tick", "entity=ID", "code"), code0(name)),
		core.KindChunkUpdate:      slices.Concat(plain("tick"), objectField("chunk", realmChunk(), func(m *M) *core.Chunk { return &m.Chunk })),
		core.KindTerrainRequest: wireField("chunks", core.MaxWanted, plainFields[core.ChunkID]("bx", "by"),
			func(m *M) []core.ChunkID { return slices.Collect(m.Wanted.All()) },
			func(m *M, list []core.ChunkID) (err error) { m.Wanted, err = core.MakeWanted(list...); return err }),
		core.KindEntitiesUpdate: slices.Concat(plain("tick"), wireField("entities", core.MaxListed, realmEntity(),
			func(m *M) (list []core.Entity) {
				for e := range m.Entities.All() {
					list = append(list, *e)
				}
				return list
			},
			func(m *M, list []core.Entity) (err error) { m.Entities, err = realmGame.Entities(list...); return err })),
		core.KindEntityUpdate: slices.Concat(plain("tick"), objectField("entity", realmEntity(), func(m *M) *core.Entity { return &m.Entity })),
		core.KindActionsDone: slices.Concat(plain("tick"), wireField("actions", core.MaxListed, realmDone{},
			func(m *M) []core.Done { return slices.Collect(m.Actions.All()) },
			func(m *M, list []core.Done) (err error) { m.Actions, err = realmGame.Actions(list...); return err })),
		core.KindActionDo:       slices.Concat(plain("tick"), objectField("action", realmAction{}, func(m *M) *core.Action { return &m.Action })),
		core.KindEntityCreate:   slices.Concat(plain("tick"), objectField("entity", realmEntity(), func(m *M) *core.Entity { return &m.Entity })),
		core.KindEntityDestroy:  plain("tick", "entity=ID"),
		core.KindChatSend:       text,
		core.KindChatReceive:    slices.Concat(plain("tick", "entity=ID"), text),
		core.KindVersion:        plain("version"),
		core.KindConfig:         plain("max_rollback_ticks", "time_server_port"),
		core.KindEntityIDChange: plain("old", "new"),
		core.KindChunksUpdate: slices.Concat(plain("tick"), wireField("chunks", core.MaxListed, realmChunk(),
			func(m *M) []core.Chunk { return slices.Collect(m.Chunks.All()) },
			func(m *M, list []core.Chunk) (err error) { m.Chunks, err = core.MakeChunks(list...); return err })),
	}
}
