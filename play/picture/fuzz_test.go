package picture

import (
	"encoding/binary"
	"testing"
	"time"

	"parley/arena"
	"parley/play/message"
	"parley/protocol/duplex"
	"parley/protocol/relay"
	relaycore "parley/protocol/relay/core"
	"parley/protocol/replica"
	"parley/protocol/stamp"
	"parley/world"
)

// FuzzReaders has a hostile server send anything, over any dialect whose bytes the readers read themselves. Nothing panics or takes long, and
// what is kept has its bounds. Each message is a kind, a size and bytes; some time passes between them.
func FuzzReaders(f *testing.F) {
	sim, err := world.New(arena.Game(), world.Config{Seed: 7})
	if err != nil {
		f.Fatal(err)
	}
	w := message.World{Seed: 7, TickRate: 20, Tick: 100, Fingerprint: sim.Schema().Fingerprint()}
	one := func(kind byte, b []byte) []byte {
		return append(binary.BigEndian.AppendUint16([]byte{kind, 20}, uint16(len(b))), b...)
	}
	record := []byte{0, 1, 1, 30}
	record = append(record, make([]byte, 30)...)
	fate := func(tick uint32) []byte {
		return message.Fate{Tick: tick, Number: 1, Margin: 1}.AppendTo(nil, message.Big)
	}
	var seed []byte
	seed = append(seed, one(0, w.AppendTo([]byte{message.RelayWorld}, message.Big))...)
	seed = append(seed, one(0, message.AppendRelayYou([]byte{message.RelayYou}, 1))...)
	for tick := range uint32(8) {
		seed = append(seed, one(0, append(append([]byte{message.RelayTick}, fate(101+tick)...), record...))...)
	}
	f.Add(seed)
	f.Add(one(1, message.Fate{Tick: 1 << 31}.AppendTo(nil, message.Little)))
	f.Add(one(2, append(fate(7), record[2:]...)))
	f.Add(one(3, record))
	f.Fuzz(func(t *testing.T, script []byte) {
		c, err := New(arena.Game(), Config{})
		if err != nil {
			t.Fatal(err)
		}
		now := time.Unix(1000, 0)
		c.Connected(now)
		a := NewReplica(c, func(replica.Mode, string, []byte) error { return nil })
		nothing := func(int16, []byte) error { return nil }
		d := NewDuplex(c, 1, true, DuplexSend{nothing, nothing, func(uint8, []byte) error { return nil }})
		s := NewStamp(c)
		b := NewRelay(c, func(relay.Mode, relaycore.Target, []byte) error { return nil })
		number := uint64(0)
		for n := 0; len(script) >= 4 && n < 64; n++ {
			kind, wait := script[0], script[1]
			size := min(int(binary.BigEndian.Uint16(script[2:])), len(script)-4)
			data := script[4 : 4+size]
			script = script[4+size:]
			now = now.Add(time.Duration(wait) * time.Millisecond)
			number++
			switch kind & 7 {
			case 0:
				b.Read(now, relay.Event{Kind: relay.EventPackage, Package: relaycore.Package{Server: true, Payload: data}})
			case 1:
				name := []string{message.ReplicaTick, message.ReplicaWorld, message.ReplicaYou, message.ReplicaMembers, "throw", message.ReplicaChat, message.ReplicaTerrain}[int(kind>>3)%7]
				a.Read(now, replica.Event{Kind: replica.EventMessage, Name: []byte(name), Data: data, Number: number})
			case 2:
				sid := int16(0)
				if len(data) > 1 {
					sid = int16(binary.BigEndian.Uint16(data)) % 9
				}
				d.Read(now, duplex.Event{Kind: []duplex.Event{{Kind: duplex.EventUpdate}, {Kind: duplex.EventSync}, {Kind: duplex.EventGone}}[int(kind>>3)%3].Kind, SID: sid, Data: data})
			case 3:
				s.Read(now, stamp.Event{Kind: stamp.EventEntity, Data: data, Time: uint64(kind) << (wait % 56)})
			case 4:
				a.Read(now, replica.Event{Kind: replica.EventLinked, Data: data})
			case 5:
				a.Read(now, replica.Event{Kind: replica.EventReplicated, Data: data, Number: number})
			case 6:
				a.Read(now, replica.Event{Kind: replica.EventGone, KindLink: uint16(kind), ID: wait, Number: number})
			case 7:
				_ = c.Steer(now, float32(wait), 1)
			}
			c.voice = b
			c.Frame(now)
		}
		if len(c.list) > maxTracks || len(c.events) > maxEvents || len(c.inputs.list) > maxInputs || len(c.mine.born) > maxOwned || c.mine.unconfirmed() > maxBorn || len(a.packets) > maxPackets+1 {
			t.Errorf("%d tracks, %d events, %d inputs, %d born, %d packets", len(c.list), len(c.events), len(c.inputs.list), len(c.mine.born), len(a.packets))
		}
	})
}

// A server that sends without end has its bounds: entities, events, names and samples.
func TestWhatAServerSendsIsBounded(t *testing.T) {
	s := newStage(t, Config{}, 0)
	k := s.Schema().Kinds[0]
	values := make([]world.Value, len(k.Fields))
	for i := range k.Fields {
		values[i] = world.UintValue(k.Fields[i].Type, 0)
	}
	for tick := range uint64(200) {
		for wire := uint16(100); wire < 110; wire++ {
			s.put(s.newest+tick, wire, k, values, 0)
		}
	}
	for wire := uint16(1); wire <= world.MaxEntity; wire++ {
		s.put(s.newest, wire, k, values, 0)
	}
	long := make([]byte, 1<<20)
	for i := range 5000 {
		s.said(long, long, true)
		s.member(message.Member{What: message.MemberHere, Entity: uint16(i), Name: string(long[:i])})
	}
	for _, tr := range s.list {
		if len(tr.samples) > maxSamples {
			t.Fatalf("%d samples", len(tr.samples))
		}
	}
	ev, _ := s.PollEvent()
	if len(s.list) > maxTracks || len(s.events) > maxEvents || len(s.names) > maxNames || len(s.roster) > maxNames || len(ev.Text) > maxText || len(ev.Name) > maxName {
		t.Errorf("%d tracks, %d events, %d names, %d members", len(s.list), len(s.events), len(s.names), len(s.roster))
	}
	if n := s.Stats(); n.EntitiesLost == 0 || n.EventsLost == 0 {
		t.Errorf("%+v", n)
	}
	s.Frame(s.now)
}
