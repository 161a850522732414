package core

import (
	"math"
	"strconv"

	"parley/internal/wire"
)

// DataType is the type of a linked variable (section 1.3.5.6). Its zero value is
// char, as on the wire.
type DataType uint8

// The data types. Numbers are little endian, signed ones in two's complement,
// floats in IEEE 754.
const (
	DataChar DataType = iota
	DataUchar
	DataShort
	DataUshort
	DataInt
	DataUint
	DataInt64
	DataUint64
	DataFloat
	DataDouble
	DataChars // "char []": 0 to 255 bytes

	dataTypes
)

var dataTypeNames = [dataTypes]string{
	"char", "uchar", "short", "ushort", "int", "uint", "int64", "uint64", "float", "double", "char[]",
}

var dataTypeBytes = [dataTypes]int{1, 1, 2, 2, 4, 4, 8, 8, 4, 8, -1}

// String returns the type's name in the document.
func (d DataType) String() string {
	if d < dataTypes {
		return dataTypeNames[d]
	}
	return "data type " + strconv.Itoa(int(d))
}

// Size returns the number of bytes of a value of the type. It is -1 for DataChars, whose
// values vary in size, and for a type that does not exist.
func (d DataType) Size() int {
	if d < dataTypes {
		return dataTypeBytes[d]
	}
	return -1
}

// Fits reports whether a value of the type may have n bytes: "Replicated data whose size
// is not that of its linked type is bad input". Parse cannot check it, as a replicate
// does not repeat the types.
func (d DataType) Fits(n int) bool {
	if d == DataChars {
		return n >= 0 && n <= MaxValueBytes
	}
	return d < dataTypes && n == dataTypeBytes[d]
}

// Finite reports whether data is safe for arithmetic. It is false for a float or double
// that is NaN or infinite, as such a value spreads to every sum. data must fit the type.
func (d DataType) Finite(data []byte) bool {
	r := wire.Little(data)
	switch d {
	case DataFloat:
		v := float64(r.F32("value"))
		return math.Abs(v) <= math.MaxFloat32
	case DataDouble:
		return math.Abs(r.F64("value")) <= math.MaxFloat64
	}
	return true
}
