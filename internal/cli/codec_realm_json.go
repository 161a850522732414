package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"parley/protocol/realm"
)

// A realmShape is the JSON of some kinds of message: just their fields, in the order that
// they are printed.
type realmShape interface {
	// show takes what m says.
	show(m *realm.Message)

	// fill gives m, whose kind is set, what the shape says. An error names a field that it has
	// no room for.
	fill(m *realm.Message) error
}

func newRealmShape(kind realm.Kind) realmShape {
	switch kind {
	case realm.KindExit, realm.KindRegisterResponse:
		return new(realmCode)
	case realm.KindLogin, realm.KindRegister:
		return new(realmAccount)
	case realm.KindLoginResponse:
		return new(realmLoginResponse)
	case realm.KindMetaAction:
		return new(realmMeta)
	case realm.KindChunkUpdate:
		return new(realmChunkUpdate)
	case realm.KindChunksUpdate:
		return new(realmChunksUpdate)
	case realm.KindTerrainRequest:
		return new(realmTerrainRequest)
	case realm.KindEntitiesUpdate:
		return new(realmEntities)
	case realm.KindEntityUpdate, realm.KindEntityCreate:
		return new(realmEntityUpdate)
	case realm.KindActionsDone:
		return new(realmActionsDone)
	case realm.KindActionDo:
		return new(realmActionDo)
	case realm.KindEntityDestroy:
		return new(realmDestroy)
	case realm.KindChatSend:
		return new(realmChatSend)
	case realm.KindChatReceive:
		return new(realmChatReceive)
	case realm.KindVersion:
		return new(realmVersion)
	case realm.KindConfig:
		return new(realmConfig)
	case realm.KindEntityIDChange:
		return new(realmIDChange)
	default:
		return new(realmBare) // ping, pong
	}
}

type realmBare struct {
	Message string `json:"message"`
}

func (s *realmBare) show(m *realm.Message)     { s.Message = m.Kind.String() }
func (s *realmBare) fill(*realm.Message) error { return nil }

type realmCode struct {
	realmBare
	Code uint8 `json:"code"`
}

func (s *realmCode) show(m *realm.Message) {
	s.realmBare.show(m)
	s.Code = m.Code
}

func (s *realmCode) fill(m *realm.Message) error {
	m.Code = s.Code
	return nil
}

type realmAccount struct {
	realmBare
	Pseudo   string `json:"pseudo"`
	Password string `json:"password"`
}

func (s *realmAccount) show(m *realm.Message) {
	s.realmBare.show(m)
	s.Pseudo, s.Password = string(m.Name), string(m.Password)
}

func (s *realmAccount) fill(m *realm.Message) (err error) {
	if m.Name, err = realmText("pseudo", s.Pseudo); err != nil {
		return err
	}
	m.Password, err = realmText("password", s.Password)
	return err
}

// realmLoginResponse has tick and timestamp if and only if it is a yes.
type realmLoginResponse struct {
	realmCode
	Tick      *uint16 `json:"tick,omitempty"`
	Timestamp *uint64 `json:"timestamp,omitempty"`
}

func (s *realmLoginResponse) show(m *realm.Message) {
	s.realmCode.show(m)
	if m.Code == 0 {
		s.Tick, s.Timestamp = &m.Tick, &m.Timestamp
	}
}

func (s *realmLoginResponse) fill(m *realm.Message) error {
	m.Code = s.Code
	if s.Code != 0 && (s.Tick != nil || s.Timestamp != nil) {
		return fmt.Errorf("tick: only code 0 has tick and timestamp, not code %d", s.Code)
	}
	m.Tick, m.Timestamp = realmOrZero(s.Tick), realmOrZero(s.Timestamp)
	return nil
}

func realmOrZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// realmTicked begins each message with a tick.
type realmTicked struct {
	realmBare
	Tick uint16 `json:"tick"`
}

func (s *realmTicked) show(m *realm.Message) {
	s.realmBare.show(m)
	s.Tick = m.Tick
}

type realmMeta struct {
	realmTicked
	Entity uint16  `json:"entity"`
	Code   uint8   `json:"code"`
	Pseudo *string `json:"pseudo,omitempty"`
}

func (s *realmMeta) show(m *realm.Message) {
	s.realmTicked.show(m)
	s.Entity, s.Code = m.ID, m.Code
	if m.Code == 0 {
		name := string(m.Name)
		s.Pseudo = &name
	}
}

func (s *realmMeta) fill(m *realm.Message) (err error) {
	m.Tick, m.ID, m.Code = s.Tick, s.Entity, s.Code
	if s.Code != 0 && s.Pseudo != nil {
		return fmt.Errorf("pseudo: only code 0 has one, not code %d", s.Code)
	}
	m.Name, err = realmText("pseudo", realmOrZero(s.Pseudo))
	return err
}

type realmCell struct {
	X     uint8 `json:"x"`
	Y     uint8 `json:"y"`
	Value uint8 `json:"value"`
}

type realmChunk struct {
	BX      int16       `json:"bx"`
	BY      int16       `json:"by"`
	Default uint8       `json:"default"`
	Cells   []realmCell `json:"cells"`
}

func showRealmChunk(c realm.Chunk) realmChunk {
	s := realmChunk{c.BX, c.BY, c.Default, []realmCell{}} // an empty list is printed as such
	for cell := range c.Cells.All() {
		s.Cells = append(s.Cells, realmCell(cell))
	}
	return s
}

