package realm

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/internal/promise"
	"parley/internal/shell/shelltest"
	"parley/protocol/realm/core"
)

// anybody are accounts that let all in.
type anybody struct{}

func (anybody) Register(_ netip.AddrPort, _, _ string, answer func(core.RegisterCode)) {
	answer(RegisterOK)
}
func (anybody) Login(_ netip.AddrPort, _, _ string, answer func(core.LoginCode)) { answer(LoginOK) }
func (anybody) Key(name string) string                                           { return name }
func (anybody) Logout(string)                                                    {}

// newCrowd starts a process whose clients are all in the game when it returns: in one of its own, so that what is measured
// here is the server's alone.
func newCrowd(t testing.TB, addr string, clients int) {
	t.Helper()
	joined := 0
	shelltest.StartHelper(t, loadVariable, "crowd").Ask(t, fmt.Sprint("join ", addr, " ", clients), &joined)
	if joined != clients {
		t.Fatalf("%d of %d clients are in the game", joined, clients)
	}
}

func newHall(t testing.TB) *Server {
	t.Helper()
	game := newTestGame()
	handle := func(c *Conn, ev Event) {
		if ev.Kind == EventEnter {
			game.next++
			c.Enter(core.Entry{Entity: core.Entity{ID: game.next, Has: core.HasPosition | core.HasType}})
		}
	}
	config := Config{Config: core.Config{Schema: testSchema, Timeout: time.Hour, PingAfter: time.Hour, VersionWithin: time.Hour, LoginWithin: time.Hour}, Accounts: anybody{}, DataDir: t.TempDir()}
	config.WaitingPerAddress = -1 // all clients have one address here
	s, err := Listen("127.0.0.1:0", config, handle)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// 2,000 TLS connections are held in at most 48 KiB each; 400 of them outside the gate. There, each gets 200 entity updates a
// second for a second then: that takes at most 1.4 times the CPU of writing the same bytes to the
// same connections. (The benchmark measures for longer.)
func TestTwoThousandConnections(t *testing.T) {
	if shelltest.Race {
		t.Skip("memory and time under the race detector are others")
	}
	clients, gate := 2000, promise.Full() && !testing.Short()
	if !gate {
		clients = 400
	}
	s := newHall(t)
	before := shelltest.InUse()
	newCrowd(t, s.Addr().String(), clients)
	patient.Until(t, "all are in", func() bool { return s.Stats().Mux.Players == clients })
	each := (shelltest.InUse() - before) / clients
	t.Logf("%d connections of %d bytes each", clients, each)
	if each > 48<<10 {
		t.Errorf("%d bytes a connection, want at most 48 KiB", each)
	}
	if !gate {
		return
	}
	// Other work on the machine can only make it worse: the best of ten counts.
	ratio := measureUpdates(t, s, clients, 1)
	for tries := 1; ratio > 1.4 && tries < 10; tries++ {
		ratio = min(ratio, measureUpdates(t, s, clients, 1))
	}
	if ratio > 1.4 {
		t.Errorf("%.2f times the CPU of the bytes alone, want at most 1.4", ratio)
	} else {
		t.Logf("%.2f times the CPU of the bytes alone", ratio)
	}
}

// updatesOfTen is a tick's message about ten entities.
func updatesOfTen(tick uint64) core.Message {
	list := make([]core.Entity, 10)
	for i := range list {
		list[i] = core.Entity{ID: uint16(i + 1), Has: core.HasPosition | core.HasSpeedAngle | core.HasSpeedNorm,
			Position: core.Position{X: uint8(tick), Y: uint8(i)}, SpeedAngle: 1, SpeedNorm: 0.5}
	}
	entities, _ := testCodec.Entities(list...)
	return core.Message{Kind: core.KindEntitiesUpdate, Tick: uint16(tick), Entities: entities}
}

// A hall of clients gets 200 entity updates a second each. The floor is to write the same
// bytes to the same TLS connections, in the same run, a quarter of a second of each in turn.
func measureUpdates(t testing.TB, s *Server, clients, seconds int) (ratio float64) {
	tick := uint64(0)
	ours := func() {
		s.Do(func() {
			tick++
			s.Mux().BeginTick(time.Now(), tick)
			msg := updatesOfTen(tick)
			if err := s.Mux().Broadcast(&msg, nil); err != nil {
				t.Error(err)
			}
		})
	}
	raw := func() {
		s.Do(func() {
			tick++
			msg := updatesOfTen(tick)
			b := testCodec.AppendTo(nil, &msg)
			for c := range s.Mux().Conns() {
				s.linkOf(c).Send(b)
			}
		})
	}
	quarter := func(run func()) time.Duration {
		began := shelltest.ProcessCPU()
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		for range 5 {
			run()
			<-ticker.C
		}
		return shelltest.ProcessCPU() - began
	}
	quarter(ours) // whose queues grow
	quarter(raw)
	var sums [2]time.Duration
	for range 4 * seconds {
		sums[0] += quarter(ours)
		sums[1] += quarter(raw)
	}
	if got := s.Stats(); got.Mux.Players != clients {
		t.Errorf("%d of %d are left", got.Mux.Players, clients)
	}
	t.Logf("%d clients, 200 updates a second each: %v a second, and %v to write the same bytes", clients, sums[0]/time.Duration(seconds), sums[1]/time.Duration(seconds))
	return float64(sums[0]) / float64(sums[1])
}

func BenchmarkUpdatesToTwoThousand(b *testing.B) {
	s := newHall(b)
	newCrowd(b, s.Addr().String(), 2000)
	patient.Until(b, "all are in", func() bool { return s.Stats().Mux.Players == 2000 })
	for b.Loop() {
		b.ReportMetric(measureUpdates(b, s, 2000, 5), "x-floor")
	}
}
