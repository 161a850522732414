package program

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"parley/world"
)

// The game of docs/gateway.md: a chest with slots, and an action that moves what is in one to another.
type (
	slot struct {
		Item  uint8
		Count uint16
	}
	chest struct {
		Lid   struct{ Open bool }
		Slots [2]slot
		Owner world.ID
	}
	spot struct {
		Chest world.ID
		Slot  uint8
	}
	move struct{ From, To spot }
	sign struct {
		Name string
		Heat float32 `parley:"q=0.5,min=0,max=100"`
	}
)

// Packets with the bytes of the page, and some of a kind with a text, are shown with the names of fields, and so are nested ones.
func TestDecodeShowsNames(t *testing.T) {
	s, err := world.Game{Kinds: world.Kinds(chest{}, sign{}), Actions: world.Actions(move{})}.Schema()
	if err != nil {
		t.Fatal(err)
	}
	const (
		fields = `{"lid.open":true,"slots[0].item":3,"slots[0].count":300,"slots[1].item":4,"slots[1].count":1,"owner":0}`
		isOpen = `"kind":"chest","fields":` + fields
		moved  = `"action":"move","parameters":{"from.chest":1,"from.slot":0,"to.chest":7,"to.slot":1}`
		stamp  = "00000007 00010203 00010200"
	)
	for _, tt := range []struct{ dialect, from, channel, hex, want string }{
		{"stamp", "server", "", "02 00 0000 0000000000000000 0100 01 09 01 03 2c01 04 0100 0000 0500 01 00", `[{"entity":1,` + isOpen + `},{"entity":5,"kind":"chest","gone":true}]`},
		{"relay", "server", "", "10 000001 00 0001 01 09 01 03 012c 04 0001 0000", `[{"entity":1,` + isOpen + `}]`},
		{"relay", "server", "", "10 000001 08 00010203 00000007 fe 0001 01 09 01 03 012c 04 0001 0000", `[{"entity":1,` + isOpen + `}]`},
		{"relay", "server", "", "10 000001 01 0009 0000 0001 00 0007 01", `[{"entity":9,` + moved + `}]`},
		{"relay", "client", "", "10 000001 01 0000 0001 00 0007 01", `[{` + moved + `}]`},
		{"relay", "client", "", "10 000001 01 0000 0001 00 0007 01" + stamp, `[{` + moved + `}]`},
		{"relay", "client", "", "10 000001 01 0000 0001 00 0007", ``},
		{"duplex", "server", "main", "02 0001 01 01 03 012c 04 0001 0000", `[{"entity":1,` + isOpen + `}]`},
		{"duplex", "server", "main", "02 0001 02 02 6869 07", `[{"entity":1,"kind":"sign","fields":{"name":"hi","heat":3.5}}]`},
		{"duplex", "server", "main", "02 fffe 0009 0000 0203 0001 00 0007 01", `[{"entity":9,` + moved + `}]`},
		{"duplex", "server", "main", "02 0001 00", `[{"entity":1,"gone":true}]`},
		{"duplex", "client", "main", "40 0000 0001 00 0007 01", `[{` + moved + `}]`},
		{"duplex", "client", "main", "46 0000" + stamp + "0001 00 0007 01", `[{` + moved + `}]`},
		{"realm", "server", "", "0e 0000 0001 05 0001 0006 0000 01 0001 03 0002 012c 0003 04 0004 0001 0005 0000", `[{"entity":1,` + isOpen + `}]`},
		{"realm", "client", "", "0b 0000 0001 05 0002 0001 0000 0002 6869", `[{"entity":1,"kind":"sign","fields":{"name":"hi"}}]`},
		{"realm", "client", "", "0b 0000 0001 01 0001 0004 0001", `[{"entity":1,"fields":{"slots[1].count":1}}]`},
		{"realm", "client", "", "0d 0000 0000 0001 00 0007 01", `[{` + moved + `}]`},
		{"replica", "server", "", "05 01 0000 0000000000000000 01 00 0000 01 0500 01 05 02 0100", `[{"id":5,"kind":"chest","fields":{"slots[1].count":1}}]`},
		{"replica", "server", "", "05 01 0000 0000000000000000 01 00 0100 01 0100 01 05 02 6869", `[{"id":5,"kind":"sign","fields":{"name":"hi"}}]`},
		{"replica", "client", "", "06 00 0000 0000000000000000 04 6d6f7665 0600 0100 00 0700 01", `[{` + moved + `}]`},
		{"replica", "server", "", "06 00 0000 0000000000000000 04 6d6f7665 0d00 0000 05 03020100 0100 00 0700 01", `[{"id":5,` + moved + `}]`},
	} {
		i := slices.IndexFunc(builtIn(), func(c codec) bool { return c.Name == tt.dialect })
		r := route{codec: builtIn()[i], from: sideClient, channel: tt.channel}
		if tt.from == "server" {
			r.from = sideServer
		}
		b, err := hex.DecodeString(strings.ReplaceAll(tt.hex, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		game := newNames(s).of(r, b)
		got := ""
		if len(game) > 0 {
			line, err := marshalLine(game)
			if err != nil {
				t.Fatal(err)
			}
			got = string(line)
		}
		if got != tt.want {
			t.Errorf("%s of %s: %s\ngot  %s\nwant %s", tt.dialect, tt.from, tt.hex, got, tt.want)
		}
		for cut := range b { // nothing of it makes it panic
			newNames(s).of(r, b[:cut])
		}
	}
}

// The names come behind what decode shows without them.
func TestDecodeWithNames(t *testing.T) {
	decode := func(args string) result {
		return runWith(builtIn(), nil, append([]string{"decode"}, strings.Fields(args)...))
	}
	const bytes = " --dialect realm --from client 0b0000000101000100010064"
	plain, names := decode(bytes), decode("--names"+bytes)
	if want := strings.TrimSuffix(plain.out, "}\n") + `,"game":[{"entity":1,"fields":{"health":100}}]}` + "\n"; names.out != want || names.status != 0 {
		t.Errorf("got %s%s, want %s", names.out, names.err, want)
	}
	const ack = " --dialect replica --from server 030100"
	if got := decode("--names" + ack); got.out != decode(ack).out || got.status != 0 {
		t.Errorf("got %s%s", got.out, got.err)
	}
}
