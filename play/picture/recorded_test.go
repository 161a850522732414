package picture

import (
	"bytes"
	"container/heap"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"parley/play/message"
	"parley/play/schema"
	"parley/protocol/replica"
	replicacore "parley/protocol/replica/core"
	"parley/world"
)

var record = flag.Bool("record", false, "write the recorded run of sdk/ts anew")

// The file of the recorded run, which sdk/ts/test/picture.test.mjs plays to the client library for browsers.
var recordedRun = filepath.Join("..", "..", "sdk", "ts", "test", "fixtures", "picture.json")

// TestRecordedRun plays a run of ten seconds to a Core, and compares what came, what was sent and what was drawn with the file that the
// client library for browsers is held against. With -record it writes the file.
func TestRecordedRun(t *testing.T) {
	r := newRecorder(t)
	r.run(10 * time.Second)
	if s := r.core.Stats(); s.Snapped == 0 || s.Wrong == 0 {
		t.Errorf("nothing was predicted wrongly: %+v", s)
	}
	got := r.file()
	if *record {
		if err := os.WriteFile(recordedRun, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(recordedRun)
	if err != nil {
		t.Fatal(err)
	}
	if len(want) > 100_000 {
		t.Errorf("the file has %d bytes", len(want))
	}
	if !bytes.Equal(got, want) {
		a, b := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
		i := 0
		for i < min(len(a), len(b))-1 && bytes.Equal(a[i], b[i]) {
			i++
		}
		t.Fatalf("%s is out of date: run \"go test ./play/picture -run RecordedRun -record\", and npm test in sdk/ts. Line %d is\n%s\nand the run has\n%s", recordedRun, i+1, b[i], a[i])
	}
}

// A swimmer is a player's, and a drifter nobody's. Their places travel in different ways.
type swimmer struct {
	world.Body `parley:"speed=2,q=1/64,min=-500,max=500,angle=1024,norm=1/64"`
	Air        uint8
}

type drifter struct {
	world.Body `parley:"speed=1.5"`
}

// sea is the game of the run. What current does in a tick, a client does not foresee.
func sea(current func(w *world.World)) world.Game {
	return world.Game{
		Name:      "sea",
		Kinds:     world.Kinds(swimmer{}, drifter{}),
		CellTypes: []world.Cell{{}, {Solid: true}},
		Hitboxes:  []world.Hitbox{world.Circle(2)},
		Terrain: func(_ uint64, bx, by int16, cells *world.Cells) {
			for i := range cells {
				cells[i] = 0
				if x, y := i%world.ChunkSide, i/world.ChunkSide; bx == 0 && by == 0 && (y >= 26 && y < 29 && x >= 20 && x < 60 || x >= 56 && x < 59 && y >= 29 && y < 70) {
					cells[i] = 1
				}
			}
		},
		Step: func(w *world.World, inputs []world.Input) {
			for i := range inputs {
				switch in := &inputs[i]; in.Kind {
				case world.Join:
					at := world.Body{X: 60 - 8*float64(in.Player), Y: 60 + 4*float64(in.Player)}
					w.Own(in.Player, world.SpawnFor(w, in, swimmer{Body: at, Air: 9}))
				case world.Steer:
					w.Steer(in)
				}
			}
			for _, s := range world.All[swimmer](w) {
				w.Move(&s.Body)
			}
			for _, d := range world.All[drifter](w) {
				w.Move(&d.Body)
			}
			current(w)
		},
	}
}

// A recorder is a server's world, a way that loses and delays, and a client over replica, in virtual time. Times are whole µs.
type recorder struct {
	sim    *world.Sim
	view   *world.View
	page   *schema.Page
	me     world.PlayerID
	other  []world.PlayerID
	core   *Core
	reader *Replica
	rand   *rand.Rand
	queue  events
	order  int
	number uint64 // of packets
	slots  map[uint16]message.Link
	values map[recordedKey][]byte
	due    map[recordedKey]uint64
	held   map[uint32]world.Steering
	ticks  map[uint32]uint64
	fate   message.Fate
	came   uint32 // the newest input
	start  uint64
	lines  []string
	now    float64 // of the newest line
}

type recordedKey struct {
	at       message.Link
	variable int
}

const recordedTick = 50_000 // µs

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{
		rand: rand.New(rand.NewPCG(23, 76)), slots: map[uint16]message.Link{}, values: map[recordedKey][]byte{}, due: map[recordedKey]uint64{},
		held: map[uint32]world.Steering{}, ticks: map[uint32]uint64{}, number: 100,
	}
	var err error
	must := func() {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	r.sim, err = world.New(sea(r.current), world.Config{Seed: 7})
	must()
	r.core, err = New(sea(func(*world.World) {}), Config{Name: "ann"})
	must()
	r.page, err = schema.PageOf(r.core.game)
	must()
	r.me, err = r.sim.Join("ann")
	must()
	for _, name := range []string{"ben", "cid"} {
		p, err := r.sim.Join(name)
		if err != nil {
			t.Fatal(err)
		}
		r.other = append(r.other, p)
	}
	r.sim.Advance()
	r.start = r.sim.Tick()
	world.Spawn(r.sim.World(), drifter{Body: world.Body{X: 20, Y: 20, Angle: .7, Norm: .3}})
	r.view = r.sim.NewView(r.me, world.ViewConfig{Radius: -1, BytesPerTick: -1, Reliable: true})
	return r
}

// current pushes the own body a little, later far, and others.
func (r *recorder) current(w *world.World) {
	n := int(r.sim.Tick() - r.start)
	move := func(p world.PlayerID, dx, dy float64) {
		if _, s := world.Avatar[swimmer](w, p); s != nil {
			s.X, s.Y = s.X+dx, s.Y+dy
		}
	}
	switch n {
	case 70, 71, 110:
		move(r.me, -.75, .5)
	case 150:
		move(r.me, -20, -15)
	case 90:
		move(r.other[0], 0, 30)
	}
	for _, d := range world.All[drifter](w) {
		if n%40 == 0 {
			d.Angle += 1.1
		}
	}
}

func (r *recorder) after(now, delay float64, do func(now float64)) {
	r.order++
	heap.Push(&r.queue, event{math.Round(now + delay), r.order, do})
}

// note adds a line: what happened, when, and more.
func (r *recorder) note(what string, now float64, more ...any) {
	r.now = now
	b, err := json.Marshal(append([]any{what, now / 1000}, more...))
	if err != nil {
		panic(err) // all of it is numbers, texts and bytes
	}
	r.lines = append(r.lines, string(b))
}

func recordedTime(now float64) time.Time { return began.Add(time.Duration(now) * time.Microsecond) }

func (r *recorder) run(long time.Duration) {
	r.enter()
	var tick, frame, steer func(now float64)
	tick = func(now float64) {
		r.tick(now)
		r.after(now, recordedTick, tick)
	}
	frame = func(now float64) {
		r.draw(now)
		r.after(now, 33_000+r.rand.Float64()*15_000, frame)
	}
	steer = func(now float64) {
		angle, norm := float32(r.rand.Float64()*6-3), float32(2*r.rand.Float64())
		if r.rand.IntN(5) == 0 {
			norm = 0
		}
		r.note("steer", now, angle, norm)
		if err := r.core.Steer(recordedTime(now), angle, norm); err != nil {
			panic(err) // nothing here is full
		}
		r.after(now, 150_000+r.rand.Float64()*500_000, steer)
	}
	r.after(0, 0, tick)
	r.after(0, 70_000, frame)
	r.after(0, 1_000_000, steer)
	for len(r.queue) > 0 && r.queue[0].at < float64(long.Microseconds()) {
		e := heap.Pop(&r.queue).(event)
		for due, ok := r.core.NextTimeout(); ok && due.Before(recordedTime(e.at)); due, ok = r.core.NextTimeout() {
			now := math.Ceil(float64(due.Sub(began)) / 1000)
			if now >= e.at {
				break
			}
			r.note("timeout", now)
			r.core.HandleTimeout(recordedTime(now))
		}
		e.do(e.at)
	}
}

// enter tells what a server tells first, at once.
func (r *recorder) enter() {
	r.note("connected", 0)
	r.core.Connected(recordedTime(0))
	r.reader = NewReplica(r.core, r.sent)
	table := []byte{0, byte(len(r.core.Schema().Kinds))}
	for _, k := range r.core.Schema().Kinds {
		table = append(binary.LittleEndian.AppendUint16(table, uint16(k.Index())), byte(len(k.Name)))
		table = append(table, k.Name...)
		list := schema.Replica(k)
		table = append(table, byte(len(list)))
		for i, v := range list {
			table = append(append(table, byte(i), byte(v.Type), byte(len(v.Name))), v.Name...)
		}
	}
	r.note("linked", 0, table)
	r.reader.Read(recordedTime(0), replica.Event{Kind: replica.EventLinked, Data: table})
	w := message.World{Seed: 7, TickRate: 20, Tick: uint32(r.sim.Tick()), Fingerprint: r.core.Schema().Fingerprint()}
	r.tell(0, message.ReplicaWorld, w.AppendTo(nil, message.Little))
	for _, at := range []world.ChunkPlace{{BX: 0, BY: 0}, {BX: -1, BY: 0}, {BX: 0, BY: -1}, {BX: -1, BY: -1}} {
		b := binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(nil, uint16(at.BX)), uint16(at.BY))
		var cells []byte
		for i, v := range r.sim.Chunk(at.BX, at.BY) {
			if v != 0 {
				cells = append(cells, byte(i), byte(i/world.ChunkSide), v)
			}
		}
		b = binary.LittleEndian.AppendUint16(append(b, 0), uint16(len(cells)/message.CellBytes))
		r.tell(0, message.ReplicaTerrain, append(b, cells...))
	}
}

// tell gives the client a message.
func (r *recorder) tell(now float64, name string, b []byte) {
	r.number++
	r.hear(now, r.number, name, b)
}

func (r *recorder) hear(now float64, number uint64, name string, b []byte) {
	r.note("message", now, number, name, b)
	r.reader.Read(recordedTime(now), replica.Event{Kind: replica.EventMessage, Name: []byte(name), Data: b, Number: number})
}

// way is how long a packet takes, or false if it is lost.
func (r *recorder) way() (float64, bool) {
	return 30_000 + r.rand.Float64()*15_000, r.rand.Float64() >= .04
}

// sent is what the client sends. The server has it later.
func (r *recorder) sent(_ replica.Mode, name string, b []byte) error {
	if name != message.ReplicaSteer {
		return nil // the roster, which the library asks for elsewhere
	}
	now := r.now
	r.note("sent", now, b)
	st, stamp, _, ok := message.ParseStampedSteer(b, message.Little)
	if d, arrives := r.way(); ok && arrives {
		r.after(now, d, func(float64) { r.take(st, stamp) })
	}
	return nil
}

// take is the server that has an input.
func (r *recorder) take(st world.Steering, s message.Stamp) {
	if _, again := r.ticks[s.Number]; again || s.Number <= r.fate.Number {
		return
	}
	tick := max(uint64(s.Tick), r.sim.Tick())
	if s.Number > r.came {
		r.came, r.fate.Margin = s.Number, int8(max(-128, min(int64(s.Tick)-int64(r.sim.Tick()), 127)))
	}
	r.held[s.Number], r.ticks[s.Number] = st, tick
}

// tick runs a tick of the server, and tells of it.
func (r *recorder) tick(now float64) {
	for _, n := range slices.Sorted(maps.Keys(r.held)) {
		if r.ticks[n] > r.sim.Tick() {
			continue
		}
		r.fate.Number = max(r.fate.Number, n)
		r.steer(r.me, r.held[n].Angle, r.held[n].Norm)
		delete(r.held, n)
	}
	n := int(r.sim.Tick() - r.start)
	if n%17 == 3 {
		r.steer(r.other[0], float32(n), 2)
	}
	switch n % 50 {
	case 10:
		r.steer(r.other[1], float32(n)/9, 1.25)
	case 33:
		r.steer(r.other[1], float32(n)/9, 0)
	}
	if n == 170 {
		r.sim.Leave(r.other[1])
	}
	r.sim.Advance()
	r.fate.Tick = uint32(r.sim.Tick() - 1)
	r.number++
	number, fate := r.number, r.fate.AppendTo(nil, message.Little)
	if d, ok := r.way(); ok {
		r.after(now, d, func(now float64) { r.hear(now, number, message.ReplicaTick, fate) })
	}
	r.changes(now)
	r.replicate(now)
	if n == 4 {
		r.tell(now, message.ReplicaYou, r.slots[r.own()].AppendTo(nil))
	}
}

func (r *recorder) own() uint16 {
	id, _ := world.Avatar[swimmer](r.sim.World(), r.me)
	return r.sim.Wire(id)
}

func (r *recorder) steer(p world.PlayerID, angle, norm float32) {
	id, _ := world.Avatar[swimmer](r.sim.World(), p)
	r.sim.Steer(p, r.sim.Tick(), world.Steering{Entity: id, Angle: angle, Norm: norm, HasAngle: true, HasNorm: true}, 0)
}

// changes notes what is to be sent.
func (r *recorder) changes(now float64) {
	r.view.Update()
	for c := r.view.Next(); c != nil; c = r.view.Next() {
		at, known := r.slots[c.Entity]
		switch {
		case c.What == world.Left:
			r.number++
			number := r.number
			r.after(now, 60_000, func(now float64) {
				r.note("gone", now, number, at.Kind, at.ID)
				r.reader.Read(recordedTime(now), replica.Event{Kind: replica.EventGone, KindLink: at.Kind, ID: at.ID, Number: number})
			})
			maps.DeleteFunc(r.due, func(k recordedKey, _ uint64) bool { return k.at == at })
		default:
			if !known {
				at = message.Link{Kind: uint16(c.Kind.Index()), ID: byte(len(r.slots))}
				r.slots[c.Entity] = at
				r.want(recordedKey{at, 0}, binary.LittleEndian.AppendUint16(nil, c.Entity))
			}
			for i := range world.Fields(c.Mask) {
				v, _ := message.VariableOf(c.Kind, i)
				r.want(recordedKey{at, v}, message.AppendVariable(nil, c, i))
			}
		}
		r.view.Take(0)
	}
}

func (r *recorder) want(k recordedKey, value []byte) { r.values[k], r.due[k] = value, r.sim.Tick() }

// replicate sends the values that are due in a packet. What is lost is due again some ticks later.
func (r *recorder) replicate(now float64) {
	var keys []recordedKey
	for k, tick := range r.due {
		if tick <= r.sim.Tick() {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return
	}
	slices.SortFunc(keys, func(a, b recordedKey) int {
		return int(a.at.Kind)<<16 + a.variable<<8 + int(a.at.ID) - (int(b.at.Kind)<<16 + b.variable<<8 + int(b.at.ID))
	})
	d, ok := r.way()
	p := []byte{0, 0}
	kind, variables, count := -1, 0, 0 // places in p
	for i, k := range keys {
		if first := i == 0 || keys[i-1].at.Kind != k.at.Kind; first || keys[i-1].variable != k.variable {
			if first {
				p[0]++
				p = append(binary.LittleEndian.AppendUint16(p, k.at.Kind), 0)
				kind, variables = int(k.at.Kind), len(p)-1
			}
			p[variables]++
			p = append(binary.LittleEndian.AppendUint16(p, uint16(k.variable)), 0)
			count = len(p) - 1
		}
		p[count]++
		p = append(append(p, k.at.ID, byte(len(r.values[k]))), r.values[k]...)
		if delete(r.due, k); !ok {
			r.due[k] = r.sim.Tick() + 4
		}
	}
	if _, valid := replicacore.ParseValues(p); !valid {
		panic(fmt.Sprintf("what is recorded of kind %d is no packet: %x", kind, p))
	}
	r.number++
	if number := r.number; ok {
		r.after(now, d, func(now float64) {
			r.note("values", now, number, p)
			r.reader.Read(recordedTime(now), replica.Event{Kind: replica.EventReplicated, Data: p, Number: number})
		})
	}
}

// draw notes what is drawn: the tick of others, the own tick, and each body by its number: x, y and the angle.
func (r *recorder) draw(now float64) {
	at := len(r.lines)
	r.now = now
	f := r.core.Frame(recordedTime(now))
	round := func(v float64) float64 { return math.Round(v*1e5) / 1e5 }
	type drawn = []float64
	list := []drawn{}
	one := func(id world.ID, b *world.Body) {
		wire, _ := r.core.guess.Wire(id)
		list = append(list, drawn{float64(wire), round(b.X), round(b.Y), round(float64(b.Angle))})
	}
	for id, s := range world.All[swimmer](f.World()) {
		one(id, &s.Body)
	}
	for id, d := range world.All[drifter](f.World()) {
		one(id, &d.Body)
	}
	slices.SortFunc(list, func(a, b drawn) int { return int(a[0] - b[0]) })
	own, _ := r.core.guess.Wire(f.Own())
	sent := slices.Clone(r.lines[at:])
	r.lines = r.lines[:at]
	r.note("frame", now, round(f.Tick), round(f.OwnTick), own, list)
	r.lines = append(r.lines, sent...)
}

// file returns what was recorded.
func (r *recorder) file() []byte {
	var b bytes.Buffer
	page, err := json.Marshal(r.page)
	if err != nil {
		panic(err) // it is a struct of ours
	}
	fmt.Fprintf(&b, "{\"schema\": %s,\n\"lines\": [\n", page)
	for i, line := range r.lines {
		b.WriteString(line)
		if i < len(r.lines)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("]}\n")
	return b.Bytes()
}
