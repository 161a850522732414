package admission

// Allowance is the number of bytes that may still be sent to one peer whose address is
// unproven: three for each byte that came from it. It is 8 bytes, to be embedded in a
// connection. The zero value allows nothing yet.
type Allowance struct {
	left int64
}

// unlimited marks the allowance of a proven address.
const unlimited = maxAllowance + 1

// NewAllowance returns an allowance with a grace: a number of bytes that may be sent
// before any came (relay: 8 KiB).
func NewAllowance(grace int) Allowance {
	return Allowance{left: min(int64(max(grace, 0)), maxAllowance)}
}

// Received counts n bytes that came from the peer.
func (a *Allowance) Received(n int) {
	if a.left == unlimited || n <= 0 {
		return
	}
	gain := min(int64(n), maxAllowance/sendFactor) * sendFactor
	a.left = min(a.left, maxAllowance-gain) + gain
}

// MaySend reports whether n bytes may be sent to the peer, and if so counts them.
func (a *Allowance) MaySend(n int) bool {
	switch {
	case a.left == unlimited:
		return true
	case n < 0 || int64(n) > a.left:
		return false
	}
	a.left -= int64(n)
	return true
}

// Prove lifts the limit: the peer has shown that it receives packets sent to its address.
func (a *Allowance) Prove() { a.left = unlimited }

// Proven reports whether the limit was lifted.
func (a *Allowance) Proven() bool { return a.left == unlimited }
