package core

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// allKinds are the fifteen packets.
var allKinds = func() (kinds []Kind) {
	for k := KindInit; int(k) < len(rules); k++ {
		kinds = append(kinds, k)
	}
	return kinds
}()

// sideOf returns a side that may send k.
func sideOf(k Kind) Side {
	if rules[k].from&FromServer != 0 {
		return FromServer
	}
	return FromClient
}

// model is a packet as plain values: what a writer was told, and what a walk over
// the parsed packet must find.
type model struct {
	p    Packet
	from Side

	variables []LinkedVariable
	entities  []modelEntity
	updates   []EntityValue // one for each value, with the links that lead to it
	values    []Value
	bundled   [][]byte
	inner     *model // of a bundle

	text [600]byte // ASCII, which names and data are cut from
}

type modelEntity struct {
	link      uint16
	name      []byte
	variables []LinkedVariable
}

// someText has runes of each length; names are cut from it at their borders.
const someText = "naïve Müller 日本語 🚀 plain text, and more of it than the eight bytes that are read at once"

var someBytes = []byte(someText)

var textCuts = func() (cuts []int) {
	for i := range someText {
		cuts = append(cuts, i)
	}
	return append(cuts, len(someText))
}()

// draw is a cheap source: the tests make millions of packets.
type draw struct {
	r    *rand.Rand
	pool uint64
	left int
}

func (d *draw) bits(n int) uint64 {
	if d.left < n {
		d.pool, d.left = d.r.Uint64(), 64
	}
	v := d.pool & (1<<n - 1)
	d.pool >>= n
	d.left -= n
	return v
}

func (d *draw) coin() bool { return d.bits(1) == 1 }

// size is mostly small, now and then at the limit.
func (d *draw) size(small, limit int) int {
	switch v := int(d.bits(10)); {
	case v == 0:
		return limit
	case v == 1:
		return limit - 1
	default:
		return v % (small + 1)
	}
}

func (m *model) name(d *draw) []byte {
	switch i := int(d.bits(10)); i {
	case 0:
		return m.text[:MaxNameBytes]
	case 1:
		return nil
	default:
		end := textCuts[i%24]
		return someBytes[:end:end]
	}
}

func (m *model) data(d *draw, small, limit int) []byte {
	n := d.size(small, limit)
	from := int(d.bits(6))
	if from+n > len(m.text) {
		return make([]byte, n)
	}
	return m.text[from : from+n]
}

func newModel(r *rand.Rand) *model {
	m := &model{}
	for i := range m.text {
		m.text[i] = byte(r.Uint32()) & 0x7f
	}
	return m
}

// randomise makes m any valid packet of kind k.
func (m *model) randomise(d *draw, k Kind) {
	rule := rules[k]
	m.from = sideOf(k)
	if rule.from == fromBoth && d.coin() {
		m.from = FromClient
	}
	m.p = Packet{Kind: k}
	if rule.may&flagReliable != 0 {
		m.p.Reliable = rule.must&flagReliable != 0 || d.coin()
	}
	if rule.may&flagOrdered != 0 {
		m.p.Ordered = rule.must&flagOrdered != 0 || m.p.Reliable && d.coin()
	}
	if m.p.Ordered {
		m.p.OrderLink = uint8(d.bits(5))
	}
	if k != KindAck && k < KindBundle {
		m.p.Sequence = uint16(d.bits(16))
	}
	switch k {
	case KindInit:
		m.p.Sequence, m.p.Extended = 0, d.coin()
	case KindAccept:
		m.p.Sequence, m.p.Extended = 1, d.coin()
		m.p.Received, m.p.Sent, m.p.SyncInterval = d.r.Uint64(), d.r.Uint64(), d.r.Uint32()
	case KindReject, KindDisconnect:
		if m.from == FromServer {
			m.p.Reason = m.data(d, 30, MaxReasonBytes)
		}
	case KindSyncAck:
		m.p.Acked, m.p.Received, m.p.Sent = uint16(d.bits(16)), d.r.Uint64(), d.r.Uint64()
	case KindAck:
		m.p.Acked = uint16(d.bits(16))
	case KindAckRun:
		m.p.Acked, m.p.Count = uint16(d.bits(16)), uint16(1+d.bits(10))
	case KindBundle:
		m.randomiseBundle(d)
	case KindLinkTable:
		m.randomiseTable(d)
	case KindReplicate:
		m.p.Time = d.r.Uint64()
		m.randomiseValues(d)
	case KindMessage:
		m.p.More = m.p.Ordered && d.coin()
		m.p.Time, m.p.Name, m.p.Data = d.r.Uint64(), m.name(d), m.data(d, 40, 600)
	}
}

