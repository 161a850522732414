package program

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/arena"
	"parley/internal/patient"
	"parley/internal/wire"
)

func TestMain(m *testing.M) {
	patient.Abreast("6")
	readyPatience = time.Minute          // a busy machine may be late
	os.Setenv("XDG_CONFIG_HOME", "none") // which is no folder: no test touches the user's own settings
	// Bubbletea's reader of keys waits for ever with a key that came as the screen was left.
	reader := "github.com/charmbracelet/ultraviolet.(*TerminalReader)."
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(reader+"sendEvents"), goleak.IgnoreAnyFunction(reader+"StreamEvents"), goleak.IgnoreAnyFunction(reader+"StreamEvents.func1"),
		goleak.IgnoreTopFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"), // of a snapshot: see cluster
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*fileStore).flushStreamStateLoop"), goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server/ats.Register.func1"),
		goleak.IgnoreAnyFunction("golang.org/x/crypto/acme/autocert.(*Manager).deactivatePendingAuthz"), // up to five minutes of its own, beyond the server that asked: it tries again if the authority refuses a nonce, as Pebble does now and then
		goleak.Cleanup(func(status int) { os.RemoveAll(pondFolder); os.Exit(status) }))
}

// toyPacket is a packet of the two toy dialects. On the wire:
//
//	0  code  u8   1 only
//	1  value u16  big endian
//	3  text       to the end, at most 8 bytes
type toyPacket struct {
	From    string `json:"from"`
	Channel string `json:"channel,omitempty"`
	Value   uint16 `json:"value"`
	Text    string `json:"text"`
}

func toyDecode(from side, channel string, b []byte) (any, error) {
	r := wire.Big(b)
	if r.U8("code") != 1 {
		r.Fail(0, "code", "unknown code")
	}
	p := toyPacket{from.String(), channel, r.U16("value"), string(r.Rest("text", 8))}
	r.Done()
	return p, r.Err()
}

func toyEncode(from side, channel string, line []byte) ([]byte, error) {
	var p toyPacket
	if err := json.Unmarshal(line, &p); err != nil {
		return nil, err
	}
	if p.From != from.String() || p.Channel != channel {
		return nil, fmt.Errorf("from: the packet is of %s%s, the route of %v%s", p.From, p.Channel, from, channel)
	}
	return append(binary.BigEndian.AppendUint16([]byte{1}, p.Value), p.Text...), nil
}

// toys are a dialect with one channel and a dialect with two, as duplex will be.
var toys = []codec{
	{Name: "toy", Decode: toyDecode, Encode: toyEncode},
	{Name: "duo", Channels: []string{"main", "feed"}, Decode: toyDecode, Encode: toyEncode},
}

// result is what a command did.
type result struct {
	status   int
	out, err string
}

// parley runs a command line, split at blanks, with the toy dialects.
func parley(stdin, line string, more ...string) result {
	return runWith(toys, strings.NewReader(stdin), append(strings.Fields(line), more...))
}

// ours is the program of the arena.
func ours(codecs ...codec) *app { return &app{name: "parley", game: arena.Game(), codecs: codecs} }

func runWith(codecs []codec, in io.Reader, args []string) result {
	var out, errOut bytes.Buffer
	status := ours(codecs...).run(args, streams{In: in, Out: &out, Err: &errOut})
	return result{status, out.String(), errOut.String()}
}

func (r result) want(t *testing.T, want result) {
	t.Helper()
	if r != want {
		t.Errorf("got  status %d\nout %q\nerr %q\nwant status %d\nout %q\nerr %q",
			r.status, r.out, r.err, want.status, want.out, want.err)
	}
}
