package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// Costs are what a run has measured. Times are CPU time in nanoseconds, of a thread or a process, and never by the clock.
type Costs struct {
	Began   string `json:"began"`
	Machine string `json:"machine"`
	Load    string `json:"load"` // averages of 1, 5 and 15 minutes when the run began

	Datagram DatagramCost `json:"datagram"`
	Worlds   []WorldCost  `json:"worlds"` // one for each size of room
	Runs     []RunCost    `json:"runs"`   // one for each kind of room
	Appends  []AppendCost `json:"appends"`
}

// DatagramCost is what the carrier takes for a datagram, in batches, without the wait for it.
type DatagramCost struct {
	Bytes   int     `json:"bytes"` // of payload
	Batch   int     `json:"batch"`
	SendNS  float64 `json:"send_ns"`
	Receive float64 `json:"receive_ns"`
}

// WorldCost is what the world takes for a room of the arena, without any wire.
type WorldCost struct {
	Room       string  `json:"room"` // which kind: see kinds
	Players    int     `json:"players"`
	StepNS     float64 `json:"step_ns"`          // a tick without inputs
	InputNS    float64 `json:"input_ns"`         // an input
	SightNS    float64 `json:"sight_ns"`         // a view that finds who comes into sight and goes, as replica has it
	ViewNS     float64 `json:"view_ns"`          // a view that is read to its end, as relay has it
	Changes    float64 `json:"changes"`          // of such a view
	SealNS     float64 `json:"seal_ns"`          // making a tick's entry, with the hash of the world
	ApplyNS    float64 `json:"apply_ns"`         // reading it at another node, without the step
	EntryBytes int     `json:"entry_bytes"`      // with an input of one player in ten
	StateBytes int     `json:"state_bytes"`      // of a snapshot
	HeapBytes  float64 `json:"world_heap_bytes"` // live heap of the room
}

// RunCost is a whole server with bots, in processes of their own.
type RunCost struct {
	Room     string  `json:"room"` // which kind: see kinds
	Rooms    int     `json:"rooms"`
	Players  int     `json:"players"`          // with connections, of all rooms
	PerRoom  int     `json:"per_room"`         // players, those of other nodes included
	Ticks    float64 `json:"ticks"`            // of a room
	Seen     float64 `json:"seen"`             // others in a player's sight, in the mean
	CPU      float64 `json:"cpu_ns"`           // of the server, for a player and a tick
	Few      int     `json:"few,omitempty"`    // players of another run of the same room, which tells a room's own cost from the players'
	FewCPU   float64 `json:"few_ns,omitempty"` // of the server, for a tick of it
	Inputs   float64 `json:"inputs"`           // of a player in a tick
	Out      float64 `json:"out"`              // datagrams to a player in a tick
	In       float64 `json:"in"`               // and from it
	OutBytes float64 `json:"out_bytes"`        // payload to a player in a tick
	InBytes  float64 `json:"in_bytes"`
	Memory   float64 `json:"memory_bytes"` // resident, for a player
	Narrow   float64 `json:"narrow"`       // the share of the players who were told less, as their paths looked narrow
	Skipped  uint64  `json:"skipped"`      // ticks left out because the server was far behind
	Late     uint64  `json:"late"`         // ticks that began more than half a tick late
}

// AppendCost is what an entry takes in NATS, for its publisher and for all servers together.
type AppendCost struct {
	Replicas  int     `json:"replicas"`
	Streams   int     `json:"streams"`
	Rooms     int     `json:"rooms"`
	Rate      int     `json:"rate"` // entries a second of a room that were asked for; 0 is as fast as each is acknowledged
	Bytes     int     `json:"bytes"`
	PerSecond float64 `json:"per_second"` // of all rooms, by the clock
	Refused   int     `json:"refused"`    // tries that had to be made again, or whose entry was in the log all the same
	Servers   float64 `json:"servers_ns"` // CPU of all servers, for an entry
	Node      float64 `json:"node_ns"`    // CPU of the node that publishes and hears it
	Messages  float64 `json:"messages"`   // in and out of all servers and between them, for an entry
	P50MS     float64 `json:"p50_ms"`     // from publishing to the acknowledgement, by the clock
	P99MS     float64 `json:"p99_ms"`
}

func loadCosts(name string) (c Costs, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

func (c *Costs) save(name string) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o666)
}

// world returns the cost of a kind of room.
func (c *Costs) world(room string) (WorldCost, error) {
	for _, w := range c.Worlds {
		if w.Room == room {
			return w, nil
		}
	}
	return WorldCost{}, fmt.Errorf("the costs have no world of the room %q: measure again", room)
}

// run returns that of a kind of room.
func (c *Costs) run(room string) (RunCost, error) {
	for _, r := range c.Runs {
		if r.Room == room {
			return r, nil
		}
	}
	return RunCost{}, fmt.Errorf("the costs have no run of the room %q: measure again", room)
}

// paced returns the appends of rooms that tick, with small entries and with large ones.
func (c *Costs) paced(replicas int) (small, large AppendCost, err error) {
	for _, a := range c.Appends {
		switch {
		case a.Replicas != replicas || a.Rate == 0:
		case small.Rate == 0 || a.Bytes < small.Bytes:
			small, large = a, small
		default:
			large = a
		}
	}
	if small.Rate == 0 {
		err = fmt.Errorf("the costs have no appends with %d replicas at a pace: measure again", replicas)
	}
	return small, large, err
}

// fastest returns the appends at full speed to one stream.
func (c *Costs) fastest(replicas int) (AppendCost, error) {
	for _, a := range c.Appends {
		if a.Replicas == replicas && a.Rate == 0 && a.Streams == 1 {
			return a, nil
		}
	}
	return AppendCost{}, fmt.Errorf("the costs have no appends with %d replicas to one stream: measure again", replicas)
}
