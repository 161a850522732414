package program

import (
	"encoding/json"
	"strings"

	"parley/play/message"
	"parley/play/schema"
	duplex "parley/protocol/duplex/core"
	realm "parley/protocol/realm/core"
	relay "parley/protocol/relay/core"
	stamp "parley/protocol/stamp/core"
	"parley/world"
)

// names tells what packets say of a game: entities and actions, with the names of kinds and fields. A packet is read again for it, as the
// codecs show what the dialect's document has, in which all this is bytes.
type names struct {
	schema *world.Schema
	realm  *realm.Codec
}

func newNames(s *world.Schema) *names { return &names{s, realm.NewCodec(schema.Realm(s, 0))} }

// of returns what a packet of a dialect, which its codec has read, says of the game.
func (n *names) of(r route, b []byte) []object {
	switch r.codec.Name {
	case "replica":
		var p replicaPacket
		if p.parse(r.from, "", b) == nil {
			return n.replica(&p, r.from)
		}
	case "stamp":
		var p stamp.Packet
		if p.ParseErr(stamp.Side(r.from), b) == nil && p.Kind == stamp.KindEntity {
			return n.records(p.Data, message.Little)
		}
	case "relay":
		var d relay.Datagram
		if d.ParseErr(b) == nil && d.Kind == relay.KindPackage && d.ToServer && len(d.Payload) > 0 {
			return n.relay(r.from, d.Payload[0], d.Payload[1:])
		}
	case "duplex":
		var d duplex.Datagram
		if parseDuplex(&d, r.from, r.channel, b) == nil {
			return n.duplex(r.from, &d.Message)
		}
	case "realm":
		var m realm.Message
		if n.realm.ParseErr(realm.Side(r.from), b, &m) == nil {
			return n.realmMessage(&m)
		}
	}
	return nil
}

func (n *names) relay(from side, first byte, rest []byte) []object {
	switch {
	case from == sideClient && first == message.RelayAct:
		a, params, _, _, ok := message.ParseStampedAct(n.schema, rest, message.Big)
		return acted(ok, a, params[:], nil)
	case from == sideServer && first == message.RelayEntities:
		return n.records(rest, message.Big)
	case from == sideServer && first == message.RelayDone:
		d, ok := message.ParseRelayDone(n.schema, rest)
		return acted(ok, d.Action, d.Params[:], object{{"entity", d.Entity}})
	case from == sideServer && first == message.RelayTick && len(rest) > message.FateBytes:
		return n.records(rest[message.FateBytes:], message.Big)
	}
	return nil
}

func (n *names) duplex(from side, m *duplex.Message) []object {
	isState := m.Kind == duplex.KindSync || m.Kind == duplex.KindUpdate
	switch {
	case from == sideClient && m.Kind == duplex.KindQuery && m.Code == message.DuplexAct:
		a, params, ok := message.ParseAct(n.schema, m.Data, message.Big)
		return acted(ok, a, params[:], nil)
	case from == sideClient && m.Kind == duplex.KindQuery && m.Code == message.DuplexStamped:
		a, _, params, ok := message.ParseDuplexAct(n.schema, m.Data)
		return acted(ok, a, params[:], nil)
	case from != sideServer || !isState:
		return nil
	case m.SID == message.DuplexDone && m.Kind == duplex.KindSync:
		d, ok := message.ParseDuplexDone(n.schema, m.Data)
		return acted(ok, d.Action, d.Params[:], object{{"entity", d.Entity}})
	case m.SID == message.DuplexTick && m.Kind == duplex.KindUpdate && len(m.Data) > message.FateBytes:
		return n.element(object{}, m.Data[message.FateBytes:])
	case m.SID > 0:
		return n.element(object{{"entity", m.SID}}, m.Data)
	}
	return nil
}

func (n *names) element(o object, b []byte) []object {
	kind, fields, ok := message.ParseElement(b)
	if !ok {
		return nil
	}
	return n.entity(o, kind, fields, message.Big)
}

// records shows the records of stamp and relay.
func (n *names) records(b []byte, o world.Order) (list []object) {
	for rec := range message.Records(b, o) {
		list = append(list, n.entity(object{{"entity", rec.Entity}}, rec.Kind, rec.Fields, o)...)
	}
	return list
}

