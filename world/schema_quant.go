package world

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// quantise takes what the tags q=, min= and max= say.
func (f *Field) quantise(t *tag) error {
	switch {
	case f.Type != F32 && f.Type != F64:
		return errors.New("q= is for float32 and float64")
	case t.low == "" || t.high == "":
		return errors.New("q= needs the range of the value: min= and max=")
	}
	low, err := strconv.ParseFloat(t.low, 64)
	if err == nil && low-low != 0 {
		err = errors.New("not a finite number")
	}
	if err != nil {
		return fmt.Errorf("tag %q: %w", "min="+t.low, err)
	}
	high, err := strconv.ParseFloat(t.high, 64)
	if err == nil && high-high != 0 {
		err = errors.New("not a finite number")
	}
	if err != nil {
		return fmt.Errorf("tag %q: %w", "max="+t.high, err)
	}
	if low > high {
		return fmt.Errorf("min=%s is above max=%s", t.low, t.high)
	}
	return f.setRange(t.step, low, high)
}

// setRange chooses the type that travels.
func (f *Field) setRange(step, low, high float64) error {
	first, last := whole(low/step, math.Ceil), whole(high/step, math.Floor)
	f.Wire = stepsType(first, last)
	shorter := stepsType(first, last-1)
	switch {
	case first > last:
		return fmt.Errorf("q=%v has no step from %v to %v", step, low, high)
	case shorter != 0 && (f.Wire == 0 || shorter.Bytes() < f.Wire.Bytes()):
		// As with 1/256 up to 128: that it takes twice the bytes should be nobody's oversight.
		return fmt.Errorf("q=%v to max=%v is one step more than %v holds: max=%v fits, and a greater max= takes a larger type", step, high, shorter, float64((last-1)*step))
	case f.Wire == 0 || f.Wire.Bytes() >= f.Type.Bytes():
		return fmt.Errorf("q=%v from %v to %v takes as many bytes as the float: a greater q= or a smaller range", step, low, high)
	}
	f.Step, f.low, f.high = step, int64(first), int64(last)
	return nil
}

// whole returns a number of steps that is one but for the rounding of a division, or else what round makes of it.
func whole(n float64, round func(float64) float64) float64 {
	if near := math.Round(n); math.Abs(near-n) < 1e-6 {
		return near
	}
	return round(n)
}

// stepsType returns the smallest type that holds whole numbers from first to last, or 0.
func stepsType(first, last float64) Type {
	switch {
	case first >= 0 && last <= math.MaxUint8:
		return U8
	case first >= math.MinInt8 && last <= math.MaxInt8:
		return I8
	case first >= 0 && last <= math.MaxUint16:
		return U16
	case first >= math.MinInt16 && last <= math.MaxInt16:
		return I16
	case first >= 0 && last <= math.MaxUint32:
		return U32
	case first >= math.MinInt32 && last <= math.MaxInt32:
		return I32
	}
	return 0
}

// setTurns makes a field an angle with so many directions, from half a turn to the right to half a turn to the left.
func (f *Field) setTurns(turns int) {
	f.Wire = I16
	if turns <= 1<<8 {
		f.Wire = I8
	}
	f.Step, f.turn = 2*math.Pi/float64(turns), true
	f.low = -int64(turns / 2)
	f.high = f.low + int64(turns) - 1
}

// takeQuants takes what the tag of a Body says of its fields.
func (k *Kind) takeQuants(t *tag) error {
	if t.step == 0 && t.turns == 0 && t.norm == 0 {
		if t.low != "" || t.high != "" {
			return errors.New("min= and max= are for q=")
		}
		return nil
	}
	if !k.HasBody {
		return errors.New("q=, angle= and norm= stand at the Body, or at a field")
	}
	if t.step != 0 {
		if t.step > maxPlaceStep {
			return fmt.Errorf("q=%v, and %d is the limit for a Body: each cell needs a place", t.step, maxPlaceStep)
		}
		for i := FieldX; i <= FieldY; i++ {
			if err := k.Fields[i].quantise(t); err != nil {
				return err
			}
		}
	}
	if t.turns != 0 {
		k.Fields[FieldAngle].setTurns(t.turns)
	}
	if t.norm != 0 {
		if err := k.Fields[FieldNorm].setRange(t.norm, -maxSpeed, maxSpeed); err != nil {
			return fmt.Errorf("norm= is a q= with the range of all speeds: %w", err)
		}
	}
	k.placed, k.angled = t.step != 0, t.turns != 0 || t.norm != 0
	return nil
}

// parseStep reads a step: a number, or one by another as in 1/256.
func parseStep(text string) (float64, error) {
	over, under, isRatio := strings.Cut(text, "/")
	step, err := strconv.ParseFloat(over, 64)
	if isRatio && err == nil {
		var by float64
		by, err = strconv.ParseFloat(under, 64)
		step /= by
	}
	if err != nil {
		return 0, errors.New("not a number, or one by another as in 1/256")
	}
	if !(step >= leastStep && step <= greatestStep) {
		return 0, errors.New("not from 1/1073741824 to 1073741824")
	}
	return step, nil
}
