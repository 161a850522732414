package program

import (
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"parley/protocol/replica/core"
)

// replicaCodec joins the dialect replica to decode and encode.
var replicaCodec = Codec{Name: "replica", Decode: decodeReplica, Encode: encodeReplica}

var replicaSides = map[Side]core.Side{SideClient: core.FromClient, SideServer: core.FromServer}

// replicaDraft is a packet with the lists that its writers are to be given.
type replicaDraft struct {
	core.Packet
	linked         []replicaLinked // of a link.table
	linkedEntities []replicaLinkedEntity
	updates        []replicaUpdate // of a replicate
	values         []replicaValue
}

var replicaTable = table[replicaDraft, core.Kind]{"packet", func(p *replicaDraft) *core.Kind { return &p.Kind }, replicaKinds()}

func replicaKinds() map[core.Kind][]field[replicaDraft] {
	type P = replicaDraft
	sequence := plainField("sequence", func(p *P) *uint16 { return &p.Sequence })
	acked := plainField("acked", func(p *P) *uint16 { return &p.Acked })
	received := plainField("received", func(p *P) *uint64 { return &p.Received })
	sent := plainField("sent", func(p *P) *uint64 { return &p.Sent })
	timestamp := plainField("timestamp", func(p *P) *uint64 { return &p.Time })
	interval := plainField("sync_interval_us", func(p *P) *uint32 { return &p.SyncInterval })
	extended := plainField("extended", func(p *P) *bool { return &p.Extended }).sparse()
	more := plainField("more", func(p *P) *bool { return &p.More }).sparse()
	orderLink := numberField("order_link", core.MaxOrderLink, func(p *P) *uint8 { return &p.OrderLink }).sparse()
	name := textField("name", core.MaxNameBytes, func(p *P) *[]byte { return &p.Name })
	data := hexField("data", core.MaxDataBytes, func(p *P) *[]byte { return &p.Data })
	reason := textField("reason", core.MaxReasonBytes, func(p *P) *[]byte { return &p.Reason })
	reason.show = func(p *P) any { return p.ReasonText() }
	flagged := func(more ...field[P]) []field[P] {
		return slices.Concat([]field[P]{
			plainField("reliable", func(p *P) *bool { return &p.Reliable }),
			plainField("ordered", func(p *P) *bool { return &p.Ordered }),
			sequence,
		}, more)
	}
	return map[core.Kind][]field[P]{
		core.KindInit:       flagged(extended),
		core.KindAccept:     flagged(received, sent, interval, extended),
		core.KindReject:     flagged(reason),
		core.KindDisconnect: flagged(reason),
		core.KindSyncInit:   {sequence},
		core.KindSyncAck:    {sequence, acked, sent, received},
		core.KindAck:        {acked},
		core.KindLinkInit:   flagged(orderLink),
		core.KindLinkTable: flagged(orderLink,
			shapedField("variables", func(p *P) []replicaLinked { return showReplicaLinked(p.Table.Variables()) }, func(p *P, list []replicaLinked) error { p.linked = list; return nil }),
			shapedField("entities", showReplicaTable, func(p *P, list []replicaLinkedEntity) error { p.linkedEntities = list; return nil })),
		core.KindLinkAccept: flagged(orderLink),
		core.KindLinkReject: flagged(orderLink),
		core.KindReplicate: flagged(timestamp,
			shapedField("entities", showReplicaUpdates, func(p *P, list []replicaUpdate) error { p.updates = list; return nil }),
			shapedField("variables", showReplicaValues, func(p *P, list []replicaValue) error { p.values = list; return nil })),
		core.KindMessage: flagged(timestamp, name, data, orderLink, more),
	}
}

func decodeReplica(from Side, _ string, b []byte) (any, error) {
	var p replicaDraft
	if err := p.ParseErr(replicaSides[from], b); err != nil {
		return nil, err
	}
	return replicaTable.show(&p), nil
}

func encodeReplica(from Side, _ string, line []byte) ([]byte, error) {
	var p replicaDraft
	if err := replicaTable.take(&p, line); err != nil {
		return nil, err
	}
	b, err := p.bytes()
	if err != nil {
		return nil, err
	}
	// What is left to be wrong is wrong in the bytes too, and Parse has words for it.
	return b, p.ParseErr(replicaSides[from], b)
}

func (p *replicaDraft) bytes() ([]byte, error) {
	switch p.Kind {
	case core.KindLinkTable:
		return new(replicaTableBuilder).build(&p.Packet, p.linked, p.linkedEntities)
	case core.KindReplicate:
		return replicaValues(&p.Packet, p.updates, p.values)
	}
	return p.AppendTo(nil), nil
}

// replicaLinked is a variable of a table or of one of its entities.
type replicaLinked struct {
	Link uint16 `json:"link"`
	Type string `json:"type"`
	Name string `json:"name"`
}

type replicaLinkedEntity struct {
	Link      uint16          `json:"link"`
	Name      string          `json:"name"`
	Variables []replicaLinked `json:"variables"`
}

// Lists that are empty are printed as such, not as null.
func showReplicaLinked(list iter.Seq[core.LinkedVariable]) []replicaLinked {
	return shownList(list, func(v core.LinkedVariable) replicaLinked {
		return replicaLinked{v.Link, v.Type.String(), string(v.Name)}
	})
}

