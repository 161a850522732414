package world

import "unsafe"

// at returns where the field of a row is. The offset came from the row's type
// at registration, so it stays inside the row.
func (f *Field) at(row unsafe.Pointer) unsafe.Pointer { return unsafe.Add(row, f.offset) }

// load returns a field that is not a text as the bits of a Value.
func (f *Field) load(row unsafe.Pointer) uint64 {
	p := f.at(row)
	switch f.Type {
	case Bool:
		if *(*bool)(p) {
			return 1
		}
		return 0
	case U8:
		return uint64(*(*uint8)(p))
	case U16:
		return uint64(*(*uint16)(p))
	case U32, F32:
		return uint64(*(*uint32)(p))
	case I8:
		return uint64(int64(*(*int8)(p)))
	case I16:
		return uint64(int64(*(*int16)(p)))
	case I32:
		return uint64(int64(*(*int32)(p)))
	}
	return *(*uint64)(p)
}

// store puts the bits of a Value into a field that is not a text.
func (f *Field) store(row unsafe.Pointer, bits uint64) {
	p := f.at(row)
	switch f.Type {
	case Bool:
		*(*bool)(p) = bits != 0
	case U8, I8:
		*(*uint8)(p) = uint8(bits)
	case U16, I16:
		*(*uint16)(p) = uint16(bits)
	case U32, I32, F32:
		*(*uint32)(p) = uint32(bits)
	default:
		*(*uint64)(p) = bits
	}
}

func (f *Field) text(row unsafe.Pointer) *string { return (*string)(f.at(row)) }

// value returns the field as a Value.
func (f *Field) value(row unsafe.Pointer) Value {
	if f.Type == Text {
		return TextValue(*f.text(row))
	}
	return Value{Type: f.Type, bits: f.load(row)}
}

// setValue stores a Value of the field's type.
func (f *Field) setValue(row unsafe.Pointer, v Value) {
	if f.Type == Text {
		*f.text(row) = v.text
		return
	}
	f.store(row, v.bits)
}

// scrub makes a float that is NaN or infinite zero, and reports whether it was.
// What a NaN looks like differs from processor to processor, so the state must
// never hold one.
func (f *Field) scrub(row unsafe.Pointer) bool {
	if f.Type == F32 {
		p := (*float32)(f.at(row))
		if *p-*p == 0 {
			return false
		}
		*p = 0
		return true
	}
	p := (*float64)(f.at(row))
	if *p-*p == 0 {
		return false
	}
	*p = 0
	return true
}
