package program

import (
	"fmt"
	"math"

	"parley/protocol/relay"
)

// relayCodec joins the dialect relay to decode and encode. Both sides send the same.
var relayCodec = Codec{Name: "relay", Decode: decodeRelay, Encode: encodeRelay}

var relayTable = table[relay.Datagram, relay.Kind]{"packet", func(d *relay.Datagram) *relay.Kind { return &d.Kind }, relayKinds()}

func relayKinds() map[relay.Kind][]field[relay.Datagram] {
	type D = relay.Datagram
	return map[relay.Kind][]field[D]{
		relay.KindPackage: {
			shapedField("mode", func(d *D) string { return d.Mode.String() }, takeRelayMode),
			plainField("to_server", func(d *D) *bool { return &d.ToServer }),
			numberField("id", relay.MaxID, func(d *D) *uint32 { return &d.ID }),
			hexField("payload", math.MaxInt, func(d *D) *[]byte { return &d.Payload }),
		},
		relay.KindConfirmation: {shapedField("ids", showRelayIDs, takeRelayIDs)},
	}
}

func decodeRelay(_ Side, _ string, b []byte) (any, error) {
	var d relay.Datagram
	if err := d.ParseErr(b); err != nil {
		return nil, err
	}
	return relayTable.show(&d), nil
}

func encodeRelay(_ Side, _ string, line []byte) ([]byte, error) {
	var d relay.Datagram
	if err := relayTable.take(&d, line); err != nil {
		return nil, err
	}
	b := d.AppendTo(nil)
	// What is left to be wrong is wrong in the bytes too, and Parse has words for it.
	return b, d.ParseErr(b)
}

func takeRelayMode(d *relay.Datagram, name string) error {
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

func showRelayIDs(d *relay.Datagram) (list []uint32) {
	ids := relay.ReadIDs(d.IDs)
	for id, ok := ids.Next(); ok; id, ok = ids.Next() {
		list = append(list, id)
	}
	return list
}

func takeRelayIDs(d *relay.Datagram, list []uint32) error {
	for i, id := range list {
		if err := inLimit(fmt.Sprintf("ids[%d]", i), int(id), relay.MaxID); err != nil {
			return err
		}
		d.IDs = relay.AppendID(d.IDs, id)
	}
	return nil
}