func showReplicaTable(p *replicaDraft) []replicaLinkedEntity {
	return shownList(p.Table.Entities(), func(e core.LinkedEntity) replicaLinkedEntity {
		return replicaLinkedEntity{e.Link, string(e.Name), showReplicaLinked(e.Variables())}
	})
}

type replicaUpdate struct {
	Link      uint16                  `json:"link"`
	Variables []replicaVariableUpdate `json:"variables"`
}

type replicaVariableUpdate struct {
	Link   uint16               `json:"link"`
	Values []replicaEntityValue `json:"values"`
}

type replicaEntityValue struct {
	Entity uint8  `json:"entity"`
	Data   string `json:"data"` // hex
}

type replicaValue struct {
	Link uint16 `json:"link"`
	Data string `json:"data"` // hex
}

func showReplicaUpdates(p *replicaDraft) []replicaUpdate {
	list := []replicaUpdate{}
	for e := range p.Values.Entities() {
		update := replicaUpdate{e.Link, []replicaVariableUpdate{}}
		for u := range e.Variables() {
			values := []replicaEntityValue{}
			for id, data := range u.Values() {
				values = append(values, replicaEntityValue{id, hex.EncodeToString(data)})
			}
			update.Variables = append(update.Variables, replicaVariableUpdate{u.Link, values})
		}
		list = append(list, update)
	}
	return list
}

func showReplicaValues(p *replicaDraft) []replicaValue {
	list := []replicaValue{}
	for v := range p.Values.Variables() {
		list = append(list, replicaValue{v.Link, hex.EncodeToString(v.Data)})
	}
	return list
}

// A replicaTableBuilder writes the parts of a link.table and keeps the first
// error, so that the walk over them has no other business.
type replicaTableBuilder struct {
	w   core.TableWriter
	err error
}

// check notes the first thing that the writer could not take.
func (t *replicaTableBuilder) check(err error) bool {
	if t.err == nil {
		t.err = err
	}
	return t.err == nil
}

func (t *replicaTableBuilder) build(head *core.Packet, variables []replicaLinked, entities []replicaLinkedEntity) ([]byte, error) {
	t.check(inLimit("variables", len(variables), core.MaxListed))
	t.check(inLimit("entities", len(entities), core.MaxListed))
	t.w.Start(nil, head, math.MaxInt)
	for i, v := range variables {
		kind := t.linked(fmt.Sprintf("variables[%d]", i), v, math.MaxUint16)
		if t.err != nil {
			return nil, t.err
		}
		t.w.Variable(v.Link, kind, v.Name)
	}
	for i, e := range entities {
		path := fmt.Sprintf("entities[%d]", i)
		t.check(inLimit(path+".name", len(e.Name), core.MaxNameBytes))
		t.check(inLimit(path+".variables", len(e.Variables), core.MaxListed))
		if t.err != nil {
			return nil, t.err
		}
		t.w.Entity(e.Link, e.Name)
		for j, v := range e.Variables {
			kind := t.linked(fmt.Sprintf("%s.variables[%d]", path, j), v, math.MaxUint8)
			if t.err != nil {
				return nil, t.err
			}
			t.w.EntityVariable(uint8(v.Link), kind, v.Name)
		}
	}
	return t.w.Bytes(), t.err
}

// linked checks one variable and returns its type.
func (t *replicaTableBuilder) linked(path string, v replicaLinked, maxLink int) core.DataType {
	t.check(inLimit(path+".link", int(v.Link), maxLink))
	t.check(inLimit(path+".name", len(v.Name), core.MaxNameBytes))
	for kind := core.DataChar; kind <= core.DataChars; kind++ {
		if kind.String() == v.Type {
			return kind
		}
	}
	t.check(fmt.Errorf("%s.type: no data type is named %q", path, v.Type))
	return 0
}

// replicaValues writes the parts of a replicate.
func replicaValues(head *core.Packet, entities []replicaUpdate, variables []replicaValue) ([]byte, error) {
	if err := errors.Join(inLimit("entities", len(entities), core.MaxListed),
		inLimit("variables", len(variables), core.MaxListed)); err != nil {
		return nil, err
	}
	var w core.ReplicateWriter
	w.Start(nil, head, math.MaxInt)
	for i, e := range entities {
		w.Entity(e.Link)
		if err := replicaUpdates(&w, fmt.Sprintf("entities[%d].variables", i), e.Variables); err != nil {
			return nil, err
		}
	}
	for i, v := range variables {
		data, err := bytesOf(fmt.Sprintf("variables[%d].data", i), v.Data, core.MaxValueBytes)
		if err != nil {
			return nil, err
		}
		w.Variable(v.Link, data)
	}
	return w.Bytes(), nil
}

func replicaUpdates(w *core.ReplicateWriter, path string, updates []replicaVariableUpdate) error {
	if err := inLimit(path, len(updates), core.MaxListed); err != nil {
		return err
	}
	for i, u := range updates {
		w.EntityVariable(u.Link)
		path := fmt.Sprintf("%s[%d].values", path, i)
		if err := inLimit(path, len(u.Values), core.MaxListed); err != nil {
			return err
		}
		for j, v := range u.Values {
			data, err := bytesOf(fmt.Sprintf("%s[%d].data", path, j), v.Data, core.MaxValueBytes)
			if err != nil {
				return err
			}
			w.EntityValue(v.Entity, data)
		}
	}
	return nil
}
