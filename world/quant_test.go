package world

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// beetle is a kind whose floats are all quantised.
type beetle struct {
	Body  `parley:"speed=1,q=1/16,min=-128,max=128,angle=256,norm=1/64"`
	Heat  float32 `parley:"q=0.1,min=-3,max=9"`
	Range float64 `parley:"q=1/256,min=0,max=255.99"`
	Free  float32
	steps float64
}

// buzz is an action with a quantised parameter.
type buzz struct {
	Pitch float32 `parley:"q=1/4,min=0,max=10"`
	Loud  float64
}

// beetleGame is a game of beetles among walls. Step adds to their floats by chance.
func beetleGame() Game {
	g := testGame()
	g.Name, g.Setup = "beetles", nil
	g.Kinds, g.Actions = Kinds(beetle{}), Actions(buzz{})
	g.Hitboxes = []Hitbox{{}, Circle(0.4), Rectangle(0.9, 0.5)}
	g.Step = func(w *World, in []Input) {
		for i := range in {
			switch in := &in[i]; in.Kind {
			case Join:
				w.Own(in.Player, SpawnFor(w, in, beetle{Body: Body{X: 0.3, Y: 0.7, Sprite: uint16(in.Player) % 3}}))
			case Steer:
				w.Steer(in)
			case Act:
				v, _ := Read[buzz](in)
				Done(w, in, v)
				if _, own := Avatar[beetle](w, in.Player); own != nil {
					own.Heat += v.Pitch / 3
				}
			}
		}
		for _, b := range All[beetle](w) {
			w.Move(&b.Body)
			b.Range += w.Random().Float64() - 0.4
			b.Heat -= float32(w.Random().Float64()) / 7
			b.Free += 0.001
			b.steps++
		}
	}
	return g
}