func (s *realmChunk) chunk(path string) (realm.Chunk, error) {
	list := make([]realm.Cell, len(s.Cells))
	for i, cell := range s.Cells {
		list[i] = realm.Cell(cell)
	}
	cells, err := realm.MakeCells(list...)
	if err != nil {
		return realm.Chunk{}, fmt.Errorf("%scells: %w", path, err)
	}
	return realm.Chunk{BX: s.BX, BY: s.BY, Default: s.Default, Cells: cells}, nil
}

type realmChunkUpdate struct {
	realmTicked
	Chunk realmChunk `json:"chunk"`
}

func (s *realmChunkUpdate) show(m *realm.Message) {
	s.realmTicked.show(m)
	s.Chunk = showRealmChunk(m.Chunk)
}

func (s *realmChunkUpdate) fill(m *realm.Message) (err error) {
	m.Tick = s.Tick
	m.Chunk, err = s.Chunk.chunk("chunk.")
	return err
}

type realmChunksUpdate struct {
	realmTicked
	Chunks []realmChunk `json:"chunks"`
}

func (s *realmChunksUpdate) show(m *realm.Message) {
	s.realmTicked.show(m)
	s.Chunks = []realmChunk{}
	for c := range m.Chunks.All() {
		s.Chunks = append(s.Chunks, showRealmChunk(c))
	}
}

func (s *realmChunksUpdate) fill(m *realm.Message) error {
	m.Tick = s.Tick
	list := make([]realm.Chunk, len(s.Chunks))
	for i := range s.Chunks {
		var err error
		if list[i], err = s.Chunks[i].chunk(fmt.Sprintf("chunks[%d].", i)); err != nil {
			return err
		}
	}
	return realmNamed("chunks", func() (err error) { m.Chunks, err = realm.MakeChunks(list...); return err })
}

// realmNamed puts a field's name before an error.
func realmNamed(field string, run func() error) error {
	if err := run(); err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	return nil
}

type realmWanted struct {
	BX int16 `json:"bx"`
	BY int16 `json:"by"`
}

type realmTerrainRequest struct {
	realmBare
	Chunks []realmWanted `json:"chunks"`
}

func (s *realmTerrainRequest) show(m *realm.Message) {
	s.realmBare.show(m)
	s.Chunks = []realmWanted{}
	for id := range m.Wanted.All() {
		s.Chunks = append(s.Chunks, realmWanted(id))
	}
}

func (s *realmTerrainRequest) fill(m *realm.Message) error {
	list := make([]realm.ChunkID, len(s.Chunks))
	for i, c := range s.Chunks {
		list[i] = realm.ChunkID(c)
	}
	return realmNamed("chunks", func() (err error) { m.Wanted, err = realm.MakeWanted(list...); return err })
}

// A realmAction is a map, as the names of its parameters are the game's.
type realmAction map[string]any

func showRealmAction(a realm.Action) realmAction {
	s := realmAction{"action": a.ID}
	for name, v := range a.Params.All() {
		s[name] = showRealmValue(v)
	}
	return s
}

// UnmarshalJSON keeps numbers as they were written.
func (s *realmAction) UnmarshalJSON(b []byte) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	return dec.Decode((*map[string]any)(s))
}

// action turns the map into an action. Fields other than the parameters are in also.
func (s realmAction) action(path string, also ...string) (realm.Action, error) {
	number, err := realmNumber(path+"action", s["action"])
	if err != nil {
		return realm.Action{}, err
	}
	fields, ok := realmGame.ActionFields(number)
	if !ok {
		return realm.Action{}, fmt.Errorf("%saction: no action has number %d", path, number)
	}
	known := append([]string{"action"}, also...)
	params := make([]realm.Value, len(fields))
	for i, f := range fields {
		known = append(known, f.Name)
		if params[i], err = realmValue(path+f.Name, f.Type, s[f.Name]); err != nil {
			return realm.Action{}, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if !slices.Contains(known, name) {
			return realm.Action{}, fmt.Errorf("%s%s: action %d has no such parameter", path, name, number)
		}
	}
	a, err := realmGame.Action(number, params...)
	if err != nil {
		return a, fmt.Errorf("%saction: %w", path, err)
	}
	return a, nil
}

type realmActionDo struct {
	realmTicked
	Action realmAction `json:"action"`
}

func (s *realmActionDo) show(m *realm.Message) {
	s.realmTicked.show(m)
	s.Action = showRealmAction(m.Action)
}

func (s *realmActionDo) fill(m *realm.Message) (err error) {
	m.Tick = s.Tick
	m.Action, err = s.Action.action("action.")
	return err
}

type realmActionsDone struct {
	realmTicked
	Actions []realmAction `json:"actions"`
}

func (s *realmActionsDone) show(m *realm.Message) {
	s.realmTicked.show(m)
	s.Actions = []realmAction{}
	for d := range m.Actions.All() {
		shown := showRealmAction(d.Action)
		shown["by"] = d.By
		s.Actions = append(s.Actions, shown)
	}
}

func (s *realmActionsDone) fill(m *realm.Message) error {
	m.Tick = s.Tick
	list := make([]realm.Done, len(s.Actions))
	for i, a := range s.Actions {
		path := fmt.Sprintf("actions[%d].", i)
		var err error
		if list[i].By, err = realmNumber(path+"by", a["by"]); err != nil {
			return err
		}
		if list[i].Action, err = a.action(path, "by"); err != nil {
			return err
		}
	}
	return realmNamed("actions", func() (err error) { m.Actions, err = realmGame.Actions(list...); return err })
}
