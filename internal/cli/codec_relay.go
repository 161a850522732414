package cli

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"parley/protocol/relay"
)

// relayCodec joins the dialect relay to decode and encode. Both sides send the same.
var relayCodec = Codec{Name: "relay", Decode: decodeRelay, Encode: encodeRelay}

// relayDatagram is a datagram of relay as JSON: a package has all fields but IDs, a
// confirmation has only those.
type relayDatagram struct {
	Packet   string   `json:"packet"`
	Mode     *string  `json:"mode,omitempty"`
	ToServer *bool    `json:"to_server,omitempty"`
	ID       *uint32  `json:"id,omitempty"`
	Payload  *string  `json:"payload,omitempty"` // hex
	IDs      []uint32 `json:"ids,omitempty"`
}

func decodeRelay(_ Side, _ string, b []byte) (any, error) {
	var d relay.Datagram
	if err := d.ParseErr(b); err != nil {
		return nil, err
	}
	out := relayDatagram{Packet: d.Kind.String()}
	if d.Kind == relay.KindPackage {
		mode, payload := d.Mode.String(), hex.EncodeToString(d.Payload)
		out.Mode, out.ToServer, out.ID, out.Payload = &mode, &d.ToServer, &d.ID, &payload
		return out, nil
	}
	ids := relay.ReadIDs(d.IDs)
	for id, ok := ids.Next(); ok; id, ok = ids.Next() {
		out.IDs = append(out.IDs, id)
	}
	return out, nil
}

func encodeRelay(_ Side, _ string, line []byte) ([]byte, error) {
	var in relayDatagram
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields() // a field that is misspelt must not become a zero
	if err := dec.Decode(&in); err != nil {
		return nil, err
	}
	d, err := in.datagram()
	if err != nil {
		return nil, err
	}
	b := d.AppendTo(nil)
	// What is left to be wrong is wrong in the bytes too, and Parse has words for it.
	return b, d.ParseErr(b)
}

// datagram checks what AppendTo would leave out or could not write.
func (in *relayDatagram) datagram() (relay.Datagram, error) {
	switch in.Packet {
	case relay.KindPackage.String():
		if in.IDs != nil {
			return relay.Datagram{}, fmt.Errorf("ids: a package has none, only confirm has")
		}
		return in.asPackage()
	case relay.KindConfirmation.String():
		if in.Mode != nil || in.ToServer != nil || in.ID != nil || in.Payload != nil {
			return relay.Datagram{}, fmt.Errorf("packet: confirm has ids and nothing else")
		}
		return in.asConfirmation()
	}
	return relay.Datagram{}, fmt.Errorf("packet: no packet is named %q; there are %s and %s", in.Packet, relay.KindPackage, relay.KindConfirmation)
}

func (in *relayDatagram) asPackage() (relay.Datagram, error) {
	d := relay.Datagram{Kind: relay.KindPackage}
	if in.Mode != nil {
		mode, err := relayMode(*in.Mode)
		if err != nil {
			return d, err
		}
		d.Mode = mode
	}
	if in.ToServer != nil {
		d.ToServer = *in.ToServer
	}
	if in.ID != nil {
		if d.ID = *in.ID; d.ID > relay.MaxID {
			return d, fmt.Errorf("id: %d, limit %d", d.ID, relay.MaxID)
		}
	}
	if in.Payload != nil {
		var err error
		if d.Payload, err = hex.DecodeString(*in.Payload); err != nil {
			return d, fmt.Errorf("payload: %w", err)
		}
	}
	return d, nil
}

func (in *relayDatagram) asConfirmation() (relay.Datagram, error) {
	d := relay.Datagram{Kind: relay.KindConfirmation}
	for i, id := range in.IDs {
		if id > relay.MaxID {
			return d, fmt.Errorf("ids[%d]: %d, limit %d", i, id, relay.MaxID)
		}
		d.IDs = relay.AppendID(d.IDs, id)
	}
	return d, nil
}

func relayMode(name string) (relay.Mode, error) {
	for mode := relay.Unreliable; mode <= relay.SemiOrdered; mode++ {
		if mode.String() == name {
			return mode, nil
		}
	}
	return 0, fmt.Errorf("mode: no mode is named %q; there are %s, %s and %s", name, relay.Unreliable, relay.Unordered, relay.SemiOrdered)
}
