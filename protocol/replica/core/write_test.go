package core

import (
	"bytes"
	"math"
	"testing"

	"parley/internal/kit"
)

var (
	replicateHead = Packet{Kind: KindReplicate, Reliable: true, Sequence: 7, Time: 9}
	tableHead     = Packet{Kind: KindLinkTable, Reliable: true, Ordered: true, OrderLink: 3, Sequence: 7}
)

// script turns bytes into calls of both writers. Each piece goes to a writer with
// a limit and to one without: the first must take it just if the second, with it,
// is within the limit and its counts had room.
type script struct {
	t     testing.TB
	bytes []byte
	size  int
}

func (s *script) next() byte {
	if len(s.bytes) == 0 {
		return 0
	}
	b := s.bytes[0]
	s.bytes = s.bytes[1:]
	return b
}

// agree holds the two writers against each other after a piece, and reports
// whether to go on.
func (s *script) agree(limited, free *packetWriter, before []byte, took, freeTook bool) bool {
	s.t.Helper()
	want := freeTook && free.Len() <= s.size
	if took != want {
		s.t.Fatalf("a piece was taken: %t, want %t, with %d of %d bytes", took, want, free.Len(), s.size)
	}
	if !took {
		if !bytes.Equal(limited.Bytes(), before) {
			s.t.Fatalf("a refused piece changed\n%x to\n%x", before, limited.Bytes())
		}
		return false
	}
	if !bytes.Equal(limited.Bytes(), free.Bytes()) {
		s.t.Fatalf("got  %x\nwant %x", limited.Bytes(), free.Bytes())
	}
	return true
}

func (s *script) replicate() {
	var w, free ReplicateWriter
	w.Start([]byte("ab"), &replicateHead, s.size)
	free.Start([]byte("ab"), &replicateHead, math.MaxInt)
	var want []EntityValue
	var plain []Value
	for goOn := true; goOn && len(s.bytes) > 0; {
		before := bytes.Clone(w.Bytes())
		op, data := s.next(), someBytes[:s.next()%64]
		entity, variable := uint16(op>>4&3)<<8, uint16(op>>6)
		if op%8 == 7 || len(plain) > 0 {
			goOn = s.agree(&w.packetWriter, &free.packetWriter, before, w.Variable(variable, data), free.Variable(variable, data))
			if goOn {
				plain = append(plain, Value{variable, data})
			}
			continue
		}
		goOn = s.agree(&w.packetWriter, &free.packetWriter, before, w.Add(entity, variable, op, data), free.Add(entity, variable, op, data))
		if goOn {
			want = append(want, EntityValue{entity, variable, op, data})
		}
	}
	m := model{p: replicateHead, updates: want, values: plain}
	s.check(&m, &w.packetWriter)
}

func (s *script) table() {
	var w, free TableWriter
	w.Start([]byte("ab"), &tableHead, s.size)
	free.Start([]byte("ab"), &tableHead, math.MaxInt)
	m := model{p: tableHead}
	for goOn := true; goOn && len(s.bytes) > 0; {
		before := bytes.Clone(w.Bytes())
		op, name := s.next(), someText[:textCuts[s.next()%32]]
		entity, kind := uint16(op>>4&3), DataType(op%11)
		switch {
		case op%4 == 0 && len(m.entities) == 0:
			goOn = s.agree(&w.packetWriter, &free.packetWriter, before, w.Variable(entity, kind, name), free.Variable(entity, kind, name))
			if goOn {
				m.variables = append(m.variables, LinkedVariable{entity, kind, []byte(name)})
			}
		case op%4 == 1:
			goOn = s.agree(&w.packetWriter, &free.packetWriter, before, w.Entity(entity, name), free.Entity(entity, name))
			if goOn {
				m.entities = append(m.entities, modelEntity{entity, []byte(name), nil})
			}
		default:
			goOn = s.agree(&w.packetWriter, &free.packetWriter, before, w.Add(entity, name, op, kind, name), free.Add(entity, name, op, kind, name))
			if goOn {
				last := len(m.entities) - 1
				if last < 0 || m.entities[last].link != entity || len(m.entities[last].variables) == MaxListed {
					m.entities = append(m.entities, modelEntity{entity, []byte(name), nil})
					last++
				}
				m.entities[last].variables = append(m.entities[last].variables, LinkedVariable{uint16(op), kind, []byte(name)})
			}
		}
	}
	s.check(&m, &w.packetWriter)
}

