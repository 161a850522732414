package reliable

import "testing"

// A buffer has room for what was asked, and up to a full packet less than twice that;
// what is given back is lent again.
func TestBuffersFit(t *testing.T) {
	var b Buffers
	for n := range 70_000 {
		p := b.Take(n)
		if len(p) != n || n > 64 && n <= 1280 && cap(p) >= 2*n {
			t.Fatalf("%d bytes are in a buffer of %d", n, cap(p))
		}
		b.Give(p)
		if n == 0 || n > 65536 {
			continue
		}
		if q := b.Take(n); &q[0] != &p[:1][0] {
			t.Fatalf("a buffer for %d bytes was not lent again", n)
		} else {
			b.Give(q)
		}
	}
}
