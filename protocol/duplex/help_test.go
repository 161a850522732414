package duplex

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"testing"

	"parley/internal/promise"
	"parley/internal/shell/shelltest"
	"parley/protocol/duplex/core"
)

// gameSchema is the schema of the tests: elements of two kinds, lines of chat at SID -1, two queries and a signal.
var gameSchema = &core.Schema{
	FromServer: core.Elements{
		Others:  core.Kinds(map[uint8]core.Size{1: core.Fixed(8), 2: core.Counted(1)}),
		Kinds:   true,
		Sizes:   map[int16]core.Size{-1: core.Counted(2)},
		Moments: []int16{-1},
	},
	FromClient: core.Elements{Others: core.Fixed(8)},
	Queries: map[uint8]core.Query{
		64: {Data: core.Counted(1), Reply: core.Fixed(4)},
		65: {Data: core.Fixed(4), Reply: core.Fixed(4), Failure: core.Fixed(1), Idempotent: true},
	},
	Signals: []uint8{14},
}

// valueOf is the data of an element.
func valueOf(value uint64) []byte { return binary.BigEndian.AppendUint64([]byte{1}, value) }

// longLine is the data of a line of 4,095 bytes.
var longLine = append([]byte{0x0f, 0xff}, bytes.Repeat([]byte("line "), 0xfff/5)...)

// churns is how many clients come and go: few in a plain run, 300 in the gate, 3,000 in a soak.
func churns() int {
	switch {
	case os.Getenv("PARLEY_SOAK") != "":
		return 3000
	case testing.Short():
		return 3
	case shelltest.Race:
		return 6
	case promise.Full():
		return 300
	}
	return 15
}

func eventText(ev Event) string {
	switch ev.Kind {
	case EventJoined, EventFeed:
		return fmt.Sprintf("%v %t", ev.Kind, ev.Up)
	case EventUpdate, EventSync:
		return fmt.Sprintf("%v %d %x", ev.Kind, ev.SID, ev.Data)
	case EventSignal:
		return fmt.Sprintf("signal %d on %v", ev.Code, ev.Channel)
	case EventQuery:
		return fmt.Sprintf("query %d on %v: %x", ev.Code, ev.Channel, ev.Data)
	case EventReply:
		return fmt.Sprintf("reply %d on %v: status %d, %x", ev.Code, ev.Channel, ev.Status, ev.Data)
	case EventClosed:
		return "closed: " + ev.Close.Reason.String()
	}
	return ev.Kind.String()
}