// randomiseBundle makes m a bundle of some packets that its side may send.
func (m *model) randomiseBundle(d *draw) {
	if m.inner == nil {
		m.inner = newModel(d.r)
	}
	m.bundled = m.bundled[:0]
	acked, from := 0, m.from
	for range d.size(3, MaxBundled-1) + 1 {
		k := bundleKinds[d.bits(8)%uint64(len(bundleKinds))]
		m.inner.randomise(d, k)
		if k == KindAckRun {
			m.inner.p.Count = uint16(1 + d.bits(4))
		}
		if acked += int(m.inner.p.Count) + 1; rules[k].from&from == 0 || acked > MaxAcked {
			m.inner.p = Packet{Kind: KindSyncAck}
		}
		m.bundled = append(m.bundled, m.inner.appendTo(nil, nil))
	}
}

// bundleKinds are the packets that a bundle may hold.
var bundleKinds = []Kind{KindSyncInit, KindSyncAck, KindAck, KindLinkInit, KindLinkTable, KindLinkAccept, KindLinkReject, KindReplicate, KindMessage, KindAckRun}

func (m *model) randomiseTable(d *draw) {
	linked := func(linkBits int) LinkedVariable {
		return LinkedVariable{uint16(d.bits(linkBits)), DataType(d.bits(8) % uint64(dataTypes)), m.name(d)}
	}
	m.variables, m.entities = m.variables[:0], m.entities[:0]
	for range d.bits(2) {
		m.variables = append(m.variables, linked(16))
	}
	for i := range int(d.bits(2)) {
		if i < cap(m.entities) {
			m.entities = m.entities[:i+1]
		} else {
			m.entities = append(m.entities, modelEntity{})
		}
		e := &m.entities[i]
		e.link, e.name, e.variables = uint16(d.bits(16)), m.name(d), e.variables[:0]
		for range d.bits(2) {
			e.variables = append(e.variables, linked(8))
		}
	}
}

func (m *model) randomiseValues(d *draw) {
	m.updates, m.values = m.updates[:0], m.values[:0]
	v := EntityValue{Entity: uint16(d.bits(16)), Variable: uint16(d.bits(16))}
	for range d.bits(3) {
		switch d.bits(2) {
		case 0:
			v.Entity = uint16(d.bits(16))
		case 1:
			v.Variable = uint16(d.bits(16))
		}
		v.ID, v.Data = uint8(d.bits(8)), m.data(d, 9, MaxValueBytes)
		m.updates = append(m.updates, v)
	}
	for range d.bits(2) {
		m.values = append(m.values, Value{uint16(d.bits(16)), m.data(d, 9, MaxValueBytes)})
	}
}

// appendTo appends the packet's bytes, tables and values by their writers.
func (m *model) appendTo(t testing.TB, b []byte) []byte {
	all := true
	switch m.p.Kind {
	case KindLinkTable:
		var w TableWriter
		w.Start(b, &m.p, 1<<20)
		for _, v := range m.variables {
			all = all && w.Variable(v.Link, v.Type, string(v.Name))
		}
		for _, e := range m.entities {
			all = all && w.Entity(e.link, string(e.name))
			for _, v := range e.variables {
				all = all && w.EntityVariable(uint8(v.Link), v.Type, string(v.Name))
			}
		}
		b = w.Bytes()
	case KindReplicate:
		var w ReplicateWriter
		w.Start(b, &m.p, 1<<20)
		for _, v := range m.updates {
			all = all && w.Add(v.Entity, v.Variable, v.ID, v.Data)
		}
		for _, v := range m.values {
			all = all && w.Variable(v.Link, v.Data)
		}
		b = w.Bytes()
	case KindBundle:
		m.p.Bundle.body = m.p.Bundle.body[:0]
		for _, packet := range m.bundled {
			m.p.Bundle.Add(packet)
		}
		return m.p.AppendTo(b)
	default:
		return m.p.AppendTo(b)
	}
	if !all {
		t.Fatal("a writer without a limit refused")
	}
	return b
}