func TestATypeHoldsItsRange(t *testing.T) {
	s := newSimOf(t, beetleGame(), Config{}).Schema()
	got := ""
	for _, f := range append(s.Kinds[0].Fields, s.Actions[0].Fields...) {
		got += fmt.Sprintf("%s %v/%v %d..%d\n", f.Name, f.Type, f.Wire, f.low, f.high)
	}
	want := `x f64/i16 -2048..2048
y f64/i16 -2048..2048
angle f32/i8 -128..127
norm f32/i16 -16384..16384
sprite u16/u16 0..0
heat f32/i8 -30..90
range f64/u16 0..65533
free f32/f32 0..0
pitch f32/u8 0..40
loud f64/f64 0..0
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for _, tt := range []struct {
		first, last float64
		want        Type
	}{
		{0, 255, U8}, {0, 256, U16}, {-1, 127, I8}, {-1, 128, I16}, {-129, 0, I16}, {0, 65535, U16}, {0, 65536, U32}, {-32768, 32767, I16},
		{-32769, 0, I32}, {0, 1<<32 - 1, U32}, {0, 1 << 32, 0}, {-1, 1<<31 - 1, I32}, {-1, 1 << 31, 0},
	} {
		if got := stepsType(tt.first, tt.last); got != tt.want {
			t.Errorf("from %v to %v: %v, want %v", tt.first, tt.last, got, tt.want)
		}
	}
}

type (
	qInt struct {
		A int16 `parley:"q=1,min=0,max=9"`
	}
	qNoRange struct {
		A float32 `parley:"q=1/256"`
	}
	qNoMax struct {
		A float32 `parley:"q=1/256,min=3"`
	}
	qNoQ struct {
		A float32 `parley:"min=1,max=3"`
	}
	qMaxAlone struct {
		A float32 `parley:"max=3"`
	}
	qBadMin struct {
		A float32 `parley:"q=1,min=x,max=3"`
	}
	qBadMax struct {
		A float32 `parley:"q=1,min=0,max=NaN"`
	}
	qInfinite struct {
		A float32 `parley:"q=1,min=-Inf,max=0"`
	}
	qEmpty struct {
		A float32 `parley:"q=1,min=,max=0"`
	}
	qZero struct {
		A float32 `parley:"q=0,min=0,max=1"`
	}
	qByZero struct {
		A float32 `parley:"q=1/0,min=0,max=1"`
	}
	qWord struct {
		A float32 `parley:"q=fine,min=0,max=1"`
	}
	qNegative struct {
		A float32 `parley:"q=-1,min=0,max=1"`
	}
	qUpside struct {
		A float32 `parley:"q=1,min=2,max=1"`
	}
	qNoStep struct {
		A float32 `parley:"q=1,min=0.2,max=0.7"`
	}
	qFine struct {
		A float32 `parley:"q=1/65536,min=0,max=10"`
	}
	qHuge struct {
		A float64 `parley:"q=1/65536,min=-1e6,max=1e6"`
	}
	qOneMore struct {
		A float32 `parley:"q=1/256,min=-128,max=128"`
	}
	qBodyOneMore struct {
		Body `parley:"q=1/256,min=-128,max=128"`
	}
	qCoarse struct {
		Body `parley:"q=2,min=-128,max=127"`
	}
	qBodyRange struct {
		Body `parley:"min=-128,max=127"`
	}
	qBodyHalf struct {
		Body `parley:"q=1/8,max=127"`
	}
	qBlank struct {
		_ struct{} `parley:"q=1/8,min=0,max=127"`
		A uint8
	}
	qAngle struct {
		A float32 `parley:"angle=256"`
	}
	qTurns struct {
		Body `parley:"angle=1"`
	}
	qManyTurns struct {
		Body `parley:"angle=65537"`
	}
	qNorm struct {
		Body `parley:"norm=1/1024"`
	}
)

func TestAQuantumThatCannotBeIsRefused(t *testing.T) {
	for _, tt := range []struct {
		kinds []any
		want  string
	}{
		{[]any{qInt{}}, "kind q_int: field A: q= is for float32 and float64"},
		{[]any{qNoRange{}}, "kind q_no_range: field A: q= needs the range of the value: min= and max="},
		{[]any{qNoMax{}}, "field A: q= needs the range"},
		{[]any{qNoQ{}}, "field A: min= and max= are the range of q="},
		{[]any{qMaxAlone{}}, "field A: min= and max= are the range of q="},
		{[]any{qBadMin{}}, `field A: tag "min=x"`},
		{[]any{qBadMax{}}, `field A: tag "max=NaN": not a finite number`},
		{[]any{qInfinite{}}, `field A: tag "min=-Inf": not a finite number`},
		{[]any{qEmpty{}}, `field A: tag "min=": empty`},
		{[]any{qZero{}}, `field A: tag "q=0": not from 1/1073741824`},
		{[]any{qByZero{}}, `field A: tag "q=1/0": not from`},
		{[]any{qWord{}}, `field A: tag "q=fine": not a number, or one by another as in 1/256`},
		{[]any{qNegative{}}, `field A: tag "q=-1": not from`},
		{[]any{qUpside{}}, "field A: min=2 is above max=1"},
		{[]any{qNoStep{}}, "field A: q=1 has no step from 0.2 to 0.7"},
		{[]any{qFine{}}, "field A: q=1.52587890625e-05 from 0 to 10 takes as many bytes as the float"},
		{[]any{qHuge{}}, "field A: q=1.52587890625e-05 from -1e+06 to 1e+06 takes as many bytes as the float"},
		{[]any{qOneMore{}}, "field A: q=0.00390625 to max=128 is one step more than i16 holds: max=127.99609375 fits"},
		{[]any{qBodyOneMore{}}, "field Body: q=0.00390625 to max=128 is one step more than i16 holds"},
		{[]any{qCoarse{}}, "field Body: q=2, and 1 is the limit for a Body"},
		{[]any{qBodyRange{}}, "field Body: min= and max= are for q="},
		{[]any{qBodyHalf{}}, "field Body: q= needs the range"},
		{[]any{qBlank{}}, "field _: q=, angle= and norm= stand at the Body, or at a field"},
		{[]any{qAngle{}}, "field A: angle= and norm= stand at the Body"},
		{[]any{qTurns{}}, `field Body: tag "angle=1": not from 2 to 65536`},
		{[]any{qManyTurns{}}, "not from 2 to 65536"},
		{[]any{qNorm{}}, "field Body: norm= is a q= with the range of all speeds: q=0.0009765625 from -256 to 256 takes as many bytes"},
	} {
		_, err := New(Game{Step: testStep, Kinds: Kinds(tt.kinds...)}, Config{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%T: got %v, want %q", tt.kinds[0], err, tt.want)
		}
	}
	if _, err := New(Game{Step: testStep, Kinds: Kinds(plain{}), Actions: Actions(qOneMore{})}, Config{}); err == nil || !strings.Contains(err.Error(), "action q_one_more: field A: q=") {
		t.Errorf("an action: %v", err)
	}
}

// anyField returns a quantised field with a range by chance.
func anyField(r *rand.Rand) Field {
	for {
		f := Field{Type: F32 + Type(r.IntN(2))}
		if r.IntN(4) == 0 {
			f.setTurns(2 + r.IntN(1<<r.IntN(17)+1)%(maxTurns-1))
			return f
		}
		step := math.Ldexp(1+float64(r.IntN(9))/10, r.IntN(40)-20)
		low := (r.Float64() - 0.7) * step * math.Ldexp(1, r.IntN(33))
		if f.setRange(step, low, low+r.Float64()*step*math.Ldexp(1, r.IntN(33))) == nil {
			return f
		}
	}
}

// anyFloat returns a float in the range of a field, near its ends, far away, or not finite.
func anyFloat(r *rand.Rand, f *Field) float64 {
	switch r.IntN(8) {
	case 0:
		return math.Float64frombits(r.Uint64())
	case 1:
		return f.float(f.low - 2 + r.Int64N(5))
	case 2:
		return f.float(f.high - 2 + r.Int64N(5))
	case 3:
		return f.float(f.low+r.Int64N(f.high-f.low+1)) + f.Step/2
	}
	return float64(f.low)*f.Step + r.Float64()*float64(f.high-f.low)*f.Step
}

// A value that has travelled is the one that the world holds, to the bit. It is the nearest of the range, and its bytes have
// no other meaning.
func TestBothSidesHaveTheSameValue(t *testing.T) {
	r := newRand(t)
	for range rounds(2_000_000, 50_000_000) {
		f := anyField(r)
		v := FloatValue(f.Type, anyFloat(r, &f))
		held := f.rounded(v)
		o := Order{Big: r.IntN(2) == 0}
		b := f.Encode(v).AppendTo(nil, o)
		got, n, ok := f.Parse(b, o)
		if !ok || n != len(b) || n != f.Wire.Bytes() || got != held {
			t.Fatalf("%s: %v: held as %v, %x is read as %v, %v", f.Describe(), v, held, b, got, ok)
		}
		if again := f.rounded(held); again != held || held.Float() == 0 && held.bits != 0 {
			t.Fatalf("%s: %v: rounded to %v, and then to %v", f.Describe(), v, held, again)
		}
		if back := f.Encode(held).AppendTo(nil, o); !bytes.Equal(back, b) {
			t.Fatalf("%s: %v: %x, and from the rounded %x", f.Describe(), v, b, back)
		}
		x, off := v.Float(), math.Abs(held.Float()-v.Float())
		inside := x >= f.float(f.low) && x <= f.float(f.high)
		if inside && off > f.Step*(0.5+1e-6)+math.Abs(x)*0x1p-23 && !(f.turn && off > f.Step*float64(f.high-f.low)) {
			t.Fatalf("%s: %v: held as %v, which is not the nearest", f.Describe(), v, held)
		}
		if !inside && !f.turn && x == x && held.Float() != f.float(f.low) && held.Float() != f.float(f.high) {
			t.Fatalf("%s: %v: held as %v, which is not the end of the range", f.Describe(), v, held)
		}
	}
}

func FuzzParseQuantum(f *testing.F) {
	f.Add(uint64(1), []byte{0x80, 0, 0, 0})
	f.Fuzz(func(t *testing.T, seed uint64, b []byte) {
		field := anyField(rand.New(rand.NewPCG(seed, 1)))
		for _, o := range []Order{{}, {Big: true}} {
			v, n, ok := field.Parse(b, o)
			if !ok {
				continue
			}
			if !v.Finite() || field.rounded(v) != v || !bytes.Equal(field.Encode(v).AppendTo(nil, o), b[:n]) {
				t.Fatalf("%s: %x is %v, and that is %x", field.Describe(), b, v, field.Encode(v).AppendTo(nil, o))
			}
		}
	})
}

// A number of steps out of the range is no value.
func TestStepsOutOfTheRangeAreRefused(t *testing.T) {
	f := &newSimOf(t, beetleGame(), Config{}).Schema().Kinds[0].Fields[bodyFields] // heat
	for n := range 256 {
		v, _, ok := f.Parse([]byte{byte(n)}, Order{})
		if want := int8(n) >= -30 && int8(n) <= 90; ok != want || ok && math.Abs(v.Float()-float64(int8(n))/10) > 1e-6 {
			t.Errorf("%d steps: %v, %v", int8(n), v, ok)
		}
	}
	if _, _, ok := f.Parse(nil, Order{}); ok {
		t.Error("no bytes are a value")
	}
	if _, ok := f.Decode(IntValue(I16, 3)); ok {
		t.Error("a value of another type is taken")
	}
}

// An angle goes around, and has a direction even if it has none.
func TestAnAngleGoesAround(t *testing.T) {
	var f Field
	f.Type = F32
	f.setTurns(4)
	for angle, want := range map[float64]int64{0: 0, 1.5: 1, 3.1: -2, -3.1: -2, 4.7: -1, -1.6: -1, 6.2: 0, 100 * math.Pi: 0, math.NaN(): 0, math.Inf(1): 0, -1e38: f.steps(-1e38)} {
		if got := f.steps(angle); got != want || got < -2 || got > 1 {
			t.Errorf("%v is direction %d, want %d", angle, got, want)
		}
	}
	// Two walkers that steer to the same angle in other words walk the same way.
	for range 3 {
		f.setTurns(2 + newRand(t).IntN(300))
		if a, b := f.steps(2), f.steps(2-2*math.Pi); a != b {
			t.Errorf("%d directions: %d and %d", f.high-f.low+1, a, b)
		}
	}
}

// onGrid fails if a float of the world is not one that travels.
func onGrid(t *testing.T, w *World) {
	t.Helper()
	for _, table := range w.tables {
		for row := table.next(0); row >= 0; row = table.next(row + 1) {
			for i := range table.kind.Fields {
				if f := &table.kind.Fields[i]; f.value(table.at(row)) != f.rounded(f.value(table.at(row))) {
					t.Fatalf("tick %d: %s is %v", w.tick, f.Name, f.value(table.at(row)))
				}
			}
		}
	}
}

// After each tick and each rewind the world holds what travels, and whoever runs the inputs again, late or in time, has the same.
func TestTheWorldHoldsWhatTravels(t *testing.T) {
	r := newRand(t)
	for range rounds(2_000, 20_000) {
		seed := r.Uint64()
		var file bytes.Buffer
		s, late := newSimOf(t, beetleGame(), Config{Seed: seed, ReplayBudget: 20}), newSimOf(t, beetleGame(), Config{Seed: seed, ReplayBudget: 20})
		if err := late.Record(&file); err != nil {
			t.Fatal(err)
		}
		var players []PlayerID
		for range 3 {
			players = append(players, join(t, s, "a"))
			join(t, late, "a")
		}
		type act struct {
			p    PlayerID
			tick uint64
			st   Steering
			say  Value
		}
		var held []act
		do := func(s *Sim, a act) {
			if a.say.Type != 0 {
				s.Act(a.p, a.tick, s.Schema().Actions[0], []Value{a.say, FloatValue(F64, 0.1)}, 0)
				return
			}
			s.Steer(a.p, a.tick, a.st, 0)
		}
		for range 40 {
			for range r.IntN(3) {
				a := act{p: players[r.IntN(3)], tick: s.Tick()}
				if r.IntN(3) == 0 {
					a.say = FloatValue(F32, r.Float64()*15-2)
				} else {
					a.st = Steering{Angle: float32(r.Float64()*20 - 10), Norm: r.Float32(), HasAngle: true, HasNorm: true}
				}
				do(s, a)
				held = append(held, a)
			}
			if r.IntN(4) == 0 || len(held) > 0 && held[0].tick+15 < s.Tick() {
				for _, a := range held {
					do(late, a)
				}
				held = held[:0]
			}
			s.Advance()
			late.Advance()
			onGrid(t, s.World())
			onGrid(t, late.World())
		}
		for _, a := range held {
			do(late, a)
		}
		s.Advance()
		late.Advance()
		if s.World().Hash() != late.World().Hash() {
			t.Fatalf("seed %d: inputs that come late make another world", seed)
		}
		got, err := Replay(beetleGame(), bytes.NewReader(file.Bytes()))
		if err != nil || got.Hash != late.World().Hash() {
			t.Fatalf("seed %d: a replay has another world: %v", seed, err)
		}
	}
}

// The hash of a quantised world, which was made on amd64, is that of every processor.
func TestGoldenQuantised(t *testing.T) {
	s := newSimOf(t, beetleGame(), Config{Seed: 19})
	r := rand.New(rand.NewPCG(19, 19))
	var players []PlayerID
	for range 8 {
		players = append(players, join(t, s, "a"))
	}
	for range 2000 {
		for _, p := range players {
			switch r.IntN(10) {
			case 0:
				s.Act(p, s.Tick(), s.Schema().Actions[0], []Value{FloatValue(F32, float64(r.IntN(1000))/77), FloatValue(F64, 1)}, 0)
			case 1, 2:
				s.Steer(p, s.Tick(), Steering{Angle: float32(r.IntN(1000)) / 50, Norm: float32(r.IntN(1000)) / 999, HasAngle: true, HasNorm: true}, 0)
			}
		}
		s.Advance()
	}
	if got, want := s.World().Hash(), uint64(0xb3753b97eb84cf9); got != want {
		t.Errorf("%#x, want %#x", got, want)
	}
}

// A client that steers at its kind's greatest speed is not rounded to a greater one.
func TestNobodyIsRoundedToBeTooFast(t *testing.T) {
	r := newRand(t)
	k := newSimOf(t, beetleGame(), Config{}).Schema().Kinds[0]
	for range 10_000 {
		k.MaxSpeed = r.Float64() * 4
		norm := float32(k.MaxSpeed * r.Float64())
		if got := k.steered(norm); float64(got) > k.MaxSpeed || got < 0 || math.Abs(float64(got-norm)) > 1.0/64 || got != k.roundBody(FieldNorm, got) {
			t.Fatalf("speed %v: %v is rounded to %v", k.MaxSpeed, norm, got)
		}
	}
}

// What the game leaves NaN or out of the range is in it after the tick.
func TestWhatIsOutOfTheRangeIsClamped(t *testing.T) {
	g := beetleGame()
	g.Setup = func(w *World) {
		Spawn(w, beetle{Body: Body{X: 1e9, Y: math.Inf(-1), Angle: 7, Norm: 999}, Heat: float32(math.NaN()), Range: -4})
	}
	g.Step = func(*World, []Input) {}
	s := newSimOf(t, g, Config{})
	for _, b := range All[beetle](s.World()) {
		if b.X != 128 || b.Y != 0 || b.Norm != 256 || b.Heat != 0 || b.Range != 0 || math.Abs(float64(b.Angle)-(7-2*math.Pi)) > math.Pi/256 {
			t.Errorf("%+v", b)
		}
	}
	if n := s.Stats().NotFinite; n != 3 { // one of them is where y is known to have been
		t.Errorf("%d floats were not finite, want 3", n)
	}
}

// wide is a kind with a coarse grid that no wall fits.
type wide struct {
	Body `parley:"speed=1,q=0.37,min=-128,max=128"`
}

// Rounding brings no outline into a wall, where it could walk on.
func TestRoundingEntersNoWall(t *testing.T) {
	r := newRand(t)
	boxes := []Hitbox{Circle(0.3), Circle(0.49), Rectangle(0.95, 0.95), Rectangle(0.2, 1.9)}
	for range rounds(400, 4000) {
		g := Game{Name: "walls", Kinds: Kinds(wide{}), Hitboxes: boxes, CellTypes: testGame().CellTypes}
		walls := r.Uint64()
		g.Terrain = func(_ uint64, bx, by int16, cells *Cells) {
			q := rand.New(rand.NewPCG(walls, uint64(uint16(bx))<<16|uint64(uint16(by))))
			for i := range cells {
				if q.IntN(4) == 0 {
					cells[i] = 1
				}
			}
		}
		g.Setup = func(w *World) {
			for range 50 {
				Spawn(w, wide{Body{X: r.Float64()*100 - 50, Y: r.Float64()*100 - 50, Angle: float32(r.Float64() * 7), Norm: r.Float32(), Sprite: uint16(r.IntN(len(boxes)))}})
			}
		}
		g.Step = func(w *World, _ []Input) { w.MoveAll() }
		s := newSimOf(t, g, Config{})
		w := s.World()
		stood := map[ID]bool{}
		for id, b := range All[wide](w) {
			stood[id] = w.stands(b.X, b.Y, w.Hitbox(&b.Body))
		}
		for range 40 {
			s.Advance()
			onGrid(t, w)
			for id, b := range All[wide](w) {
				stands := w.stands(b.X, b.Y, w.Hitbox(&b.Body))
				if stood[id] && !stands {
					t.Fatalf("walls %d: a body of sprite %d is in a wall at (%v, %v)", walls, b.Sprite, b.X, b.Y)
				}
				stood[id] = stands
			}
		}
	}
}

// A claimed cell keeps its place, if the grid has one there: it has, for steps of up to a cell.
func TestAClaimedCellHasAPlace(t *testing.T) {
	r := newRand(t)
	for range rounds(1_000_000, 20_000_000) {
		f := Field{Type: F64}
		if f.setRange(0.001+r.Float64()*(maxPlaceStep-0.001), -1000, 1000) != nil {
			continue
		}
		v := r.Float64()*1990 - 995
		switch r.IntN(3) {
		case 0:
			v = math.Floor(v)
		case 1:
			v = math.Nextafter(math.Floor(v), -2000)
		}
		got, ok := f.snap(v)
		if !ok || math.Floor(got) != math.Floor(v) || f.float(f.steps(got)) != got || math.Abs(got-v) > f.Step {
			t.Fatalf("%s: %v has the place %v, %v", f.Describe(), v, got, ok)
		}
	}
	f := Field{Type: F64}
	if err := f.setRange(0.25, 0, 10); err != nil {
		t.Fatal(err)
	}
	for v, want := range map[float64]bool{-0.1: false, 0: true, 10.9: true, 11: false, 1e300: false} {
		if _, ok := f.snap(v); ok != want {
			t.Errorf("%v is a place: %v", v, ok)
		}
	}
}

// A client of realm that claims a cell is in that cell, and is told nothing: that its place was rounded is no news to it. Nor is
// it to those who move bodies by their speed.
func TestRoundingIsNoNews(t *testing.T) {
	g := beetleGame()
	walk := g.Step
	g.Step = func(w *World, in []Input) {
		walk(w, in)
		for _, b := range All[beetle](w) {
			b.Heat, b.Range, b.Free = 0, 0, 0 // what is not its motion stays
		}
	}
	s := newSimOf(t, g, Config{})
	p := join(t, s, "a")
	s.Advance()
	own := s.NewView(p, ViewConfig{Reliable: true, BytesPerTick: -1, PredictTicks: 10, OwnMoves: true})
	others := s.NewView(0, ViewConfig{Reliable: true, BytesPerTick: -1, PredictTicks: 10})
	tellings(s, own)
	takeAll(others)
	id, b := Avatar[beetle](s.World(), p)
	x, y := b.X, b.Y
	toldOwn, toldOthers := 0, 0
	for i := range 40 {
		st := Steering{Angle: 0.61, Norm: 0.83, HasAngle: true, HasNorm: true}
		x, y = x+0.83*math.Cos(0.61), y+0.83*math.Sin(0.61)
		if i < 20 && i%5 == 4 {
			st.X, st.Y, st.HasPlace, st.Cell = math.Floor(x)+.5, math.Floor(y)+.5, true, true
		}
		s.Steer(p, s.Tick(), st, 0)
		for _, mask := range tellings(s, own) {
			if mask&(1<<FieldX|1<<FieldY|1<<FieldAngle|1<<FieldNorm) != 0 {
				toldOwn++
			}
		}
		if len(takeAll(others)) > 0 && i >= 20 {
			toldOthers++
		}
		if b := s.World().Body(id); math.Abs(b.X-x) > 2 || math.Abs(b.Y-y) > 2 {
			t.Fatalf("tick %d: at (%v, %v), and the client at (%v, %v)", i, b.X, b.Y, x, y)
		}
	}
	if s.Stats().InputsRefused != 0 || toldOwn != 0 {
		t.Errorf("%d inputs refused; its own moves were told %d times", s.Stats().InputsRefused, toldOwn)
	}
	if toldOthers != 2 {
		t.Errorf("others were told %d times in 20 ticks of going straight on, want 2", toldOthers)
	}
}
