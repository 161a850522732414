package stamp_test

import (
	"fmt"

	"parley/protocol/stamp"
)

// A server tells of an entity that moved and of one that is gone; a client reads it.
func Example() {
	moved := stamp.Record{Entity: 7, Kind: 1, Fields: []byte{0x10, 0x27}}
	gone := stamp.Record{Entity: 9, Kind: 1}
	data, _ := moved.AppendTo(nil, stamp.MaxData)
	data, _ = gone.AppendTo(data, stamp.MaxData)

	p := stamp.Packet{Kind: stamp.KindEntity, Reliable: true, Sequence: 2, Time: 1_000_000, Data: data}
	datagram := p.AppendTo(stamp.FromServer, nil)
	fmt.Printf("%x\n", datagram)

	var got stamp.Packet
	if !got.Parse(stamp.FromServer, datagram) || !stamp.CheckRecords(got.Data) {
		return
	}
	fmt.Println(got.Kind, got.Sequence, got.Time)
	var rec stamp.Record
	for records := stamp.ReadRecords(got.Data); records.Next(&rec); {
		fmt.Printf("entity %d: fields %x, gone %t\n", rec.Entity, rec.Fields, rec.Gone())
	}
	// Output:
	// 0201020040420f000000000007000102102709000100
	// entity 2 1000000
	// entity 7: fields 1027, gone false
	// entity 9: fields , gone true
}

func ExamplePacket_ParseErr() {
	var p stamp.Packet
	fmt.Println(p.ParseErr(stamp.FromServer, []byte{2, 1, 3, 0, 8, 0, 0}))
	fmt.Println(p.ParseErr(stamp.FromClient, []byte{2, 1, 3, 0, 8, 0, 0, 0, 0, 0, 0, 0}))
	// Output:
	// timestamp: 8 bytes wanted at offset 4, 3 left
	// packet type: only a server sends entities at offset 0
}

func ExampleRecord_AppendTo() {
	var data []byte
	full := 0
	for ok := true; ok; full++ {
		rec := stamp.Record{Entity: uint16(full), Kind: 2, Fields: make([]byte, 20)}
		data, ok = rec.AppendTo(data, stamp.MaxData)
	}
	fmt.Println(full-1, "records,", len(data), "bytes")
	// Output:
	// 49 records, 1176 bytes
}
