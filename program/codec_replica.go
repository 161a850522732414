package program

import (
	"fmt"
	"math"
	"slices"

	"parley/protocol/replica/core"
)

var replicaCodec = newCodec("replica", &replicaTable, (*replicaPacket).parse, (*replicaPacket).bytes)

// A replicaPacket is a packet with the lists of a link.table, a replicate or a bundle, which core.Packet has as bytes.
type replicaPacket struct {
	core.Packet
	linked         []core.LinkedVariable // of a link.table
	linkedEntities []replicaEntity
	updates        []replicaUpdate // of a replicate
	values         []core.Value
	packets        []replicaPacket // of a bundle
}

type replicaEntity struct {
	Link      uint16
	Name      []byte
	Variables []core.LinkedVariable
}

type replicaUpdate struct {
	Link      uint16
	Variables []replicaVariableUpdate
}

type replicaVariableUpdate struct {
	Link   uint16
	Values []replicaEntityValue
}

type replicaEntityValue struct {
	Entity uint8
	Data   []byte
}

var replicaTable = newReplicaTable()

func newReplicaTable() table[replicaPacket, core.Kind] {
	t := table[replicaPacket, core.Kind]{"packet", func(p *replicaPacket) *core.Kind { return &p.Kind }, replicaKinds()}
	t.kinds[core.KindBundle] = listField("packets", core.MaxBundled, &t, func(p *replicaPacket) *[]replicaPacket { return &p.packets })
	return t
}

func replicaKinds() map[core.Kind]fields[replicaPacket] {
	type P = replicaPacket
	plain := plainFields[P]
	extended, more := plain("extended").sparse(), plain("more").sparse()
	orderLink := numberField("order_link", core.MaxOrderLink, func(p *P) *uint8 { return &p.OrderLink }).sparse()
	name := textField("name", core.MaxNameBytes, func(p *P) *[]byte { return &p.Name })
	data := hexField("data", core.MaxDataBytes, func(p *P) *[]byte { return &p.Data })
	reason := reasonField(core.MaxReasonBytes, func(p *P) *[]byte { return &p.Reason }, func(p *P) string { return p.ReasonText() })
	flagged := func(more ...fields[P]) fields[P] {
		return slices.Concat(plain("reliable", "ordered", "sequence"), slices.Concat(more...))
	}
	return map[core.Kind]fields[P]{
		core.KindInit:       flagged(extended),
		core.KindAccept:     flagged(plain("received", "sent", "sync_interval_us=SyncInterval"), extended),
		core.KindReject:     flagged(reason),
		core.KindDisconnect: flagged(reason),
		core.KindSyncInit:   plain("sequence"),
		core.KindSyncAck:    plain("sequence", "acked", "sent", "received"),
		core.KindAck:        plain("acked"),
		core.KindLinkInit:   flagged(orderLink),
		core.KindLinkTable:  flagged(orderLink, replicaLinks()),
		core.KindLinkAccept: flagged(orderLink),
		core.KindLinkReject: flagged(orderLink),
		core.KindReplicate:  flagged(plain("timestamp=Time"), replicaUpdates()),
		core.KindMessage:    flagged(plain("timestamp=Time"), name, data, orderLink, more),
		core.KindAckRun:     plain("first=Acked", "count"),
	}
}

// replicaLinks are the lists of a link.table.
func replicaLinks() fields[replicaPacket] {
	type (
		P = replicaPacket
		E = replicaEntity
		V = core.LinkedVariable
	)
	var types []core.DataType
	for t := core.DataChar; t <= core.DataChars; t++ {
		types = append(types, t)
	}
	variable := func(maxLink uint16) fields[V] {
		return slices.Concat(
			numberField("link", maxLink, func(v *V) *uint16 { return &v.Link }),
			shapedField("type", func(v *V) string { return v.Type.String() },
				func(v *V, name string) (err error) { v.Type, err = named("type", "data type", name, types); return err }),
			textField("name", core.MaxNameBytes, func(v *V) *[]byte { return &v.Name }))
	}
	entity := slices.Concat(
		plainFields[E]("link"),
		textField("name", core.MaxNameBytes, func(e *E) *[]byte { return &e.Name }),
		listField("variables", core.MaxListed, variable(math.MaxUint8), func(e *E) *[]V { return &e.Variables }))
	return slices.Concat(
		listField("variables", core.MaxListed, variable(math.MaxUint16), func(p *P) *[]V { return &p.linked }),
		listField("entities", core.MaxListed, entity, func(p *P) *[]E { return &p.linkedEntities }))
}

