package gateway

import (
	"math/rand/v2"
	"net/netip"
	"runtime"
	"slices"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/play/message"
	"parley/protocol/duplex"
	"parley/simnet"
	"parley/world"
)

// meter is a server whose time and bytes are counted, without what its network takes.
type meter struct {
	aimCore
	cpu     time.Duration
	bytes   int
	packets int
	allocs  uint64
}

func (m *meter) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	begin := threadTime()
	m.aimCore.HandleDatagram(now, from, b)
	m.cpu += threadTime() - begin
}

func (m *meter) PollTransmit(buf []byte) (n int, to netip.AddrPort, ok bool) {
	begin := threadTime()
	n, to, ok = m.aimCore.PollTransmit(buf)
	m.cpu += threadTime() - begin
	if ok {
		m.bytes += n
		m.packets++
	}
	return n, to, ok
}

func (m *meter) Tick(now time.Time) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := threadTime()
	m.aimCore.Tick(now)
	m.cpu += threadTime() - begin
	runtime.ReadMemStats(&after)
	m.allocs += after.Mallocs - before.Mallocs
}

// The tick of BenchmarkHubTick, with an input of each player in each tick: plain, or with a stamp, so that it waits for its tick, and members are listed.
func BenchmarkHubTickStamps(b *testing.B) {
	for _, stamps := range []bool{false, true} {
		name := "plain"
		if stamps {
			name = "stamps"
		}
		b.Run(name, func(b *testing.B) {
			h, _ := benchDesk(b)
			d := h.dialects[0].(*desk)
			d.tell = func(s *Seat) {
				s.fate()
				if s.hasNews() {
					s.appendMembers(nil, message.Big, s.rollBytes(), maxRoll)
				}
			}
			seats := slices.Clone(h.main.deskSeats())
			b.ReportAllocs()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			times := make([]time.Duration, 0, 1<<20)
			tick := 0
			turn := func() time.Duration {
				tick++
				now := uint32(h.main.sim.Tick())
				for i, s := range seats {
					q := request{seat: s, ask: askSteer, stamped: stamps, stamp: message.Stamp{Number: uint32(tick), Tick: now + 2, Shown: now - 1}}
					q.steer = world.Steering{Angle: float32((tick + i) / 10 % 6), Norm: 1, HasAngle: true, HasNorm: true}
					d.inbox.put(q)
				}
				begin := threadTime()
				must(0, h.Tick())
				return threadTime() - begin
			}
			for range 40 {
				turn()
			}
			for b.Loop() {
				times = append(times, turn())
			}
			b.ReportMetric(million(percentile(times, .5)), "cpu-p50-ms")
			b.ReportMetric(million(percentile(times, .99)), "cpu-p99-ms")
		})
	}
}

// What a server pays for 40 clients that send a stamp each tick, and are told fates and members, against 40 that send nothing, in a world of 200
// walkers: its time from datagrams to datagrams, and the bytes to each player.
func BenchmarkStamps(b *testing.B) {
	for _, d := range []aimDialect{aimReplica, aimRelay, aimDuplex} {
		for _, stamps := range []bool{false, true} {
			name := d.name + "/plain"
			if stamps {
				name = d.name + "/stamps"
			}
			b.Run(name, func(b *testing.B) { benchmarkStamps(b, d, stamps) })
		}
	}
}

func benchmarkStamps(b *testing.B, d aimDialect, stamps bool) {
	const players = 40
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	h := must(New(Config{Game: aimGame(200, &aimCount{}), PerAddress: -1}))
	net := simnet.New(1)
	net.SetLimits(simnet.Limits{Steps: 1 << 40})
	net.Default(simnet.Profile{Delay: 25 * time.Millisecond})
	server := &meter{aimCore: d.server(net.Now(), 1, h)}
	host := net.Add(kit.ServerAddr, server)
	host.AfterTurn(func(now time.Time) {
		begin := threadTime()
		server.Turn(now, func(netip.AddrPort, uint32, uint32) {})
		server.cpu += threadTime() - begin
	})
	var tick func()
	tick = func() {
		server.Tick(net.Now())
		host.Poke()
		net.After(aimTick, "world", tick)
	}
	tick()
	var list []*aimer
	for i := range players {
		a := &aimer{node: d.client(net.Now(), uint64(i+1), h.Schema()), net: net, rand: rand.New(rand.NewPCG(uint64(i), 4)), lead: 4, blind: true, seen: map[uint32]map[uint16]aimBody{}}
		a.host = net.Add(netip.AddrPortFrom(kit.ClientAddr.Addr(), kit.ClientAddr.Port()+uint16(i)), a.node)
		a.host.AfterTurn(func(now time.Time) { a.node.turn(now, a) })
		list = append(list, a)
	}
	in := func() bool {
		for _, a := range list {
			if a.own == 0 {
				return false
			}
		}
		return true
	}
	must(0, net.RunUntil(in, time.Minute))
	for i, a := range list {
		if !stamps {
			break
		}
		if c, ok := a.node.(aimDuplexClient); ok {
			must(c.Query(net.Now(), duplex.Main, message.DuplexRoster, nil))
		}
		net.After(aimTick*time.Duration(i)/players, "first", a.tick)
	}
	must(0, net.Run(10*time.Second))
	server.cpu, server.bytes, server.packets, server.allocs = 0, 0, 0, 0
	n := 0
	for b.Loop() {
		must(0, net.Run(aimTick))
		n++
	}
	b.ReportMetric(float64(server.cpu.Microseconds())/float64(n), "cpu-µs/tick")
	b.ReportMetric(float64(server.bytes)/float64(n)/players, "B/player/tick")
	b.ReportMetric(float64(server.packets)/float64(n)/players, "packets/player/tick")
	b.ReportMetric(float64(server.allocs)/float64(n), "allocs/tick")
}
