package program

import (
	"fmt"
	"math"

	"parley/protocol/relay"
	relaycore "parley/protocol/relay/core"
)

// relayCodec joins the dialect relay to decode and encode. Both sides send the same.
var relayCodec = Codec{Name: "relay", Decode: decodeRelay, Encode: encodeRelay}

var relayTable = table[relaycore.Datagram, relaycore.Kind]{"packet", func(d *relaycore.Datagram) *relaycore.Kind { return &d.Kind }, relayKinds()}

func relayKinds() map[relaycore.Kind][]field[relaycore.Datagram] {
	type D = relaycore.Datagram
	return map[relaycore.Kind][]field[D]{
		relaycore.KindPackage: {
			shapedField("mode", func(d *D) string { return d.Mode.String() }, takeRelayMode),
			plainField("to_server", func(d *D) *bool { return &d.ToServer }),
			numberField("id", relaycore.MaxID, func(d *D) *uint32 { return &d.ID }),
			hexField("payload", math.MaxInt, func(d *D) *[]byte { return &d.Payload }),
		},
		relaycore.KindConfirmation: {shapedField("ids", showRelayIDs, takeRelayIDs)},
	}
}

func decodeRelay(_ Side, _ string, b []byte) (any, error) {
	var d relaycore.Datagram
	if err := d.ParseErr(b); err != nil {
		return nil, err
	}
	return relayTable.show(&d), nil
}

func encodeRelay(_ Side, _ string, line []byte) ([]byte, error) {
	var d relaycore.Datagram
	if err := relayTable.take(&d, line); err != nil {
		return nil, err
	}
	b := d.AppendTo(nil)
	// What is left to be wrong is wrong in the bytes too, and Parse has words for it.
	return b, d.ParseErr(b)
}

func takeRelayMode(d *relaycore.Datagram, name string) error {
	for d.Mode = relay.Unreliable; d.Mode <= relay.SemiOrdered; d.Mode++ {
		if d.Mode.String() == name {
			return nil
		}
	}
	d.Mode = relay.Unreliable
	if name == "" {
		return nil
	}
	return fmt.Errorf("mode: no mode is named %q; there are %s, %s and %s", name, relay.Unreliable, relay.Unordered, relay.SemiOrdered)
}

func showRelayIDs(d *relaycore.Datagram) (list []uint32) {
	ids := relaycore.ReadIDs(d.IDs)
	for id, ok := ids.Next(); ok; id, ok = ids.Next() {
		list = append(list, id)
	}
	return list
}

func takeRelayIDs(d *relaycore.Datagram, list []uint32) error {
	for i, id := range list {
		if err := inLimit(fmt.Sprintf("ids[%d]", i), int(id), relaycore.MaxID); err != nil {
			return err
		}
		d.IDs = relaycore.AppendID(d.IDs, id)
	}
	return nil
}
