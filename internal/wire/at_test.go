package wire

import (
	"bytes"
	"math"
	"testing"
)

// What is in b is read as it is, and what is not, or not whole, is 0 or nothing.
func TestReadingAtAPlace(t *testing.T) {
	b := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9}
	for _, tt := range []struct {
		at  int
		u8  uint8
		u16 uint16
		u64 uint64
	}{
		{0, 1, 0x0201, 0x0807060504030201},
		{1, 2, 0x0302, 0x0908070605040302},
		{2, 3, 0x0403, 0},
		{7, 8, 0x0908, 0},
		{8, 9, 0, 0},
		{9, 0, 0, 0},
		{-1, 0, 0, 0},
		{math.MaxInt, 0, 0, 0},
		{math.MinInt, 0, 0, 0},
	} {
		if u8, u16, u64 := U8At(b, tt.at), LittleU16At(b, tt.at), LittleU64At(b, tt.at); u8 != tt.u8 || u16 != tt.u16 || u64 != tt.u64 {
			t.Errorf("at %d: %#x, %#x and %#x, want %#x, %#x and %#x", tt.at, u8, u16, u64, tt.u8, tt.u16, tt.u64)
		}
	}
	for _, tt := range []struct {
		from, to int
		want     []byte
	}{
		{0, 2, []byte{1, 2}}, {8, 9, []byte{9}}, {9, 9, []byte{}}, {3, 3, []byte{}},
		{8, 10, nil}, {3, 2, nil}, {-1, 2, nil}, {0, math.MaxInt, nil}, {math.MinInt, math.MaxInt, nil},
	} {
		got := BytesAt(b, tt.from, tt.to)
		if !bytes.Equal(got, tt.want) || (got == nil) != (tt.want == nil) || cap(got) != len(got) {
			t.Errorf("from %d to %d: %v, want %v", tt.from, tt.to, got, tt.want)
		}
	}
	if U8At(nil, 0) != 0 || LittleU16At(nil, 0) != 0 || LittleU64At(nil, 0) != 0 || len(BytesAt(nil, 0, 0)) != 0 {
		t.Error("something was read of nothing")
	}
}
