package core_test

import (
	"fmt"

	"parley/protocol/replica/core"
)

func ExamplePacket() {
	sent := core.Packet{
		Kind: core.KindMessage, Reliable: true, Ordered: true,
		Sequence: 10, Time: 42, Name: []byte("chat"), Data: []byte("hello"),
	}
	b := sent.AppendTo(nil)
	fmt.Printf("%x\n", b)

	var got core.Packet
	if got.Parse(core.FromClient, b) {
		fmt.Printf("%v %d: %s %s\n", got.Kind, got.Sequence, got.Name, got.Data)
	}

	b[1] = 2 // ordered, and not reliable
	fmt.Println(got.Parse(core.FromClient, b), got.ParseErr(core.FromClient, b))
	// Output:
	// 06030a002a000000000000000463686174050068656c6c6f
	// message 10: chat hello
	// false flags: ordered but not reliable at offset 1
}

func ExampleReplicateWriter() {
	const player, x, y = 1, 0, 1
	var w core.ReplicateWriter
	w.Start(nil, &core.Packet{Kind: core.KindReplicate, Reliable: true, Sequence: 6, Time: 1_000_000}, 40)
	for id := range uint8(9) {
		if !w.Add(player, x, id, []byte{id, 0}) {
			fmt.Println("full before entity", id)
			break
		}
	}

	var p core.Packet
	fmt.Println(p.Parse(core.FromServer, w.Bytes()), len(w.Bytes()), "bytes")
	for v := range p.Values.EntityValues() {
		fmt.Println(v.Entity, v.Variable, v.ID, v.Data)
	}
	// Output:
	// full before entity 5
	// true 40 bytes
	// 1 0 0 [0 0]
	// 1 0 1 [1 0]
	// 1 0 2 [2 0]
	// 1 0 3 [3 0]
	// 1 0 4 [4 0]
}

func ExampleTableWriter() {
	var w core.TableWriter
	w.Start(nil, &core.Packet{Kind: core.KindLinkTable, Reliable: true, Ordered: true, Sequence: 4}, 1200)
	w.Variable(1, core.DataUint64, "tick")
	w.Add(7, "player", 0, core.DataFloat, "x")
	w.Add(7, "player", 1, core.DataFloat, "y")

	var p core.Packet
	p.Parse(core.FromServer, w.Bytes())
	for v := range p.Table.Variables() {
		fmt.Printf("%d %v %s\n", v.Link, v.Type, v.Name)
	}
	for e := range p.Table.Entities() {
		fmt.Printf("%d %s\n", e.Link, e.Name)
		for v := range e.Variables() {
			fmt.Printf("  %d %v %s\n", v.Link, v.Type, v.Name)
		}
	}
	// Output:
	// 1 uint64 tick
	// 7 player
	//   0 float x
	//   1 float y
}
