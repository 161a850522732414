package datagram

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/patient"
)

// alarm is a core without datagrams that is due at one time after the other.
type alarm struct {
	due  []time.Time
	late time.Duration
}

func (a *alarm) HandleDatagram(time.Time, netip.AddrPort, []byte) {}

func (a *alarm) HandleTimeout(now time.Time) {
	a.late += now.Sub(a.due[0])
	a.due = a.due[1:]
}

func (a *alarm) NextTimeout() (at time.Time, ok bool) {
	if len(a.due) == 0 {
		return at, false
	}
	return a.due[0], true
}

func (a *alarm) PollTransmit([]byte) (n int, to netip.AddrPort, ok bool) { return 0, to, false }

// A loop over a silent carrier keeps its timers to the instant, takes a turn for each wake, and ends in each of three ways.
func TestALoopOverASilentCarrier(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(l *Loop)
		want error
	}{
		{"closed", func(l *Loop) { l.Close() }, nil},
		{"stopped", (*Loop).Stop, nil},
		{"its carrier closed", func(l *Loop) { l.Carrier().Close() }, ErrClosed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				core := new(alarm)
				for i := range 100 {
					core.due = append(core.due, time.Now().Add(time.Duration(i/2)*time.Second)) // two at once
				}
				l := StartLoop(NewSilent(netip.AddrPort{}, netip.AddrPort{}), core, LoopConfig{})
				time.Sleep(time.Hour)
				synctest.Wait()
				if len(core.due) != 0 || core.late != 0 || l.Stats().StuckTimers != 0 {
					t.Errorf("%d timers are left, and the others were late by %v: %+v", len(core.due), core.late, l.Stats())
				}
				for range 100 {
					before := l.Stats()
					l.Wake()
					synctest.Wait()
					if after := l.Stats(); after.Wakes != before.Wakes+1 || after.Turns != before.Turns+1 {
						t.Fatalf("a wake led from %+v to %+v", before, after)
					}
				}
				tt.end(l)
				patient.Value(l.Done())
				if err := l.Err(); err != tt.want {
					t.Errorf("it ended with %v, want %v", err, tt.want)
				}
			})
		})
	}
}
