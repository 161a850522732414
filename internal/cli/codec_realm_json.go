package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"

	"parley/protocol/realm"
)

// A realmShape is the JSON of some kinds of message: just their fields, in the order that
// they are printed.
type realmShape interface {
	// carry takes what m says into the shape, or gives it to m, whose kind is set. An error names a
	// field of the shape that m has no room for.
	carry(w way, m *realm.Message) error
}

// A way says whether a message is shown or made.
type way bool

const (
	toShape   way = false
	toMessage way = true
)

// carried copies a field, whichever way.
func carried[T any](w way, shown, said *T) {
	if w == toShape {
		*shown = *said
	} else {
		*said = *shown
	}
}

// carriedText copies a text, whichever way.
func carriedText(w way, field string, shown *string, said *[]byte) (err error) {
	if w == toShape {
		*shown = string(*said)
	} else {
		*said, err = realmText(field, *shown)
	}
	return err
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

func (s *realmBare) carry(w way, m *realm.Message) error {
	if w == toShape {
		s.Message = m.Kind.String()
	}
	return nil
}

type realmCode struct {
	realmBare
	Code uint8 `json:"code"`
}

func (s *realmCode) carry(w way, m *realm.Message) error {
	carried(w, &s.Code, &m.Code)
	return s.realmBare.carry(w, m)
}

type realmAccount struct {
	realmBare
	Pseudo   string `json:"pseudo"`
	Password string `json:"password"`
}

func (s *realmAccount) carry(w way, m *realm.Message) error {
	s.realmBare.carry(w, m)
	if err := carriedText(w, "pseudo", &s.Pseudo, &m.Name); err != nil {
		return err
	}
	return carriedText(w, "password", &s.Password, &m.Password)
}

// realmLoginResponse has tick and timestamp if and only if it is a yes.
type realmLoginResponse struct {
	realmCode
	Tick      *uint16 `json:"tick,omitempty"`
	Timestamp *uint64 `json:"timestamp,omitempty"`
}

func (s *realmLoginResponse) carry(w way, m *realm.Message) error {
	s.realmCode.carry(w, m)
	switch {
	case w == toMessage && s.Code != 0 && (s.Tick != nil || s.Timestamp != nil):
		return fmt.Errorf("tick: only code 0 has tick and timestamp, not code %d", s.Code)
	case w == toMessage:
		m.Tick, m.Timestamp = realmOrZero(s.Tick), realmOrZero(s.Timestamp)
	case m.Code == 0:
		s.Tick, s.Timestamp = &m.Tick, &m.Timestamp
	}
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

func (s *realmTicked) carry(w way, m *realm.Message) error {
	carried(w, &s.Tick, &m.Tick)
	return s.realmBare.carry(w, m)
}

type realmMeta struct {
	realmTicked
	Entity uint16  `json:"entity"`
	Code   uint8   `json:"code"`
	Pseudo *string `json:"pseudo,omitempty"`
}

func (s *realmMeta) carry(w way, m *realm.Message) error {
	s.realmTicked.carry(w, m)
	carried(w, &s.Entity, &m.ID)
	carried(w, &s.Code, &m.Code)
	if w == toMessage && s.Code != 0 && s.Pseudo != nil {
		return fmt.Errorf("pseudo: only code 0 has one, not code %d", s.Code)
	}
	pseudo := realmOrZero(s.Pseudo)
	err := carriedText(w, "pseudo", &pseudo, &m.Name)
	if m.Code == 0 {
		s.Pseudo = &pseudo
	}
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

func (s *realmChunkUpdate) carry(w way, m *realm.Message) (err error) {
	s.realmTicked.carry(w, m)
	if w == toShape {
		s.Chunk = showRealmChunk(m.Chunk)
		return nil
	}
	m.Chunk, err = s.Chunk.chunk("chunk.")
	return err
}

type realmChunksUpdate struct {
	realmTicked
	Chunks []realmChunk `json:"chunks"`
}

func (s *realmChunksUpdate) carry(w way, m *realm.Message) error {
	s.realmTicked.carry(w, m)
	if w == toShape {
		s.Chunks = shownList(m.Chunks.All(), showRealmChunk)
		return nil
	}
	return madeList("chunks", s.Chunks, (*realmChunk).chunk, func(list []realm.Chunk) (err error) { m.Chunks, err = realm.MakeChunks(list...); return err })
}

// shownList shows each element of a list, which is printed as one if it is empty, too.
func shownList[Said, Shown any](list iter.Seq[Said], show func(Said) Shown) []Shown {
	shown := []Shown{}
	for v := range list {
		shown = append(shown, show(v))
	}
	return shown
}

// madeList makes each element of a list, and gives them to put; errors name the field.
func madeList[Shown, Said any](field string, shown []Shown, each func(s *Shown, path string) (Said, error), put func([]Said) error) error {
	list := make([]Said, len(shown))
	for i := range shown {
		var err error
		if list[i], err = each(&shown[i], fmt.Sprintf("%s[%d].", field, i)); err != nil {
			return err
		}
	}
	return realmNamed(field, func() error { return put(list) })
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

func (s *realmTerrainRequest) carry(w way, m *realm.Message) error {
	s.realmBare.carry(w, m)
	if w == toShape {
		s.Chunks = shownList(m.Wanted.All(), func(id realm.ChunkID) realmWanted { return realmWanted(id) })
		return nil
	}
	id := func(c *realmWanted, _ string) (realm.ChunkID, error) { return realm.ChunkID(*c), nil }
	return madeList("chunks", s.Chunks, id, func(list []realm.ChunkID) (err error) { m.Wanted, err = realm.MakeWanted(list...); return err })
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

func (s *realmActionDo) carry(w way, m *realm.Message) (err error) {
	s.realmTicked.carry(w, m)
	if w == toShape {
		s.Action = showRealmAction(m.Action)
		return nil
	}
	m.Action, err = s.Action.action("action.")
	return err
}

type realmActionsDone struct {
	realmTicked
	Actions []realmAction `json:"actions"`
}

func (s *realmActionsDone) carry(w way, m *realm.Message) error {
	s.realmTicked.carry(w, m)
	if w == toShape {
		s.Actions = shownList(m.Actions.All(), showRealmDone)
		return nil
	}
	return madeList("actions", s.Actions, (*realmAction).done, func(list []realm.Done) (err error) { m.Actions, err = realmGame.Actions(list...); return err })
}

func showRealmDone(d realm.Done) realmAction {
	s := showRealmAction(d.Action)
	s["by"] = d.By
	return s
}

func (s *realmAction) done(path string) (d realm.Done, err error) {
	if d.By, err = realmNumber(path+"by", (*s)["by"]); err == nil {
		d.Action, err = s.action(path, "by")
	}
	return d, err
}
