package main

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// swarm drives members from one thread. Whoever uses it stays on one thread.
type swarm struct {
	epoll   int
	clock   int // a timer that ticks each millisecond
	members []Member
	next    []time.Time // when each is to be called
	byFD    map[int32]int
	events  [256]unix.EpollEvent

	take func(b []byte)
	now  time.Time // of the turn
	sum  tally
}

// tally is what came.
type tally struct {
	Got  int             `json:"got"`
	Late []time.Duration `json:"late"` // a sample of how long messages were under way

	since time.Time // what was sent before does not count
}

// sampleEvery is which messages are part of the sample of latencies.
const sampleEvery = 7

// add counts a message that begins with the time of its sending.
func (t *tally) add(now time.Time, b []byte) {
	sent := int64(binary.BigEndian.Uint64(b))
	if sent < t.since.UnixNano() {
		return
	}
	if t.Got++; t.Got%sampleEvery == 0 {
		t.Late = append(t.Late, time.Duration(now.UnixNano()-sent))
	}
}

func newSwarm() (*swarm, error) {
	runtime.LockOSThread()
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	clock, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	tick := unix.Timespec{Nsec: int64(time.Millisecond)}
	if err := unix.TimerfdSettime(clock, 0, &unix.ItimerSpec{Interval: tick, Value: tick}, nil); err != nil {
		return nil, err
	}
	s := &swarm{epoll: epoll, clock: clock, byFD: map[int32]int{}}
	s.take = func(b []byte) { s.sum.add(time.Now(), b) }
	return s, s.watch(clock)
}

func (s *swarm) watch(fd int) error {
	return unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

// joining is how many clients connect at a time. Servers hold at most 64 of an address that have not entered.
const joining = 32

// gather has members join until there are n, and returns when all are ready.
func (s *swarm) gather(n int, patience time.Duration, join func(now time.Time) (Member, error)) error {
	end := time.Now().Add(patience)
	for ready := 0; ready < n; {
		ready = 0
		for _, m := range s.members {
			if m.Ready() {
				ready++
			}
		}
		for now := time.Now(); len(s.members) < n && len(s.members)-ready < joining; {
			m, err := join(now)
			if err != nil {
				return err
			}
			for _, fd := range m.Sockets() {
				s.byFD[int32(fd)] = len(s.members)
				if err := s.watch(fd); err != nil {
					return err
				}
			}
			s.members, s.next = append(s.members, m), append(s.next, now)
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d of %d clients are connected after %v", ready, n, patience)
		}
		if _, err := s.wait(); err != nil {
			return err
		}
	}
	return nil
}

// wait sleeps until something comes or a millisecond has passed, has members do what is
// due, and reports whether it was the millisecond.
func (s *swarm) wait() (tick bool, err error) {
	n, err := unix.EpollWait(s.epoll, s.events[:], -1)
	if err != nil && err != unix.EINTR {
		return false, err
	}
	s.now = time.Now()
	for _, ev := range s.events[:max(n, 0)] {
		if int(ev.Fd) == s.clock {
			var times [8]byte
			_, _ = unix.Read(s.clock, times[:])
			tick = true
			continue
		}
		if err := s.turn(s.byFD[ev.Fd]); err != nil {
			return tick, err
		}
	}
	if !tick {
		return false, nil
	}
	for i, at := range s.next {
		if !at.IsZero() && !s.now.Before(at) {
			if err := s.turn(i); err != nil {
				return true, err
			}
		}
	}
	return true, nil
}

func (s *swarm) turn(i int) (err error) {
	if s.next[i], err = s.members[i].Turn(s.now, s.take); err != nil {
		return fmt.Errorf("client %d: %w", i, err)
	}
	return nil
}

// send has member i send b.
func (s *swarm) send(i int, b []byte) (err error) {
	if s.next[i], err = s.members[i].Send(time.Now(), b); err != nil {
		return fmt.Errorf("client %d: %w", i, err)
	}
	return nil
}

// rest takes what comes until enough is there or the time is up.
func (s *swarm) rest(length time.Duration, enough func() bool) error {
	for end := time.Now().Add(length); time.Now().Before(end) && !enough(); {
		if _, err := s.wait(); err != nil {
			return err
		}
	}
	return nil
}

// harvest returns what came since it was called last.
func (s *swarm) harvest() tally {
	t := s.sum
	t.Late = slices.Clone(t.Late)
	s.sum = tally{Late: s.sum.Late[:0], since: time.Now()}
	return t
}
