package reliable

import (
	"math"
	"time"
)

// SendConfig says how a Sender numbers, resends and gives up. The zero
// SendConfig is usable and follows the replica page. It is not changed after
// use and may be shared by any number of senders.
type SendConfig struct {
	// Span bounds the distance between the oldest unacknowledged number (and the
	// newest acknowledged one) and the next number. Default 4,096.
	Span uint64

	// MaxBytes bounds what was taken since the oldest unacknowledged packet;
	// past it Send returns ErrWindowFull. A peer's MaxHeld is best no smaller.
	// Default 256 KiB.
	MaxBytes int

	// FirstRTO is the resend delay while no round trip is known. Default 250 ms.
	FirstRTO time.Duration
	// MinRTO and MaxRTO bound the resend delay. Defaults 20 ms and 2 s.
	MinRTO, MaxRTO time.Duration
	// VarFloor is the least margin over the smoothed round trip. Default 10 ms;
	// negative means none.
	VarFloor time.Duration
	// MaxBackoff bounds the delay after doubling. Default 2 s.
	MaxBackoff time.Duration

	// Tries is how many resends by timer a packet gets. Default 10.
	Tries int
	// GiveUpAfter keeps a packet from being given up before it has this age,
	// whatever the tries. Default 0.
	GiveUpAfter time.Duration
	// Patient keeps a packet from being given up while the peer has acknowledged others within
	// GiveUpAfter: it lives, and the packet was unlucky, or there was no room for it. A peer that never
	// acknowledges the one uses up the span, and then is silent.
	Patient bool

	// TimerOnly takes a packet for lost when its time is up and never before, whatever later
	// packets were acknowledged first. For peers whose acknowledgements are gathered
	// for so long that their order says nothing (relay).
	TimerOnly bool
	// NoEarly turns off resending ahead of loss: for peers that expect quiet.
	NoEarly bool
	// EarlyPercent and EarlyBytes bound the copies sent ahead of loss: to this
	// share of what is being sent, or to this many bytes a second, whichever is
	// more. Defaults 30 and 16,384.
	EarlyPercent int
	EarlyBytes   int

	// NoCongestion turns off the congestion window and pacing: for links that
	// are known to be wide, and for measurements.
	NoCongestion bool

	filled bool
}

// Filled returns a copy in which every field has its value. NewSender does it
// too, but a server that makes thousands of senders does it once.
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
	c.filled = true
	return &c
}

// Rule is how the packets of a lane are delivered.
type Rule uint8

const (
	// Unordered delivers at once.
	Unordered Rule = iota + 1
	// Linked delivers a packet after the one that it names as its predecessor.
	Linked
	// Contiguous delivers a packet after every smaller number. With packets
	// received as Loose among them it is relay's semi-ordered mode.
	Contiguous
	// Patient delivers a packet after every smaller number, or after a hold
	// time: for peers whose numbers have holes that nothing will ever fill.
	Patient
	// Newest delivers a packet only if its number is above every delivered one.
	Newest
)

// String returns the rule's name.
func (r Rule) String() string {
	return nameOf(uint8(r), "unset", "unordered", "linked", "contiguous", "patient", "newest")
}

// ReceiveConfig says how a Receiver judges, acknowledges and orders. The zero
// ReceiveConfig is usable: unordered delivery, acknowledgements at once. It is
// not changed after use and may be shared by any number of receivers.
type ReceiveConfig struct {
	// Rules is the rule of each lane; unset lanes are Unordered. If any lane is
	// Contiguous, holes are remembered one by one and all lanes share them;
	// otherwise the last 8,192 numbers are.
	Rules [lanes]Rule

	// MaxHoles bounds the remembered holes of Contiguous. Default 1,024.
	MaxHoles int
	// MaxHeld bounds the bytes of packets that wait for earlier ones, MaxReady
	// those that wait for the application. Past either a packet is refused and
	// not acknowledged: it comes again. Defaults 256 KiB each.
	MaxHeld, MaxReady int
	// Overhead is what a packet counts against these two beside its bytes: for dialects
	// whose packets may be empty, which would else wait without bound. Default 0.
	Overhead int
	// MaxHeldPackets bounds how many wait for earlier ones. Default: only the bytes do.
	MaxHeldPackets int

	// AckDelay gathers acknowledgements for this long, or until AckCount are
	// due. Defaults 0, which is at once, and 96.
	AckDelay time.Duration
	AckCount int

	// MinHold is the least hold time of Patient; it is 4 round trips otherwise.
	// Default 200 ms.
	MinHold time.Duration

	filled  bool
	allCome bool // a lane is Contiguous
}

// Filled returns a copy in which every field has its value.
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
