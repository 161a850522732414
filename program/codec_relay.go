package program

import (
	"fmt"
	"math"
	"slices"

	"parley/protocol/relay/core"
)

// Both sides send the same.
var relayCodec = newCodec("relay", &relayTable, parseRelay, relayBytes)

var relayTable = table[core.Datagram, core.Kind]{"packet", func(d *core.Datagram) *core.Kind { return &d.Kind }, relayKinds()}

func relayKinds() map[core.Kind]fields[core.Datagram] {
	type D = core.Datagram
	return map[core.Kind]fields[D]{
		core.KindPackage: slices.Concat(
			shapedField("mode", func(d *D) string { return d.Mode.String() }, takeRelayMode),
			plainFields[D]("to_server"),
			numberField("id", core.MaxID, func(d *D) *uint32 { return &d.ID }),
			hexField("payload", math.MaxInt, func(d *D) *[]byte { return &d.Payload }),
		),
		core.KindConfirmation: shapedField("ids", showRelayIDs, takeRelayIDs),
	}
}

func parseRelay(d *core.Datagram, _ side, _ string, b []byte) error { return d.ParseErr(b) }

func relayBytes(d *core.Datagram, _ side, _ string) ([]byte, error) { return d.AppendTo(nil), nil }

func takeRelayMode(d *core.Datagram, name string) (err error) {
	if name != "" {
		d.Mode, err = named("mode", "mode", name, []core.Mode{core.Unreliable, core.Unordered, core.SemiOrdered})
	}
	return err
}

func showRelayIDs(d *core.Datagram) (list []uint32) {
	ids := core.ReadIDs(d.IDs)
	for id, ok := ids.Next(); ok; id, ok = ids.Next() {
		list = append(list, id)
	}
	return list
}

func takeRelayIDs(d *core.Datagram, list []uint32) error {
	for i, id := range list {
		if err := inLimit(fmt.Sprintf("ids[%d]", i), int(id), core.MaxID); err != nil {
			return err
		}
		d.IDs = core.AppendID(d.IDs, id)
	}
	return nil
}
