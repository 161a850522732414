package main

import (
	"math"
	"testing"
)

// roundCosts are costs with which the needs can be worked out by hand: 100 players a room, 45 µs a player and tick, of which 5 are the
// step's, and 100 µs an append.
func roundCosts() *Costs {
	c := &Costs{
		Datagram: DatagramCost{SendNS: 2000, Receive: 1000},
		Appends: []AppendCost{
			{Replicas: 3, Streams: 8, Rate: 20, Bytes: 200, PerSecond: 400, Servers: 80_000, Node: 20_000, Messages: 6},
			{Replicas: 3, Streams: 8, Rate: 20, Bytes: 1200, Servers: 90_000, Node: 20_000},
			{Replicas: 3, Streams: 1, Bytes: 200, PerSecond: 5000, Servers: 20_000, Node: 10_000, Messages: 4},
		},
	}
	c.Worlds = append(c.Worlds, WorldCost{Room: "100", Players: 100, StepNS: 400_000, InputNS: 10_000, SightNS: 500, SealNS: 10_000, ApplyNS: 20_000, EntryBytes: 100})
	c.Runs = append(c.Runs, RunCost{Room: "100", Rooms: 1, PerRoom: 100, Players: 100, CPU: 45_000, Inputs: .1, Out: 1, In: 1, OutBytes: 97, InBytes: 22, Memory: 50_000})
	return c
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6*math.Abs(want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestTheNeedsOfRoundCosts(t *testing.T) {
	c, a := roundCosts(), assumed
	l, err := loadOf(c, a, "100")
	if err != nil {
		t.Fatal(err)
	}
	near(t, "the rest", l.parts.rest, 45_000-4000-1000-500-2000-1000)
	near(t, "a stage", l.stage, 500_000)
	near(t, "a player on a loop", l.loop, 40_000)
	near(t, "players of a loop", l.most, 625) // half a second for 20 × 40 µs
	near(t, "bits to a player", l.out, 20*8*(97+28))
	s, err := storeOf(c, 3)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "an entry of 1,200 bytes", s.entry(s.slow, 1200), 110_000)
	near(t, "a rarer entry", s.entry(s.at(1), 0), 100_000)
	near(t, "an entry of a stream at its fastest", s.entry(s.at(9000), 0), 30_000)
	near(t, "an entry half way, by the logarithm", s.entry(s.at(500), 0), 65_000) // 50, 500, 5,000

	n := needOf(l, s, a, 4e4, 1) // 400 entries a second: those of slow
	near(t, "rooms", n.rooms, 400)
	near(t, "appends", n.appends, 400)
	near(t, "cores of players", n.loop, 32)
	near(t, "cores of rooms", n.stage, 400*20*510e3/1e9)
	near(t, "cores of NATS", n.nats, 400*(100e3+10*1800)/1e9) // 20 ticks of 100 bytes in one
	near(t, "machines", n.machines, 5)                        // 36.1 cores, 8 of each
	near(t, "processes", n.processes, 64)
	near(t, "clusters", n.clusters, 1)
	near(t, "messages", n.messages, 2400)

	n = needOf(l, s, a, 1e6, 20)
	near(t, "appends", n.appends, 200_000)
	near(t, "clusters", n.clusters, 10) // eight streams of half of 5,000
	if n.machines < 30 {
		t.Errorf("%v machines are less than three for each of ten clusters", n.machines)
	}
}

// A room that one loop cannot serve is on several nodes: each runs its step, and it appends at each tick.
func TestALargeRoomIsSpread(t *testing.T) {
	c := roundCosts()
	c.Worlds[0].Players, c.Worlds[0].StepNS, c.Runs[0].PerRoom = 2000, 2e6, 2000 // of whom a hundred were there
	c.Runs[0].CPU, c.Runs[0].Few, c.Runs[0].FewCPU = 60_000, 10, 3.3e6           // 30 µs a player, and 3 ms for the room
	l, err := loadOf(c, assumed, "100")
	if err != nil {
		t.Fatal(err)
	}
	s, err := storeOf(c, 3)
	if err != nil {
		t.Fatal(err)
	}
	n := needOf(l, s, assumed, 2000, 1)
	near(t, "a stage", l.stage, 2e6+2000*1000)
	near(t, "the room beyond its step", l.spread, 1e6)
	near(t, "a player on a loop", l.loop, 30_000-1000)
	near(t, "players of a loop", l.most, math.Floor((25e6-1e6)/29_000))
	near(t, "processes of a room", l.stages, math.Ceil(2000/l.most))
	near(t, "appends", n.appends, 20)
	near(t, "cores of the room", n.stage, 20*(l.stages*(l.stage+1e6)+10_000+(l.stages-1)*20_000)/1e9)
	near(t, "machines", n.machines, 3)
	if n.processes < l.stages {
		t.Errorf("%v processes for %v stages", n.processes, l.stages)
	}
}

// What is used most is first, and more players never need less.
func TestMorePlayersNeedMore(t *testing.T) {
	l, err := loadOf(roundCosts(), assumed, "100")
	if err != nil {
		t.Fatal(err)
	}
	s, err := storeOf(roundCosts(), 3)
	if err != nil {
		t.Fatal(err)
	}
	var before need
	for players := 100.0; players < 1e7; players *= 1.7 {
		n := needOf(l, s, assumed, players, 20)
		if n.machines < before.machines || n.clusters < before.clusters || n.out < before.out || n.appends < before.appends {
			t.Errorf("%v players need less than %v: %+v, %+v", players, before.players, n, before)
		}
		for i, u := range n.uses {
			if i > 0 && u.part > n.uses[i-1].part {
				t.Errorf("%v players: %v before %v", players, n.uses[i-1], u)
			}
			if (u.what == ofCPU || u.what == ofLink || u.what == ofMemory) && u.part > 1+1e-9 {
				t.Errorf("%v players: %v, with as many machines and clusters as are said", players, u)
			}
		}
		before = n
	}
}

func TestCostsThatLackSomethingAreRefused(t *testing.T) {
	for name, spoil := range map[string]func(*Costs){
		"no world":   func(c *Costs) { c.Worlds = nil },
		"no run":     func(c *Costs) { c.Runs = nil },
		"no appends": func(c *Costs) { c.Appends = nil },
	} {
		c := roundCosts()
		spoil(c)
		_, err := loadOf(c, assumed, "100")
		if err == nil {
			_, err = storeOf(c, 3)
		}
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestNumbers(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 8: "8", .123: "0.12", 1.5: "1.50", 12.34: "12.3", 123.4: "123", 1e6: "1,000,000", 12345: "12,345", .001: "0.00"} {
		if got := number(x); got != want {
			t.Errorf("%v: got %q, want %q", x, got, want)
		}
	}
}
