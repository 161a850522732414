package bots

import (
	"context"
	"sync/atomic"

	"parley/play/message"
	"parley/play/schema"
	"parley/protocol/realm"
	"parley/protocol/realm/core"
	"parley/world"
)

type realmVoice struct {
	*realm.Client
	you *atomic.Uint32
}

// realmReader returns what reads the events, and keeps the number of the own entity in you.
func (e *ear) realmReader(you *atomic.Uint32) func(realm.Event) {
	return func(ev realm.Event) {
		if ev.Kind == realm.EventMessage {
			e.readRealm(ev.Message, you)
		}
	}
}

func (e *ear) readRealm(m *core.Message, you *atomic.Uint32) {
	switch m.Kind {
	case core.KindEntityCreate, core.KindEntityUpdate:
		e.learn(func(v *Sight) { e.readBlock(v, &m.Entity) })
	case core.KindEntitiesUpdate:
		e.learn(func(v *Sight) {
			for block := range m.Entities.All() {
				e.readBlock(v, block)
			}
		})
	case core.KindEntityDestroy:
		e.learn(func(v *Sight) { delete(v.Things, m.ID) })
	case core.KindMetaAction:
		e.learn(func(v *Sight) {
			if core.MetaCode(m.Code) == core.MetaPlayerLeft {
				delete(v.Players, m.ID)
				return
			}
			v.Players[m.ID] = string(m.Name)
			if string(m.Name) == e.cfg.Name {
				v.You = m.ID
				you.Store(uint32(m.ID))
			}
		})
	case core.KindChunkUpdate:
		e.readRealmChunk(m.Chunk)
	case core.KindChunksUpdate:
		for c := range m.Chunks.All() {
			e.readRealmChunk(c)
		}
	case core.KindChatReceive:
		name := message.ServerName
		if m.ID != 0 {
			e.mu.Lock()
			name = e.sight.Players[m.ID]
			e.mu.Unlock()
		}
		e.tell(Notice{Kind: Said, Name: name, Text: string(m.Text), Entity: m.ID})
	case core.KindActionsDone:
		for d := range m.Actions.All() {
			e.tell(Notice{Kind: Acted, Entity: d.By})
		}
	}
}

func (e *ear) readRealmChunk(c core.Chunk) {
	e.keep(world.ChunkPlace{BX: c.BX, BY: c.BY}, func(cells *world.Cells) { c.FillIn((*core.Terrain)(cells)) })
}

// readBlock takes over what a block says.
func (e *ear) readBlock(v *Sight, b *core.Entity) {
	t := v.Things[b.ID]
	if b.Has&core.HasType != 0 {
		t.Kind = int(b.Type) + e.cfg.FirstType
	}
	if b.Has&core.HasPosition != 0 {
		t.X, t.Y = world.Place(b.Position.BX, b.Position.BY, b.Position.X, b.Position.Y)
	}
	if b.Has&core.HasSpeedAngle != 0 {
		t.Angle = b.SpeedAngle
	}
	if b.Has&core.HasSpeedNorm != 0 {
		t.Norm = b.SpeedNorm
	}
	v.Things[b.ID] = t
}

func (v realmVoice) steer(angle, norm float32) error {
	return v.Update(core.Entity{ID: uint16(v.you.Load()), Has: core.HasSpeedAngle | core.HasSpeedNorm, SpeedAngle: angle, SpeedNorm: norm})
}

func (v realmVoice) act(a *world.Action, params []world.Value) error {
	var values []core.Value
	var texts []byte
	for i, p := range params {
		if a.Fields[i].Type == world.Entity && p.Uint() == 0 {
			// What the action creates has a number of our own until the server gives it one.
			id, _ := v.Temporary()
			p = world.UintValue(world.Entity, uint64(id))
		}
		values = append(values, schema.ToRealm(&a.Fields[i], p, &texts))
	}
	action, err := v.Codec().Action(uint16(a.Number), values...)
	if err != nil {
		return err
	}
	return v.Act(action)
}

func (v realmVoice) say(_ context.Context, text string) error { return v.Say(text) }
