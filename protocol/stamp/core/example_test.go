package core_test

import (
	"fmt"

	"parley/protocol/stamp/core"
)

// A server tells of an entity that moved and of one that is gone; a client reads it.
func Example() {
	moved := core.Record{Entity: 7, Kind: 1, Fields: []byte{0x10, 0x27}}
	gone := core.Record{Entity: 9, Kind: 1}
	data, _ := moved.AppendTo(nil, core.MaxData)
	data, _ = gone.AppendTo(data, core.MaxData)

	p := core.Packet{Kind: core.KindEntity, Reliable: true, Sequence: 2, Time: 1_000_000, Data: data}
	datagram := p.AppendTo(core.FromServer, nil)
	fmt.Printf("%x\n", datagram)

	var got core.Packet
	if !got.Parse(core.FromServer, datagram) || !core.CheckRecords(got.Data) {
		return
	}
	fmt.Println(got.Kind, got.Sequence, got.Time)
	var rec core.Record
	for records := core.ReadRecords(got.Data); records.Next(&rec); {
		fmt.Printf("entity %d: fields %x, gone %t\n", rec.Entity, rec.Fields, rec.Gone())
	}
	// Output:
	// 0201020040420f000000000007000102102709000100
	// entity 2 1000000
	// entity 7: fields 1027, gone false
	// entity 9: fields , gone true
}

func ExamplePacket_ParseErr() {
	var p core.Packet
	fmt.Println(p.ParseErr(core.FromServer, []byte{2, 1, 3, 0, 8, 0, 0}))
	fmt.Println(p.ParseErr(core.FromClient, []byte{2, 1, 3, 0, 8, 0, 0, 0, 0, 0, 0, 0}))
	// Output:
	// timestamp: 8 bytes wanted at offset 4, 3 left
	// packet type: only a server sends entities at offset 0
}

func ExampleRecord_AppendTo() {
	var data []byte
	full := 0
	for ok := true; ok; full++ {
		rec := core.Record{Entity: uint16(full), Kind: 2, Fields: make([]byte, 20)}
		data, ok = rec.AppendTo(data, core.MaxData)
	}
	fmt.Println(full-1, "records,", len(data), "bytes")
	// Output:
	// 49 records, 1176 bytes
}
