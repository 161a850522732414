package attack

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	"parley/arena"
	"parley/internal/promise"
	"parley/play/schema"
	duplexcore "parley/protocol/duplex/core"
	realmcore "parley/protocol/realm/core"
	"parley/protocol/relay/connector"
	relaycore "parley/protocol/relay/core"
	replica "parley/protocol/replica/core"
	stamp "parley/protocol/stamp/core"
	"parley/test/field"
)

// nested calls f with messages that hold what looks like messages: each of the vectors of all dialects behind itself, in itself at each
// place, and its first bytes, thousands of times. The bytes are f's until it returns.
func nested(t *testing.T, f func(b []byte)) (inputs, size int) {
	t.Helper()
	most := count(8<<10, 64<<10)
	files, err := filepath.Glob("../../protocol/*/core/testdata/*.json")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files of vectors, %v", len(files), err)
	}
	give := func(b []byte) {
		inputs, size = inputs+1, size+len(b)
		f(b)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var vectors []struct{ Hex string }
		if err := json.Unmarshal(text, &vectors); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, v := range vectors {
			b, err := hex.DecodeString(v.Hex)
			if err != nil || len(b) == 0 {
				continue // a vector of text, or of nothing
			}
			give(bytes.Repeat(b, most/len(b)))
			for n := 1; n <= min(len(b), 64); n++ {
				give(bytes.Repeat(b[:n], most/n))
				deep := bytes.Repeat(b[:n], most/(len(b)+n))
				for range most/len(b) - len(deep)/len(b) {
					deep = append(deep, b[n:]...)
				}
				give(deep)
			}
		}
	}
	return inputs, size
}

// T37: no depth of nesting needs a deep stack, and none is kept: all decoders read each input with a stack of 256 KiB at most,
// beyond which the runtime ends the program, and allocate at most four times its size and 1 KiB.
func TestNestedInputNeedsNoDepth(t *testing.T) {
	game := schema.Realm(field.Schema(t, arena.Game()), 0)
	codec := realmcore.NewCodec(game)
	var (
		message  realmcore.Message
		packet   replica.Packet
		stamped  stamp.Packet
		record   stamp.Record
		datagram relaycore.Datagram
		element  duplexcore.Message
		feed     duplexcore.Datagram
		fromGame connector.FromGame
		relayed  connector.Relayed
	)
	decode := func(b []byte) {
		for _, from := range []realmcore.Side{realmcore.FromClient, realmcore.FromServer} {
			codec.Parse(from, b, &message)
		}
		for _, from := range []replica.Side{replica.FromClient, replica.FromServer} {
			packet.Parse(from, b)
		}
		for _, from := range []stamp.Side{stamp.FromClient, stamp.FromServer} {
			stamped.Parse(from, b)
		}
		for records := stamp.ReadRecords(b); records.Next(&record); {
		}
		datagram.Parse(b)
		for ids := relaycore.ReadIDs(b); ; {
			if _, ok := ids.Next(); !ok {
				break
			}
		}
		for _, from := range []duplexcore.Side{duplexcore.FromClient, duplexcore.FromServer} {
			element.Parse(from, duplexcore.Main, b)
			element.Parse(from, duplexcore.Feed, b)
			feed.Parse(from, b)
		}
		for messages := connector.Read(b); messages.Next(&fromGame); {
		}
		for messages := connector.Read(b); messages.Next(&relayed); {
		}
	}
	runtime.GC()
	defer debug.SetMaxStack(debug.SetMaxStack(256 << 10))
	const decoders = 14
	var before, after runtime.MemStats
	most, allocated := uint64(0), uint64(0)
	inputs, size := nested(t, func(b []byte) {
		runtime.ReadMemStats(&before)
		decode(b)
		runtime.ReadMemStats(&after)
		got := after.TotalAlloc - before.TotalAlloc
		allocated, most = allocated+got, max(most, got)
		if bound := decoders * uint64(4*len(b)+1024); got > bound {
			t.Errorf("%d bytes that begin with %x: %d were allocated, and %d may be", len(b), b[:min(len(b), 16)], got, bound)
		}
	})
	t.Logf("%d inputs of %d bytes: %d bytes allocated, %d at most for one", inputs, size, allocated, most)
	promise.Kept(t, "T37", "nested inputs", inputs)
}
