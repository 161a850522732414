package cli

import (
	"bytes"
	"encoding/json"
	"fmt"

	"parley/protocol/realm"
)

// realmCodec joins the dialect realm to decode and encode. The shapes of its JSON are in
// codec_realm_json.go.
var realmCodec = Codec{Name: "realm", Decode: decodeRealm, Encode: encodeRealm}

// realmGame is the schema of the vectors, as attributes and actions cannot be read without
// one.
var realmGame = realm.NewCodec(realm.Schema{
	Attributes: map[uint16]realm.Field{
		0:     {Name: "ticks_left", Type: realm.TypeU16},
		1:     {Name: "health", Type: realm.TypeU16},
		2:     {Name: "sender", Type: realm.TypeEntity},
		30000: {Name: "cooldown_one", Type: realm.TypeU16},
	},
	Actions: map[uint16][]realm.Field{
		0: {{Name: "angle", Type: realm.TypeF32}, {Name: "entity", Type: realm.TypeEntity}},
	},
})

var realmSides = map[Side]realm.Side{SideClient: realm.FromClient, SideServer: realm.FromServer}

func decodeRealm(from Side, _ string, b []byte) (any, error) {
	var m realm.Message
	if err := realmGame.ParseErr(realmSides[from], b, &m); err != nil {
		return nil, err
	}
	return showRealm(&m), nil
}

func encodeRealm(from Side, _ string, line []byte) ([]byte, error) {
	var named struct {
		Message string `json:"message"`
	}
	if err := json.Unmarshal(line, &named); err != nil {
		return nil, err
	}
	m := realm.Message{}
	var err error
	if m.Kind, err = realmKind(named.Message); err != nil {
		return nil, err
	}
	shape := newRealmShape(m.Kind)
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields() // a field that is misspelt, or of another message, must not be lost
	if err := dec.Decode(shape); err != nil {
		return nil, err
	}
	if err := shape.carry(toMessage, &m); err != nil {
		return nil, err
	}
	b := realmGame.AppendTo(nil, &m)
	// What is left to be wrong is wrong in the bytes too, and Parse has words for it.
	return b, realmGame.ParseErr(realmSides[from], b, &m)
}

func realmKind(name string) (realm.Kind, error) {
	var names []string
	for kind := realm.KindPing; kind <= realm.KindChunksUpdate; kind++ {
		if kind.String() == name {
			return kind, nil
		}
		names = append(names, kind.String())
	}
	return 0, fmt.Errorf("message: no message is named %q; there are %s", name, sentenceList(names, "and"))
}

func showRealm(m *realm.Message) realmShape {
	shape := newRealmShape(m.Kind)
	shape.carry(toShape, m) // only a message has too little room
	return shape
}

// realmText checks what a str has room for.
func realmText(field, text string) ([]byte, error) {
	if len(text) > realm.MaxText {
		return nil, fmt.Errorf("%s: size %d, limit %d", field, len(text), realm.MaxText)
	}
	return []byte(text), nil
}
