package core

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/internal/wire"
)

// vector is a packet that was written by hand from the specification.
type vector = kit.Vector[map[string]any]

func readVectors(t testing.TB) []vector {
	t.Helper()
	return kit.Vectors[map[string]any](t, 40, "testdata/vectors.json")
}

// sender returns the side of a vector.
func sender(v vector) Side {
	if v.From == "client" {
		return FromClient
	}
	return FromServer
}

// describe says what a packet holds, in the shape of the vectors. It is a second
// opinion: the command line has its own.
func describe(p *Packet) map[string]any {
	m := map[string]any{"packet": p.Kind.String()}
	switch p.Kind.Type() {
	case TypeSync, TypeAck, TypeAckRun, TypeBundle:
	default:
		m["reliable"], m["ordered"] = p.Reliable, p.Ordered
	}
	if p.Kind != KindAck && p.Kind < KindBundle {
		m["sequence"] = float64(p.Sequence)
	}
	for name, set := range map[string]bool{"extended": p.Extended, "more": p.More} {
		if set {
			m[name] = true
		}
	}
	if p.OrderLink != 0 {
		m["order_link"] = float64(p.OrderLink)
	}
	switch p.Kind {
	case KindAccept:
		m["received"], m["sent"], m["sync_interval_us"] = float64(p.Received), float64(p.Sent), float64(p.SyncInterval)
	case KindReject, KindDisconnect:
		m["reason"] = p.ReasonText()
	case KindSyncAck:
		m["acked"], m["received"], m["sent"] = float64(p.Acked), float64(p.Received), float64(p.Sent)
	case KindAck:
		m["acked"] = float64(p.Acked)
	case KindAckRun:
		m["first"], m["count"] = float64(p.Acked), float64(p.Count)
	case KindBundle:
		m["packets"] = describeBundle(p.Bundle)
	case KindMessage:
		m["timestamp"], m["name"], m["data"] = float64(p.Time), string(p.Name), hex.EncodeToString(p.Data)
	case KindLinkTable:
		m["variables"], m["entities"] = describeTable(p.Table)
	case KindReplicate:
		m["timestamp"] = float64(p.Time)
		m["entities"], m["variables"] = describeValues(p.Values)
	}
	return m
}

func describeBundle(b Bundle) (packets []any) {
	for packet := range b.Packets() {
		var p Packet
		for _, from := range []Side{FromClient, FromServer} {
			if p.Parse(from, packet) {
				packets = append(packets, describe(&p))
				break
			}
		}
	}
	return packets
}

func describeTable(t Table) (variables, entities []any) {
	linked := func(v LinkedVariable) any {
		return map[string]any{"link": float64(v.Link), "type": v.Type.String(), "name": string(v.Name)}
	}
	variables, entities = []any{}, []any{}
	for v := range t.Variables() {
		variables = append(variables, linked(v))
	}
	for e := range t.Entities() {
		own := []any{}
		for v := range e.Variables() {
			own = append(own, linked(v))
		}
		entities = append(entities, map[string]any{"link": float64(e.Link), "name": string(e.Name), "variables": own})
	}
	return variables, entities
}

func describeValues(v Replication) (entities, variables []any) {
	variables, entities = []any{}, []any{}
	for e := range v.Entities() {
		updates := []any{}
		for u := range e.Variables() {
			values := []any{}
			for id, data := range u.Values() {
				values = append(values, map[string]any{"entity": float64(id), "data": hex.EncodeToString(data)})
			}
			updates = append(updates, map[string]any{"link": float64(u.Link), "values": values})
		}
		entities = append(entities, map[string]any{"link": float64(e.Link), "variables": updates})
	}
	for value := range v.Variables() {
		variables = append(variables, map[string]any{"link": float64(value.Link), "data": hex.EncodeToString(value.Data)})
	}
	return entities, variables
}

// T6: the vectors decode to what they say and encode to what they are, and the
// bad ones are refused with the field and the offset.
func TestVectors(t *testing.T) {
	promise.Keeps(t, "T6", "replica", 1)
	kinds := map[Kind]int{}
	for _, v := range readVectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			b := v.Bytes
			var p Packet
			ok, err := p.Parse(sender(v), b), new(Packet).ParseErr(sender(v), b)
			if v.Error != "" {
				wantRefused(t, v, ok, &p, err)
				return
			}
			if !ok || err != nil {
				t.Fatalf("%s: refused: %v", v.Hex, err)
			}
			kinds[p.Kind]++
			if got := describe(&p); !reflect.DeepEqual(got, *v.Packet) {
				t.Errorf("%s\ngot  %v\nwant %v", v.Hex, got, *v.Packet)
			}
			if got := p.AppendTo([]byte("before")); string(got[:6]) != "before" || !bytes.Equal(got[6:], b) {
				t.Errorf("read  %x\nwrote %x", b, got)
			}
		})
	}
	for _, k := range allKinds {
		if kinds[k] == 0 {
			t.Errorf("no vector is a %v", k)
		}
	}
}

func wantRefused(t *testing.T, v vector, ok bool, p *Packet, err error) {
	t.Helper()
	if ok || p.Kind != 0 {
		t.Fatalf("%s: accepted as %v, want %q", v.Hex, p.Kind, v.Error)
	}
	e, is := err.(*wire.Error)
	if !is || e.Field == "" && e.Cause != wire.CauseLeftOver || e.Offset > len(v.Hex)/2 || !strings.Contains(e.Error(), "offset") {
		t.Errorf("%s: %#v does not say field and offset", v.Hex, err)
	}
}
