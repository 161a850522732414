package core

import (
	"testing"

	"parley/internal/kit"
	"parley/internal/pagetest"
	"parley/internal/promise"
)

// T6: the tables of docs/protocols/realm.md are those of the code.
func TestLayoutTables(t *testing.T) {
	promise.Keeps(t, "T6", "realm", 1)
	tables := pagetest.Tables(t, statesPage)
	t.Run("messages", func(t *testing.T) { checkMessages(t, tables["Messages"]) })
	t.Run("fields", func(t *testing.T) {
		for heading, m := range layoutExamples {
			if len(tables[heading]) == 0 {
				t.Errorf("the page has no table under %q", heading)
			}
			parse := func(b []byte) error { return testCodec.ParseErr(sides(m.Kind)[0], b, new(Message)) }
			kit.Layout(t, heading, tables[heading], testCodec.AppendTo(nil, &m), 1, parse, func(string, []byte) {})
		}
	})
	t.Run("bits", func(t *testing.T) { checkBits(t, tables["Bitfield"]) })
	t.Run("types", func(t *testing.T) { checkTypes(t, tables["Types"]) })
	t.Run("codes", func(t *testing.T) {
		checkCodes(t, tables["Exit codes"], exitCodes, func(c uint8) string { return ExitCode(c).String() })
		checkCodes(t, tables["Answers to a login"], loginCodes, func(c uint8) string { return LoginCode(c).String() })
		checkCodes(t, tables["Answers to a registration"], registerCodes, func(c uint8) string { return RegisterCode(c).String() })
		checkCodes(t, tables["Meta actions"], metaCodes, func(c uint8) string { return MetaCode(c).String() })
	})
	t.Run("limits", func(t *testing.T) {
		kit.Limits(t, tables["Limits"], "value", map[string]int{"`MaxMessage`": MaxMessage, "`MaxText`": MaxText, "`MaxWanted`": MaxWanted,
			"`MaxListed`": MaxListed, "`MaxChunk`": MaxChunk, "`ChunkCells`": ChunkCells, "`FirstTemporary`": FirstTemporary})
	})
}

// checkMessages holds the rows against who may send what, whether it has a tick, and its least
// size.
func checkMessages(t *testing.T, rows pagetest.Table) {
	if len(rows) != 22 {
		t.Fatalf("%d rows", len(rows))
	}
	r := kit.Rand(t)
	for i, row := range rows {
		kind := Kind(i + 1)
		by := map[Side]string{FromClient: "client", FromServer: "server", fromBoth: "both"}[kind.Senders()]
		tick := map[bool]string{true: "yes", false: "no"}[kind.HasTick()]
		if pagetest.Number(t, row["type"]) != i || row["message"] != kind.String() || row["sent by"] != by || row["tick"] != tick {
			t.Errorf("row %d: %v, want %v, %s, %s", i, row, kind, by, tick)
		}
		least := 1 << 30
		for range 3000 {
			m := randomMessage(r, kind)
			least = min(least, len(testCodec.AppendTo(nil, &m)))
		}
		if got := pagetest.Number(t, row["least bytes"]); got != least {
			t.Errorf("%v has at least %d bytes, and the page says %d", kind, least, got)
		}
	}
}

// layoutExamples are messages in which each field of a table has a value of its own, by the
// table's heading. The fields are read in the table's order.
var layoutExamples = map[string]Message{
	"exit":               {Kind: KindExit, Code: 3},
	"login and register": {Kind: KindLogin, Name: []byte("n"), Password: []byte("p")},
	"login_response":     {Kind: KindLoginResponse, Tick: 2, Timestamp: 3},
	"register_response":  {Kind: KindRegisterResponse, Code: 1},
	"meta_action":        {Kind: KindMetaAction, Tick: 1, ID: 2, Name: []byte("n")},
	"chunk_update":       {Kind: KindChunkUpdate, Tick: 1, Chunk: Chunk{BX: 2, BY: 3, Default: 4, Cells: Cells{[]byte{5, 6, 7}}}},
	"terrain_request":    {Kind: KindTerrainRequest, Wanted: Wanted{[]byte{0, 1, 0, 2}}},
	"entity blocks":      {Kind: KindEntityUpdate, Tick: 1, Entity: Entity{ID: 2}},
	"action_do":          {Kind: KindActionDo, Tick: 1, Action: Action{ID: 7}},
	"entity_destroy":     {Kind: KindEntityDestroy, Tick: 1, ID: 2},
	"chat_send":          {Kind: KindChatSend, Text: []byte("t")},
	"chat_receive":       {Kind: KindChatReceive, Tick: 1, ID: 2, Text: []byte("t")},
	"version":            {Kind: KindVersion, Version: 9},
	"config":             {Kind: KindConfig, MaxRollbackTicks: 1, TimeServerPort: 2},
	"entity_id_change":   {Kind: KindEntityIDChange, Old: 1, New: 2},
}

func checkBits(t *testing.T, rows pagetest.Table) {
	if len(rows) != 8 {
		t.Fatalf("%d bits", len(rows))
	}
	for i, row := range rows {
		bit := Has(0x80 >> i)
		if pagetest.Number(t, row["value"]) != int(bit) || pagetest.Number(t, row["bit"]) != i {
			t.Errorf("bit %d: %v", i, row)
		}
		b := append([]byte{11, 0, 0, 0, 1, byte(bit)}, make([]byte, 20)...)
		size, ok := -1, false
		for n := range 20 {
			var m Message
			if testCodec.Parse(FromClient, b[:6+n], &m) {
				size, ok = n, true
				break
			}
		}
		switch {
		case row["bytes"] == "refused" && ok, row["bytes"] != "refused" && (!ok || pagetest.Number(t, row["bytes"]) != size):
			t.Errorf("bit %d has %d bytes, accepted %t, and the page says %s", i, size, ok, row["bytes"])
		}
	}
}

func checkTypes(t *testing.T, rows pagetest.Table) {
	if len(rows) != types-1 {
		t.Fatalf("%d types", len(rows))
	}
	for i, row := range rows {
		if typ := Type(i + 1); row["type"] != typ.String() || pagetest.Number(t, row["bytes"]) != typeSizes[typ] {
			t.Errorf("%v has %d bytes, and the page says %v", typ, typeSizes[typ], row)
		}
	}
}

func checkCodes(t *testing.T, rows pagetest.Table, codes uint8, name func(uint8) string) {
	t.Helper()
	if len(rows) != int(codes) {
		t.Fatalf("%d codes, want %d", len(rows), codes)
	}
	for i, row := range rows {
		if pagetest.Number(t, row["code"]) != i || row["name"] != name(uint8(i)) {
			t.Errorf("code %d is %s, and the page says %v", i, name(uint8(i)), row)
		}
	}
}