// check parses what a writer made and holds it against what it was told.
func (s *script) check(m *model, w *packetWriter) {
	b := w.Bytes()
	if string(b[:2]) != "ab" || len(b)-2 != w.Len() {
		s.t.Fatalf("%x: the buffer's own bytes are gone, or Len is %d", b, w.Len())
	}
	if empty := len(m.variables)+len(m.entities)+len(m.updates)+len(m.values) == 0; w.Empty() != empty {
		s.t.Fatalf("%x: Empty is %t", b, w.Empty())
	}
	if w.Len() > s.size && !w.Empty() {
		s.t.Fatalf("%x: %d bytes, limit %d", b, w.Len(), s.size)
	}
	var p Packet
	if !p.Parse(FromServer, b[2:]) {
		s.t.Fatalf("%x: %v", b[2:], p.ParseErr(FromServer, b[2:]))
	}
	if field := m.differs(&p); field != "" {
		s.t.Fatalf("%x: %s differs: got %+v, want %+v", b[2:], field, p, m)
	}
}

func TestWritersKeepTheirSize(t *testing.T) {
	r := kit.Rand(t)
	var pieces [600]byte
	for range kit.Rounds(5_000, 500_000) {
		for i := range pieces {
			pieces[i] = byte(r.Uint32())
		}
		if r.IntN(2) == 0 {
			// Long runs of one group.
			for i := 0; i < len(pieces); i += 2 {
				pieces[i] &= 0x0e
				pieces[i+1] = 0
			}
		}
		size, n := r.IntN(1300)-10, r.IntN(len(pieces))
		(&script{t, pieces[:n], size}).replicate()
		(&script{t, pieces[:n], size}).table()
	}
}

// Each size up to that of a few pieces, so that each piece is once one byte too
// long.
func TestWritersOfEverySize(t *testing.T) {
	for size := -1; size < 120; size++ {
		(&script{t, []byte{0x02, 4, 0x06, 4, 0x42, 4, 0x46, 0, 0x12, 4, 0x52, 0, 0x07, 4, 0x47, 0}, size}).replicate()
		(&script{t, []byte{0x00, 4, 0x10, 0, 0x01, 4, 0x02, 4, 0x06, 0, 0x12, 4, 0x16, 0, 0x03, 4}, size}).table()
	}
}

// A head that was parsed may hold lists of its own: they are not taken over.
func TestWritersStartEmpty(t *testing.T) {
	var head, p Packet
	head.Parse(FromServer, replicate1200())
	var w ReplicateWriter
	w.Start(nil, &head, 1200)
	if !w.Empty() || w.Len() != replicateBytes || !p.Parse(FromServer, w.Bytes()) || !p.Values.Empty() || head.Values.Empty() {
		t.Errorf("a replicate starts as %x", w.Bytes())
	}
	head.Parse(FromServer, unhex(t, "04 03 0000 0100 01 00 0100 07 01 61"))
	var tw TableWriter
	tw.Start(nil, &head, 1200)
	if !tw.Empty() || tw.Len() != linkBytes+2 || !p.Parse(FromServer, tw.Bytes()) || !p.Table.Empty() || head.Table.Empty() {
		t.Errorf("a table starts as %x", tw.Bytes())
	}
}

// A count is one byte, and a kind may have 256 entities: the links are written
// again.
func TestReplicateOfMoreThanACountHolds(t *testing.T) {
	var w ReplicateWriter
	w.Start(nil, &replicateHead, 1<<20)
	m := model{p: replicateHead}
	add := func(entity, variable uint16, id int) bool {
		m.updates = append(m.updates, EntityValue{Entity: entity, Variable: variable, ID: uint8(id)})
		return w.Add(entity, variable, uint8(id), nil)
	}
	for id := range 256 {
		if !add(1, 1, id) {
			t.Fatalf("entity %d is refused", id)
		}
	}
	for variable := range uint16(300) {
		if !add(1, variable+2, 0) {
			t.Fatalf("variable %d is refused", variable)
		}
	}
	for entity := range uint16(253) {
		if !add(entity+2, 1, 0) {
			t.Fatalf("entity link %d is refused", entity)
		}
	}
	before := w.Len()
	if w.Add(1000, 1, 0, nil) || w.Entity(1000) || w.Len() != before {
		t.Error("entity link 256 is taken")
	}
	for i := range 255 {
		m.values = append(m.values, Value{Link: uint16(i)})
		if !w.Variable(uint16(i), nil) {
			t.Fatalf("variable %d is refused", i)
		}
	}
	if w.Variable(255, nil) {
		t.Error("variable 256 is taken")
	}
	var p Packet
	if !p.Parse(FromServer, w.Bytes()) {
		t.Fatal(p.ParseErr(FromServer, w.Bytes()))
	}
	if field := m.differs(&p); field != "" {
		t.Errorf("%s differs", field)
	}
}