// replicaUpdates are the lists of a replicate.
func replicaUpdates() fields[replicaPacket] {
	type (
		P = replicaPacket
		E = replicaUpdate
		V = replicaVariableUpdate
		D = replicaEntityValue
	)
	value := slices.Concat(plainFields[D]("entity"), hexField("data", core.MaxValueBytes, func(d *D) *[]byte { return &d.Data }))
	variable := slices.Concat(plainFields[V]("link"), listField("values", core.MaxListed, value, func(v *V) *[]D { return &v.Values }))
	entity := slices.Concat(plainFields[E]("link"), listField("variables", core.MaxListed, variable, func(e *E) *[]V { return &e.Variables }))
	ofNone := slices.Concat(plainFields[core.Value]("link"), hexField("data", core.MaxValueBytes, func(v *core.Value) *[]byte { return &v.Data }))
	return slices.Concat(
		listField("entities", core.MaxListed, entity, func(p *P) *[]E { return &p.updates }),
		listField("variables", core.MaxListed, ofNone, func(p *P) *[]core.Value { return &p.values }))
}

func (p *replicaPacket) parse(from side, _ string, b []byte) error {
	if err := p.ParseErr(core.Side(from), b); err != nil {
		return err
	}
	p.linked, p.linkedEntities = slices.Collect(p.Table.Variables()), nil
	for e := range p.Table.Entities() {
		p.linkedEntities = append(p.linkedEntities, replicaEntity{e.Link, e.Name, slices.Collect(e.Variables())})
	}
	p.updates, p.values = nil, slices.Collect(p.Values.Variables())
	for e := range p.Values.Entities() {
		update := replicaUpdate{Link: e.Link}
		for v := range e.Variables() {
			variable := replicaVariableUpdate{Link: v.Link}
			for id, data := range v.Values() {
				variable.Values = append(variable.Values, replicaEntityValue{id, data})
			}
			update.Variables = append(update.Variables, variable)
		}
		p.updates = append(p.updates, update)
	}
	p.packets = nil
	for b := range p.Bundle.Packets() {
		var inner replicaPacket
		if err := inner.parse(from, "", b); err != nil {
			return err
		}
		p.packets = append(p.packets, inner)
	}
	return nil
}

func (p *replicaPacket) bytes(from side, _ string) ([]byte, error) {
	switch p.Kind {
	case core.KindBundle:
		return p.bundle(from)
	case core.KindLinkTable:
		return p.table(), nil
	case core.KindReplicate:
		return p.replicate(), nil
	}
	return p.AppendTo(nil), nil
}

func (p *replicaPacket) table() []byte {
	var w core.TableWriter
	w.Start(nil, &p.Packet, math.MaxInt)
	for _, v := range p.linked {
		w.Variable(v.Link, v.Type, string(v.Name))
	}
	for _, e := range p.linkedEntities {
		w.Entity(e.Link, string(e.Name))
		for _, v := range e.Variables {
			w.EntityVariable(uint8(v.Link), v.Type, string(v.Name))
		}
	}
	return w.Bytes()
}

func (p *replicaPacket) bundle(from side) ([]byte, error) {
	p.Bundle = core.Bundle{}
	for i := range p.packets {
		b, err := p.packets[i].bytes(from, "")
		if err == nil {
			err = inLimit("size", len(b), core.MaxBundledBytes)
		}
		if err != nil {
			return nil, fmt.Errorf("packets[%d].%w", i, err)
		}
		p.Bundle.Add(b)
	}
	return p.AppendTo(nil), nil
}

func (p *replicaPacket) replicate() []byte {
	var w core.ReplicateWriter
	w.Start(nil, &p.Packet, math.MaxInt)
	for _, e := range p.updates {
		w.Entity(e.Link)
		for _, v := range e.Variables {
			w.EntityVariable(v.Link)
			for _, d := range v.Values {
				w.EntityValue(d.Entity, d.Data)
			}
		}
	}
	for _, v := range p.values {
		w.Variable(v.Link, v.Data)
	}
	return w.Bytes()
}
