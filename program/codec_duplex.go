package program

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"parley/protocol/duplex/core"
)

// duplexCodec has no schema: data reaches to the end of what it is given.
var duplexCodec = newCodec("duplex", duplexShape(), parseDuplex, duplexBytes, "main", "feed")

var duplexTable = table[core.Message, core.Kind]{"message", func(m *core.Message) *core.Kind { return &m.Kind }, duplexKinds()}

func duplexKinds() map[core.Kind]fields[core.Message] {
	type M = core.Message
	plain := plainFields[M]
	code := shapedField("code", func(m *M) uint8 { return m.Code }, func(m *M, code uint8) error {
		if m.Code = code; core.KindOf(code) != m.Kind {
			return fmt.Errorf("code: %d is not that of a %s", code, m.Kind)
		}
		return nil
	})
	data := hexField("data", math.MaxInt, func(m *M) *[]byte { return &m.Data })
	return map[core.Kind]fields[M]{
		core.KindUpdate:      slices.Concat(plain("sid"), data),
		core.KindSync:        slices.Concat(plain("sid"), data),
		core.KindConnInitRep: plain("player", "token"),
		core.KindFeedInit:    plain("player", "token"),
		core.KindFeedInitRep: plain("token"),
		core.KindSignal:      code,
		core.KindQuery:       slices.Concat(code, data),
		core.KindReply:       slices.Concat(code, plain("status"), data),
	}
}

// duplexShape is a message with the number that it has on feed.
func duplexShape() fields[core.Datagram] {
	type D = core.Datagram
	show := func(d *D) any { return duplexTable.show(&d.Message) }
	take := func(d *D, text []byte) error {
		var said members
		if err := takeJSON("message", text, &said); err != nil {
			return err
		}
		return duplexTable.take(&d.Message, said) // errors name the fields as those of ParseErr do
	}
	return append(plainFields[D]("feed_sequence=Sequence").sparse(), field[D]{"message", show, take})
}

func parseDuplex(d *core.Datagram, from side, channel string, b []byte) error {
	if channel == "feed" {
		return d.ParseErr(core.Side(from), b)
	}
	return d.Message.ParseErr(core.Side(from), core.Main, b)
}

func duplexBytes(d *core.Datagram, _ side, channel string) ([]byte, error) {
	switch {
	case channel == "feed":
		return d.AppendTo(nil), nil
	case d.Sequence != 0:
		return nil, errors.New("feed_sequence: main has none, only feed has")
	}
	return d.Message.AppendTo(nil), nil
}
