package simnet

import (
	"fmt"
	"net/netip"
)

// Apply schedules the plan's steps in a network. Steps at the start run at once, and the others at their times,
// counted from now. Hosts are found by their names, and "*" stands for the hosts given here. restart returns the node
// that a crashed host runs next. It may be nil if the plan restarts none. If Apply returns an error, it has changed
// nothing.
func (p Plan) Apply(n *Network, restart func(h *Host) Node, hosts ...*Host) error {
	a := applier{net: n, restart: restart, hosts: hosts}
	for i := range p.Steps {
		if err := a.check(&p.Steps[i]); err != nil {
			return fmt.Errorf("simnet: plan: step %d: %w", i+1, err)
		}
	}
	for _, s := range p.Steps {
		if s.At == 0 {
			n.trace.script(n.now, s.String())
			a.do(&s)
			continue
		}
		n.After(s.At, s.String(), func() { a.do(&s) })
	}
	return nil
}

type applier struct {
	net     *Network
	restart func(h *Host) Node
	hosts   []*Host
}

func (a *applier) check(s *Step) error {
	if err := s.validate(); err != nil {
		return err
	}
	for _, name := range []string{s.A, s.B} {
		if name != "" && name != everyHost && len(a.find(name)) == 0 {
			return fmt.Errorf("%s: no host is named %q", s.Verb, name)
		}
	}
	if s.Verb == VerbRestart && a.restart == nil {
		return fmt.Errorf("restart %s: Apply was given no way to make a node", s.A)
	}
	return nil
}

func (a *applier) find(name string) []*Host {
	if name == everyHost {
		return a.hosts
	}
	for i, h := range a.hosts {
		if h.Name() == name {
			return a.hosts[i : i+1]
		}
	}
	return nil
}

func (a *applier) do(s *Step) {
	h := a.find(s.A)[0]
	switch s.Verb {
	case VerbLink:
		a.pairs(s, func(x, y *Host) { a.net.LinkBetween(x, y).SetProfile(s.Profile) })
	case VerbPartition:
		a.net.Partition(h, a.find(s.B)[0], false)
	case VerbCut:
		a.net.Partition(h, a.find(s.B)[0], true)
	case VerbHeal:
		a.pairs(s, func(x, y *Host) {
			if x.isCut(y) || y.isCut(x) {
				a.net.Heal(x, y)
			}
		})
	case VerbCrash:
		h.Crash()
	case VerbRestart:
		h.Restart(a.restart(h))
	case VerbRebind:
		h.Rebind(a.newAddr(h, s.Addr))
	case VerbSkew:
		h.Skew(s.PPM)
	case VerbShift:
		h.ShiftClock(s.Shift)
	}
}

// pairs calls f for each two different hosts that the step means.
func (a *applier) pairs(s *Step, f func(x, y *Host)) {
	for _, x := range a.find(s.A) {
		for _, y := range a.find(s.B) {
			if x != y {
				f(x, y)
			}
		}
	}
}

// newAddr is the address that a step asks for, if it is free, and otherwise the next free port after the host's own.
func (a *applier) newAddr(h *Host, wanted netip.AddrPort) netip.AddrPort {
	if wanted.IsValid() && a.net.Host(wanted) == nil {
		return wanted
	}
	next := h.Addr()
	for a.net.Host(next) != nil {
		next = netip.AddrPortFrom(next.Addr(), max(next.Port()+1, 1024))
	}
	return next
}
