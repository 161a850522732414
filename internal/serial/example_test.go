package serial_test

import (
	"fmt"

	"parley/internal/serial"
)

// A receiver unwraps the numbers that it gets against the newest one, and
// compares in 64 bits from there on.
func Example() {
	const space = serial.Bits16
	newest := uint64(65_534)
	for _, sequence := range []uint16{65_535, 1, 0} { // 0 was overtaken
		n := space.Unwrap(newest, uint32(sequence))
		fmt.Println(n, n > newest)
		newest = max(newest, n)
	}
	// Output:
	// 65535 true
	// 65537 true
	// 65536 false
}
