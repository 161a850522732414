package simnet

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Plan is a script of faults for a network: changes of links, partitions, crashes and moves, with their times.
// RandomPlan draws one from a seed, and ParsePlan reads one from text. String writes that text, and ParsePlan returns
// the same plan from it. So a test that fails under a plan can print it, and a person can remove lines until only the
// cause is left (Shrink does that too).
//
//	seed 42
//	link a>b delay=25ms jitter=5ms loss=0.2
//	link b>* 4g
//	skew a -312.5
//	at 1.25s partition a b
//	at 1.5s cut a>c
//	at 3s heal a b
//	at 4s crash a
//	at 5s restart a
//	at 6s rebind b
//	at 7s rebind c 10.9.9.9:4000
//	at 8s shift a 1h
//	at 40s heal * *
//	at 40s link *>* delay=10ms
//	calm 40s
//
// A line without "at" applies at the start; # starts a comment. Times count from Apply. Steps with the same time run in
// the order of the lines. * stands for every host.
type Plan struct {
	Seed  uint64 // the seed for New that gives the same run; 0 is written as no line
	Steps []Step
	Calm  time.Duration // the time after which there are no more faults; 0 means not given
}

// Step is one line of a plan.
type Step struct {
	At   time.Duration
	Verb Verb

	// A is the host that the step concerns. A step between two hosts has A and B: a link and a cut are from A to B.
	// "*" stands for every host in a link and a heal.
	A, B string

	Profile Profile        // for a link
	PPM     float64        // for a skew
	Shift   time.Duration  // for a shift
	Addr    netip.AddrPort // for a rebind; if not valid, the next free port of the old address
}

// Verb is what a step does.
type Verb uint8

const (
	VerbLink      Verb = iota + 1 // Link.SetProfile
	VerbPartition                 // Network.Partition, both ways
	VerbCut                       // Network.Partition, from A to B only
	VerbHeal                      // Network.Heal
	VerbCrash                     // Host.Crash
	VerbRestart                   // Host.Restart
	VerbRebind                    // Host.Rebind
	VerbSkew                      // Host.Skew
	VerbShift                     // Host.ShiftClock
	numVerbs
)

var verbNames = [numVerbs]string{"unset", "link", "partition", "cut", "heal", "crash", "restart", "rebind", "skew", "shift"}

// String returns the verb's word in a plan.
func (v Verb) String() string {
	if v >= numVerbs {
		return fmt.Sprintf("verb(%d)", uint8(v))
	}
	return verbNames[v]
}

// everyHost is the name that stands for all of them.
const everyHost = "*"

// String returns the plan as text, one line a step.
func (p Plan) String() string {
	var b strings.Builder
	if p.Seed != 0 {
		fmt.Fprintf(&b, "seed %d\n", p.Seed)
	}
	for _, s := range p.Steps {
		b.WriteString(s.String())
		b.WriteByte('\n')
	}
	if p.Calm != 0 {
		fmt.Fprintf(&b, "calm %v\n", p.Calm)
	}
	return b.String()
}

// String returns the line of the step.
func (s Step) String() string {
	words := []string{s.Verb.String()}
	if s.At != 0 {
		words = []string{"at", s.At.String(), s.Verb.String()}
	}
	switch s.Verb {
	case VerbLink:
		words = append(words, s.A+">"+s.B, s.Profile.String())
	case VerbCut:
		words = append(words, s.A+">"+s.B)
	case VerbPartition, VerbHeal:
		words = append(words, s.A, s.B)
	case VerbSkew:
		words = append(words, s.A, formatFloat(s.PPM))
	case VerbShift:
		words = append(words, s.A, s.Shift.String())
	case VerbRebind:
		words = append(words, s.A)
		if s.Addr.IsValid() {
			words = append(words, s.Addr.String())
		}
	default:
		words = append(words, s.A)
	}
	return strings.Join(words, " ")
}

// ParsePlan reads a plan from text. Its errors name the line. The words of a link are those of ParseProfile.
func ParsePlan(text string) (Plan, error) {
	var p Plan
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if words := strings.Fields(line); len(words) > 0 {
			if err := p.parseLine(words); err != nil {
				return Plan{}, fmt.Errorf("simnet: plan: line %d: %w", i+1, err)
			}
		}
	}
	return p, nil
}