func TestTableOfMoreThanACountHolds(t *testing.T) {
	var w TableWriter
	w.Start(nil, &tableHead, 1<<20)
	for i := range 255 {
		if !w.Variable(uint16(i), DataInt, "v") {
			t.Fatalf("variable %d is refused", i)
		}
	}
	if w.Variable(255, DataInt, "v") {
		t.Error("variable 256 is taken")
	}
	for i := range 300 {
		if !w.Add(1, "kind", uint8(i), DataFloat, "x") {
			t.Fatalf("entity variable %d is refused", i)
		}
	}
	for i := range 253 {
		if !w.Entity(uint16(2+i), "") {
			t.Fatalf("entity %d is refused", i)
		}
	}
	if w.Entity(1, "") || w.Add(1, "", 0, 0, "") {
		t.Error("entity 256 is taken")
	}
	var p Packet
	if !p.Parse(FromServer, w.Bytes()) {
		t.Fatal(p.ParseErr(FromServer, w.Bytes()))
	}
	turns, _ := walk(t, &p)
	if turns != 255+300+2+253 {
		t.Errorf("%d elements", turns)
	}
}

func TestWritersPanicOnMistakes(t *testing.T) {
	long := make([]byte, 256)
	table := func(f func(w *TableWriter)) func() {
		return func() {
			var w TableWriter
			w.Start(nil, &tableHead, 9)
			f(&w)
		}
	}
	replicate := func(f func(w *ReplicateWriter)) func() {
		return func() {
			var w ReplicateWriter
			w.Start(nil, &replicateHead, 1200)
			f(&w)
		}
	}
	for name, f := range map[string]func(){
		"a table of another kind":       func() { new(TableWriter).Start(nil, &replicateHead, 1200) },
		"a replicate of another kind":   func() { new(ReplicateWriter).Start(nil, &tableHead, 1200) },
		"a long variable name":          table(func(w *TableWriter) { w.Variable(1, 0, string(long)) }),
		"a type that is none":           table(func(w *TableWriter) { w.Variable(1, 11, "") }),
		"a long entity name":            table(func(w *TableWriter) { w.Entity(1, string(long)) }),
		"a long name of both":           table(func(w *TableWriter) { w.Add(1, string(long), 1, 0, "") }),
		"a long name in an entity":      table(func(w *TableWriter) { w.Add(1, "", 1, 0, string(long)) }),
		"a variable before its entity":  table(func(w *TableWriter) { w.EntityVariable(1, 0, "") }),
		"a type that is none, inside":   table(func(w *TableWriter) { w.Add(1, "", 1, 11, "") }),
		"a long value":                  replicate(func(w *ReplicateWriter) { w.Variable(1, long) }),
		"a long value of an entity":     replicate(func(w *ReplicateWriter) { w.Add(1, 1, 1, long) }),
		"a variable link before all":    replicate(func(w *ReplicateWriter) { w.EntityVariable(1) }),
		"a value before its variable":   replicate(func(w *ReplicateWriter) { w.Entity(1); w.EntityValue(1, nil) }),
		"a value of the entity before":  replicate(func(w *ReplicateWriter) { w.Add(1, 1, 1, nil); w.Entity(2); w.EntityValue(1, nil) }),
		"an entity after a variable":    replicate(func(w *ReplicateWriter) { w.Variable(1, nil); w.Entity(1) }),
		"a value after a variable":      replicate(func(w *ReplicateWriter) { w.Add(1, 1, 1, nil); w.Variable(1, nil); w.Add(1, 1, 1, nil) }),
		"an entity variable after one":  replicate(func(w *ReplicateWriter) { w.Entity(1); w.Variable(1, nil); w.EntityVariable(1) }),
		"an entity's value after one":   replicate(func(w *ReplicateWriter) { w.Add(1, 1, 1, nil); w.Variable(1, nil); w.EntityValue(1, nil) }),
		"a variable after its entities": func() { var w TableWriter; w.Start(nil, &tableHead, 1200); w.Entity(1, ""); w.Variable(1, 0, "") },
	} {
		wantPanic(t, name, f)
	}
}

// Iteration may stop early, and start again.
func TestWalksMayEndEarly(t *testing.T) {
	var p, q Packet
	table := unhex(t, "04 03 0000 0100 02 02  0100 07 01 61  0200 0a 00  0300 02 6262 02  00 08 01 63  01 08 00  0400 00 00")
	if !p.Parse(FromServer, replicate1200()) || !q.Parse(FromServer, table) {
		t.Fatal("refused")
	}
	for range 2 {
		n := 0
		for range p.Values.EntityValues() {
			if n++; n == 2 {
				break
			}
		}
		for e := range p.Values.Entities() {
			for u := range e.Variables() {
				for range u.Values() {
					n++
					break
				}
				_ = u
				break
			}
			break
		}
		for range q.Table.Variables() {
			n++
			break
		}
		for e := range q.Table.Entities() {
			for range e.Variables() {
				n++
				break
			}
			break
		}
		if n != 5 {
			t.Errorf("%d turns, want 5", n)
		}
	}
}
