package cli

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"parley/protocol/replica"
)

// replicaCodec joins the dialect replica to decode and encode. The shapes of its
// JSON are in codec_replica_json.go.
var replicaCodec = Codec{Name: "replica", Decode: decodeReplica, Encode: encodeReplica}

var replicaSides = map[Side]replica.Side{SideClient: replica.FromClient, SideServer: replica.FromServer}

func decodeReplica(from Side, _ string, b []byte) (any, error) {
	var p replica.Packet
	if err := p.ParseErr(replicaSides[from], b); err != nil {
		return nil, err
	}
	shape := newReplicaShape(p.Kind)
	shape.show(&p)
	return shape, nil
}

func encodeReplica(from Side, _ string, line []byte) ([]byte, error) {
	var named struct {
		Packet string `json:"packet"`
	}
	if err := replicaJSONError(json.Unmarshal(line, &named)); err != nil {
		return nil, err
	}
	p := replica.Packet{}
	var err error
	if p.Kind, err = replicaKind(named.Packet); err != nil {
		return nil, err
	}
	shape := newReplicaShape(p.Kind)
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields() // a field that is misspelt, or of another packet, must not be lost
	if err := replicaJSONError(dec.Decode(shape)); err != nil {
		return nil, err
	}
	b, err := shape.bytes(&p)
	if err != nil {
		return nil, err
	}
	// What is left to be wrong is wrong in the bytes too, and Parse has words for it.
	if err := p.ParseErr(replicaSides[from], b); err != nil {
		return nil, err
	}
	return b, nil
}

func replicaKind(name string) (replica.Kind, error) {
	var names []string
	for kind := replica.KindInit; kind <= replica.KindMessage; kind++ {
		if kind.String() == name {
			return kind, nil
		}
		names = append(names, kind.String())
	}
	return 0, fmt.Errorf("packet: no packet is named %q; there are %s", name, sentenceList(names, "and"))
}

// replicaJSONError says in terms of the packet what encoding/json says in terms
// of Go, whose path to a field has the types around it too.
func replicaJSONError(err error) error {
	wrong := (*json.UnmarshalTypeError)(nil)
	if !errors.As(err, &wrong) {
		return err
	}
	path := slices.DeleteFunc(strings.Split(wrong.Field, "."), func(name string) bool {
		return strings.HasPrefix(name, "replica")
	})
	return fmt.Errorf("%s: %s is no %s", strings.Join(path, "."), wrong.Value, wrong.Type)
}

// replicaFits checks the size of what a field of one byte or five bits counts.
func replicaFits(field string, size, limit int) error {
	if size > limit {
		return fmt.Errorf("%s: %d where %d is the limit", field, size, limit)
	}
	return nil
}

func replicaHex(field, text string) ([]byte, error) {
	b, err := hex.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return b, nil
}

// A replicaTableBuilder writes the parts of a link.table and keeps the first
// error, so that the walk over them has no other business.
type replicaTableBuilder struct {
	w   replica.TableWriter
	err error
}

// check notes the first thing that the writer could not take.
func (t *replicaTableBuilder) check(err error) bool {
	if t.err == nil {
		t.err = err
	}
	return t.err == nil
}

func (t *replicaTableBuilder) build(head *replica.Packet, variables []replicaLinked, entities []replicaLinkedEntity) ([]byte, error) {
	t.check(replicaFits("variables", len(variables), replica.MaxListed))
	t.check(replicaFits("entities", len(entities), replica.MaxListed))
	t.w.Start(nil, head, math.MaxInt)
	for i, v := range variables {
		kind := t.linked(fmt.Sprintf("variables[%d]", i), v, math.MaxUint16)
		if t.err != nil {
			return nil, t.err
		}
		t.w.Variable(v.Link, kind, v.Name)
	}
	for i, e := range entities {
		path := fmt.Sprintf("entities[%d]", i)
		t.check(replicaFits(path+".name", len(e.Name), replica.MaxNameBytes))
		t.check(replicaFits(path+".variables", len(e.Variables), replica.MaxListed))
		if t.err != nil {
			return nil, t.err
		}
		t.w.Entity(e.Link, e.Name)
		for j, v := range e.Variables {
			kind := t.linked(fmt.Sprintf("%s.variables[%d]", path, j), v, math.MaxUint8)
			if t.err != nil {
				return nil, t.err
			}
			t.w.EntityVariable(uint8(v.Link), kind, v.Name)
		}
	}
	return t.w.Bytes(), t.err
}

// linked checks one variable and returns its type.
func (t *replicaTableBuilder) linked(path string, v replicaLinked, maxLink int) replica.DataType {
	t.check(replicaFits(path+".link", int(v.Link), maxLink))
	t.check(replicaFits(path+".name", len(v.Name), replica.MaxNameBytes))
	for kind := replica.DataChar; kind <= replica.DataChars; kind++ {
		if kind.String() == v.Type {
			return kind
		}
	}
	t.check(fmt.Errorf("%s.type: no data type is named %q", path, v.Type))
	return 0
}

// replicaValues writes the parts of a replicate.
func replicaValues(head *replica.Packet, entities []replicaUpdate, variables []replicaValue) ([]byte, error) {
	if err := errors.Join(replicaFits("entities", len(entities), replica.MaxListed),
		replicaFits("variables", len(variables), replica.MaxListed)); err != nil {
		return nil, err
	}
	var w replica.ReplicateWriter
	w.Start(nil, head, math.MaxInt)
	for i, e := range entities {
		w.Entity(e.Link)
		if err := replicaUpdates(&w, fmt.Sprintf("entities[%d].variables", i), e.Variables); err != nil {
			return nil, err
		}
	}
	for i, v := range variables {
		data, err := replicaData(fmt.Sprintf("variables[%d].data", i), v.Data)
		if err != nil {
			return nil, err
		}
		w.Variable(v.Link, data)
	}
	return w.Bytes(), nil
}

func replicaUpdates(w *replica.ReplicateWriter, path string, updates []replicaVariableUpdate) error {
	if err := replicaFits(path, len(updates), replica.MaxListed); err != nil {
		return err
	}
	for i, u := range updates {
		w.EntityVariable(u.Link)
		path := fmt.Sprintf("%s[%d].values", path, i)
		if err := replicaFits(path, len(u.Values), replica.MaxListed); err != nil {
			return err
		}
		for j, v := range u.Values {
			data, err := replicaData(fmt.Sprintf("%s[%d].data", path, j), v.Data)
			if err != nil {
				return err
			}
			w.EntityValue(v.Entity, data)
		}
	}
	return nil
}

func replicaData(field, text string) ([]byte, error) {
	data, err := replicaHex(field, text)
	if err != nil {
		return nil, err
	}
	return data, replicaFits(field, len(data), replica.MaxValueBytes)
}