func (p *Plan) parseLine(words []string) (err error) {
	switch {
	case words[0] == "seed" && len(words) == 2:
		if p.Seed, err = strconv.ParseUint(words[1], 10, 64); err != nil {
			return fmt.Errorf("seed %q: give a whole number from 0 on, such as 17", words[1])
		}
		return nil
	case words[0] == "calm" && len(words) == 2:
		if p.Calm, err = parseSpan(words[1]); err != nil {
			return fmt.Errorf("calm %q: %w", words[1], err)
		}
		return nil
	}
	var s Step
	if words[0] == "at" && len(words) > 2 {
		if s.At, err = parseSpan(words[1]); err != nil {
			return fmt.Errorf("at %q: %w", words[1], err)
		}
		words = words[2:]
	}
	if err := s.parse(words[0], words[1:]); err != nil {
		return fmt.Errorf("%s: %w", words[0], err)
	}
	p.Steps = append(p.Steps, s)
	return s.validate()
}

// parse reads what follows the time.
func (s *Step) parse(verb string, words []string) (err error) {
	for v := VerbLink; v < numVerbs; v++ {
		if verbNames[v] == verb {
			s.Verb = v
		}
	}
	want, most := 1, 1
	switch s.Verb {
	case 0:
		return fmt.Errorf("no such word")
	case VerbLink:
		most = len(words)
	case VerbPartition, VerbHeal, VerbSkew, VerbShift:
		want, most = 2, 2
	case VerbRebind:
		most = 2
	}
	if len(words) < want || len(words) > most {
		return fmt.Errorf("%d words after it", len(words))
	}
	s.A = words[0]
	switch s.Verb {
	case VerbLink, VerbCut:
		s.A, s.B, _ = strings.Cut(words[0], ">")
		if s.Verb == VerbLink {
			s.Profile, err = ParseProfile(strings.Join(words[1:], " "))
		}
	case VerbPartition, VerbHeal:
		s.B = words[1]
	case VerbSkew:
		if s.PPM, err = strconv.ParseFloat(words[1], 64); err != nil {
			return fmt.Errorf("%q: give millionths, such as 200 or -200", words[1])
		}
	case VerbShift:
		if s.Shift, err = time.ParseDuration(words[1]); err != nil {
			return fmt.Errorf("%q: give a time, such as 1s or -1s", words[1])
		}
	case VerbRebind:
		if len(words) == 2 {
			s.Addr, err = netip.ParseAddrPort(words[1])
		}
	}
	return err
}

// validate says what a step could not be done with, or not be written and read back with.
func (s *Step) validate() error {
	if s.Verb == 0 || s.Verb >= numVerbs {
		return fmt.Errorf("%v is no step", s.Verb)
	}
	if s.At < 0 || s.At > maxDelay || s.Shift < -maxDelay || s.Shift > maxDelay {
		return fmt.Errorf("time %v or %v is out of range", s.At, s.Shift)
	}
	isPair := s.Verb == VerbLink || s.Verb == VerbPartition || s.Verb == VerbCut || s.Verb == VerbHeal
	takesAll := s.Verb == VerbLink || s.Verb == VerbHeal
	if !isHostName(s.A, takesAll) || isPair && !isHostName(s.B, takesAll) {
		return fmt.Errorf("%s: %q or %q is no host's name", s.Verb, s.A, s.B)
	}
	if !(s.PPM >= -maxSkewPPM && s.PPM <= maxSkewPPM) {
		return fmt.Errorf("skew %v is out of range", s.PPM)
	}
	return s.Profile.Validate()
}

// isHostName is true for a name that can stand in a plan: one word, and none of the marks that a plan gives a meaning.
func isHostName(name string, takesAll bool) bool {
	if name == everyHost {
		return takesAll
	}
	fields := strings.Fields(name)
	return len(fields) == 1 && fields[0] == name && !strings.ContainsAny(name, ">#*=")
}