// differs says in which field the parsed packet differs from the model, or "".
func (m *model) differs(p *Packet) string {
	a, b := &m.p, p
	switch {
	case !bytes.Equal(a.Reason, b.Reason):
		return "reason"
	case !bytes.Equal(a.Name, b.Name):
		return "name"
	case !bytes.Equal(a.Data, b.Data):
		return "data"
	case !sameFixed(a, b):
		return "a field of fixed size"
	}
	switch a.Kind {
	case KindLinkTable:
		return m.tableDiffers(p.Table)
	case KindReplicate:
		return m.valuesDiffer(p.Values)
	case KindBundle:
		return m.bundleDiffers(p.Bundle)
	}
	return ""
}

func (m *model) bundleDiffers(b Bundle) string {
	i := 0
	for packet := range b.Packets() {
		if i == len(m.bundled) || !bytes.Equal(packet, m.bundled[i]) {
			return "packets"
		}
		i++
	}
	if i != len(m.bundled) {
		return "count of packets"
	}
	return ""
}

func sameFixed(a, b *Packet) bool {
	return a.Kind == b.Kind && a.Reliable == b.Reliable && a.Ordered == b.Ordered && a.More == b.More && a.Extended == b.Extended &&
		a.OrderLink == b.OrderLink && a.Sequence == b.Sequence && a.Acked == b.Acked && a.Count == b.Count && a.SyncInterval == b.SyncInterval &&
		a.Received == b.Received && a.Sent == b.Sent && a.Time == b.Time
}

func sameLinked(a, b LinkedVariable) bool {
	return a.Link == b.Link && a.Type == b.Type && bytes.Equal(a.Name, b.Name)
}

func (m *model) tableDiffers(t Table) string {
	i := 0
	for v := range t.Variables() {
		if i == len(m.variables) || !sameLinked(v, m.variables[i]) {
			return "variables"
		}
		i++
	}
	j := 0
	for e := range t.Entities() {
		if j == len(m.entities) || e.Link != m.entities[j].link || !bytes.Equal(e.Name, m.entities[j].name) {
			return "entities"
		}
		k := 0
		for v := range e.Variables() {
			if k == len(m.entities[j].variables) || !sameLinked(v, m.entities[j].variables[k]) {
				return "variables of an entity"
			}
			k++
		}
		if k != len(m.entities[j].variables) {
			return "count of an entity's variables"
		}
		j++
	}
	if i != len(m.variables) || j != len(m.entities) || t.Empty() != (i+j == 0) {
		return "counts"
	}
	return ""
}

func (m *model) valuesDiffer(v Replication) string {
	i := 0
	for got := range v.EntityValues() {
		if i == len(m.updates) || !sameValue(got, m.updates[i]) {
			return "values of entities"
		}
		i++
	}
	grouped := 0
	for e := range v.Entities() {
		for u := range e.Variables() {
			for id, data := range u.Values() {
				if grouped == len(m.updates) || !sameValue(EntityValue{e.Link, u.Link, id, data}, m.updates[grouped]) {
					return "values of entities, grouped"
				}
				grouped++
			}
		}
	}
	j := 0
	for got := range v.Variables() {
		if j == len(m.values) || got.Link != m.values[j].Link || !bytes.Equal(got.Data, m.values[j].Data) {
			return "values of variables"
		}
		j++
	}
	if i != len(m.updates) || grouped != i || j != len(m.values) || v.Empty() != (i+j == 0) {
		return "counts"
	}
	return ""
}

func sameValue(a, b EntityValue) bool {
	return a.Entity == b.Entity && a.Variable == b.Variable && a.ID == b.ID && bytes.Equal(a.Data, b.Data)
}
