package reliable

import (
	"math"
	"time"
)

// SendConfig sets how a Sender numbers, resends and gives up. The zero SendConfig is usable and follows
// docs/protocols/replica.md. It must not be changed after use and may be shared by any number of senders.
type SendConfig struct {
	// Span bounds how many numbers the next number may be ahead of the oldest unacknowledged one and of
	// the newest acknowledged one. Default 4,096.
	Span uint64

	// MaxBytes bounds the bytes that Send has taken from the oldest unacknowledged packet on. Beyond it
	// Send returns ErrWindowFull. An eighth of it is reserved for packets of up to 256 bytes. A peer's
	// MaxHeld should be no smaller. Default 256 KiB.
	MaxBytes int

	// FirstRTO is the resend delay while the round trip is unknown. Default 250 ms.
	FirstRTO time.Duration
	// MinRTO and MaxRTO bound the resend delay. Defaults 20 ms and 2 s.
	MinRTO, MaxRTO time.Duration
	// VarFloor is the least time that the resend delay adds to the smoothed round trip. Default 10 ms;
	// negative means none.
	VarFloor time.Duration
	// MaxBackoff bounds the resend delay, which doubles with each resend of a packet. Default 2 s.
	MaxBackoff time.Duration

	// Tries is how many resends by timer the oldest packet gets before the sender gives up. Default 10.
	Tries int
	// GiveUpAfter is the least age of that packet when the sender gives up, however often it was
	// resent. Default 0.
	GiveUpAfter time.Duration
	// Patient keeps the sender from giving up while another packet was acknowledged within GiveUpAfter:
	// the peer is alive, and this packet was lost each time or refused. If the peer never acknowledges
	// it, the span is used up, and acknowledgements of other packets end.
	Patient bool

	// TimerOnly considers a packet lost only when its resend timer runs out, even if later packets were
	// acknowledged first. It is for peers that gather acknowledgements for so long that their order
	// says nothing about loss (relay).
	TimerOnly bool
	// NoEarly turns off early resends, for peers that expect little traffic.
	NoEarly bool
	// CopyFirst gives small packets a copy until the path is known to lose nothing. A player who sends twice a second would know
	// that it loses packets only after a minute, and until then each lost packet would wait for its timer.
	CopyFirst bool
	// EarlyPercent and EarlyBytes bound early resends to a percentage of the bytes being sent, or to a
	// number of bytes a second, whichever is more. Defaults 30 and 16,384.
	EarlyPercent int
	EarlyBytes   int

	// Overhead is the number of bytes that a datagram has besides its packet, as the path counts them. Default
	// 28, for the headers of IPv4 and UDP.
	Overhead int

	// NoCongestion turns off the congestion window and pacing, for links that are known to be fast, and
	// for measurements.
	NoCongestion bool

	filled bool
}

// Filled returns a copy with the defaults filled in. NewSender does it too, but a server with thousands
// of senders does it once.
func (c SendConfig) Filled() *SendConfig {
	orElse(&c.Span, 4096)
	orElse(&c.MaxBytes, 256<<10)
	orElse(&c.FirstRTO, 250*time.Millisecond)
	orElse(&c.MinRTO, 20*time.Millisecond)
	orElse(&c.MaxRTO, 2*time.Second)
	orElse(&c.VarFloor, 10*time.Millisecond)
	orElse(&c.MaxBackoff, 2*time.Second)
	orElse(&c.Tries, 10)
	orElse(&c.EarlyPercent, 30)
	orElse(&c.EarlyBytes, 16<<10)
	orElse(&c.Overhead, 28)
	c.filled = true
	return &c
}

// Rule is how the packets of a lane are delivered.
type Rule uint8

const (
	// Unordered delivers at once.
	Unordered Rule = iota + 1
	// Linked delivers a packet after the packet that it names as its predecessor.
	Linked
	// Contiguous delivers a packet after the packets of all smaller numbers. Together with packets of
	// Lane 0, which are delivered at once, it is relay's semi-ordered mode.
	Contiguous
	// Patient delivers a packet after the packets of all smaller numbers, or after a hold time. It is
	// for peers that skip numbers and never send them.
	Patient
	// Newest delivers a packet only if its number is above every delivered one.
	Newest
)

// String returns the rule's name.
func (r Rule) String() string {
	return nameOf(uint8(r), "unset", "unordered", "linked", "contiguous", "patient", "newest")
}

// ReceiveConfig sets how a Receiver accepts, acknowledges and orders packets. The zero ReceiveConfig is
// usable: unordered delivery, acknowledgements at once. It must not be changed after use and may be shared
// by any number of receivers.
type ReceiveConfig struct {
	// Rules is the rule of each lane; unset lanes are Unordered. If any lane is Contiguous, the
	// receiver remembers every missing number, for all lanes together. Otherwise it remembers which of
	// the last 8,192 numbers it received.
	Rules [lanes]Rule

	// MaxHoles bounds the missing numbers that are remembered for Contiguous. Default 1,024.
	MaxHoles int
	// MaxHeld bounds the bytes of packets that wait for earlier ones. MaxReady bounds the bytes that
	// wait for the application. A packet beyond either bound is refused and not acknowledged, so the
	// peer sends it again. Defaults 256 KiB each. Pool.MaxHeld bounds all receivers together.
	MaxHeld, MaxReady int
	// Overhead is the number of bytes that each packet counts against MaxHeld and MaxReady besides its
	// own. It is for dialects whose packets may be empty: without it, their number would have no bound.
	// Default 0.
	Overhead int
	// MaxHeldPackets bounds the number of packets that wait for earlier ones. Default: only the bytes
	// are bounded.
	MaxHeldPackets int

	// AckDelay is how long acknowledgements are gathered before they are sent. AckCount of them are
	// sent at once. Defaults 0, which means no delay, and 96.
	AckDelay time.Duration
	AckCount int

	// MinHold is the least hold time of Patient, which is otherwise 4 round trips. Default 200 ms.
	MinHold time.Duration

	filled  bool
	allCome bool // a lane is Contiguous
}

// Filled returns a copy with the defaults filled in.
func (c ReceiveConfig) Filled() *ReceiveConfig {
	for i := range c.Rules {
		orElse(&c.Rules[i], Unordered)
		c.allCome = c.allCome || c.Rules[i] == Contiguous
	}
	orElse(&c.MaxHoles, 1024)
	orElse(&c.MaxHeld, 256<<10)
	orElse(&c.MaxReady, 256<<10)
	orElse(&c.MaxHeldPackets, math.MaxInt32)
	orElse(&c.AckCount, 96)
	orElse(&c.MinHold, 200*time.Millisecond)
	c.filled = true
	return &c
}

func orElse[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func nameOf(i uint8, names ...string) string {
	if int(i) < len(names) {
		return names[i]
	}
	return "unknown"
}