// entity shows all fields of an entity, or that it is gone if it has none.
func (n *names) entity(o object, kind int, b []byte, order world.Order) []object {
	k := n.schema.Kind(kind)
	if len(b) == 0 {
		if k != nil {
			o = append(o, member{"kind", k.Name})
		}
		return []object{append(o, member{"gone", true})}
	}
	if k == nil {
		return nil
	}
	values := make([]world.Value, len(k.Fields))
	if rest, ok := message.ParseFields(values, k.Fields, b, order); !ok || len(rest) > 0 {
		return nil
	}
	return []object{append(o, member{"kind", k.Name}, member{"fields", namedValues(k.Fields, values)})}
}

// replica shows values and actions. The links of kinds are those that our own servers give them.
func (n *names) replica(p *replicaPacket, from side) (list []object) {
	for i := range p.packets {
		list = append(list, n.replica(&p.packets[i], from)...)
	}
	for _, u := range p.updates {
		if int(u.Link) >= len(n.schema.Kinds) {
			continue
		}
		k := n.schema.Kinds[u.Link]
		for _, v := range u.Variables {
			for i := range k.Fields {
				if at, _ := message.VariableOf(k, i); at != int(v.Link) {
					continue
				}
				for _, e := range v.Values {
					value, ok := message.ParseVariable(k, i, e.Data)
					if k.Fields[i].Type == world.Text {
						value, ok = world.TextValue(string(e.Data)), true
					}
					if ok {
						list = append(list, object{{"id", e.Entity}, {"kind", k.Name}, {"fields", namedValues(k.Fields[i:i+1], []world.Value{value})}})
					}
				}
			}
		}
	}
	a := n.schema.ActionNamed(string(p.Name))
	switch {
	case a == nil:
	case from == sideClient:
		params, _, _, ok := message.ParseStampedParams(a, p.Data, message.Little)
		list = append(list, acted(ok, a, params[:], nil)...)
	default:
		d, ok := message.ParseReplicaDone(a, p.Data)
		list = append(list, acted(ok, a, d.Params[:], object{{"id", d.Actor.ID}})...)
	}
	return list
}

func (n *names) realmMessage(m *realm.Message) (list []object) {
	switch m.Kind {
	case realm.KindEntityCreate, realm.KindEntityUpdate:
		list = n.block(&m.Entity)
	case realm.KindEntitiesUpdate:
		for e := range m.Entities.All() {
			list = append(list, n.block(e)...)
		}
	case realm.KindActionDo:
		list = n.realmAction(&m.Action, nil)
	case realm.KindActionsDone:
		for d := range m.Actions.All() {
			list = append(list, n.realmAction(&d.Action, object{{"entity", d.By}})...)
		}
	}
	return list
}

// block shows the attributes of a block. One without its type is of any kind that has such an attribute: all their names are shown.
func (n *names) block(e *realm.Entity) []object {
	o, fields := object{{"entity", e.ID}}, object{}
	if k := n.schema.Kind(int(e.Type)); k != nil && e.Has&realm.HasType != 0 {
		o = append(o, member{"kind", k.Name})
	}
	for id, v := range e.Attributes.All() {
		var names []string
		var value any
		for _, k := range n.schema.Kinds {
			if e.Has&realm.HasType != 0 && k.Number != int(e.Type) {
				continue
			}
			for i := range k.Fields {
				f := &k.Fields[i]
				if f.InBody || f.Attr != id {
					continue
				}
				if got, ok := schema.FromRealm(f, v); ok {
					names, value = append(names, f.Name), valueJSON(got)
				}
			}
		}
		if len(names) > 0 {
			fields = append(fields, member{strings.Join(names, "|"), value})
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return []object{append(o, member{"fields", fields})}
}

func (n *names) realmAction(a *realm.Action, o object) []object {
	known := n.schema.Action(int(a.ID))
	if known == nil {
		return nil
	}
	params := make([]world.Value, len(known.Fields))
	for i := range params {
		var ok bool
		if params[i], ok = schema.FromRealm(&known.Fields[i], a.Params.Get(i)); !ok {
			return nil
		}
	}
	return acted(true, known, params, o)
}

// acted shows an action, behind who did it.
func acted(ok bool, a *world.Action, params []world.Value, o object) []object {
	if !ok {
		return nil
	}
	return []object{append(o, member{"action", a.Name}, member{"parameters", namedValues(a.Fields, params[:len(a.Fields)])})}
}

// namedValues shows values by the names of their fields.
func namedValues(fields []world.Field, values []world.Value) object {
	o := object{}
	for i := range fields {
		o = append(o, member{fields[i].Name, valueJSON(values[i])})
	}
	return o
}

// valueJSON is a value as JSON has it.
func valueJSON(v world.Value) any {
	if v.Type == world.Text {
		return v.Text()
	}
	return json.RawMessage(v.String())
}
