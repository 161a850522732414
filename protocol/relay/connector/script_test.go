package connector

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

const ms = time.Millisecond

// A stagehand carries out the script below: over the core in virtual time, where each datagram
// must come at its instant and none beside it; or over sockets, where it waits for each, and only
// resends of what came already may come beside it.
//
// Clients are called by letters. PPPP in hex is the number of the game's port.
type stagehand interface {
	// send sends a datagram to the "main" port or the "game".
	send(who byte, port, hex string)

	// get has a datagram come from a port at a time since the start of the script; with a span
	// it may be that much later.
	get(at, span time.Duration, who byte, port, hex string)

	// quiet lets time go by, until so long after the start, without any further datagram.
	quiet(until time.Duration)
}

// playScript is two clients of the game, and a third that comes too late, to the byte.
func playScript(s stagehand) {
	// A opens a game for three: an unordered package to the server, with an id that is not the
	// first. GameOpened goes out before the confirmation.
	s.send('A', "main", "30 000007 01 02")
	s.get(0, 0, 'A', "main", "50 000000 01 fb PPPP")
	s.send('A', "main", "80 000000 000000")
	s.get(20*ms, 0, 'A', "main", "80 000000 000007")
	s.get(100*ms, 0, 'A', "game", "50 000000 02 00")
	s.send('A', "game", "80 000000 000000")

	// A second game is refused.
	s.send('A', "main", "30 000008 01 02")
	s.get(100*ms, 0, 'A', "main", "50 000001 02 00")
	s.send('A', "main", "80 000000 000001")
	s.get(120*ms, 0, 'A', "main", "80 000000 000008")

	// B joins, and A hears of it.
	s.send('B', "game", "30 000003 01")
	s.get(120*ms, 0, 'B', "game", "50 000000 02 01")
	s.get(120*ms, 0, 'A', "game", "50 000001 05 01")
	s.send('B', "game", "80 000000 000000")
	s.send('A', "game", "80 000000 000001")
	s.get(140*ms, 0, 'B', "game", "80 000000 000003")

	// B says "Ahoy", which reaches A with B's number in front.
	s.send('B', "game", "20 00000e 00 04 41686f79")
	s.get(140*ms, 0, 'A', "game", "20 000002 01 00 04 41686f79")
	s.get(160*ms, 0, 'B', "game", "80 000000 00000e")

	// Meanwhile A says 135 times "2", and B something that need not arrive.
	long := strings.Repeat("32", 135)
	s.send('A', "game", "20 000016 00 87"+long)
	s.get(160*ms, 0, 'B', "game", "20 000001 00 00 87"+long)
	s.get(180*ms, 0, 'A', "game", "80 000000 000016")
	s.send('B', "game", "80 000000 000001")
	s.send('B', "game", "00 000000 00 03 525354")
	s.get(180*ms, 0, 'A', "game", "00 000000 01 00 03 525354")

	// What is no datagram is ignored: a control header with other bits, and one with an id.
	s.send('A', "game", "80 ff0001 01020304")
	s.send('A', "game", "80 000001 ff020304")

	// A has not confirmed "Ahoy": it comes again under its own id, after 220 ms and then after
	// twice that, with some jitter; and no more once it is confirmed.
	s.get(360*ms, 0, 'A', "game", "20 000002 01 00 04 41686f79")
	s.get(800*ms, 110*ms, 'A', "game", "20 000002 01 00 04 41686f79")
	s.send('A', "game", "80 000000 000002")
	s.quiet(4 * time.Second)

	// Two messages of a package share one to the others too.
	s.send('A', "game", "20 00005c 00 01 58 00 01 59")
	s.get(4000*ms, 0, 'B', "game", "20 000002 00 00 01 58 00 00 01 59")
	s.get(4020*ms, 0, 'A', "game", "80 000000 00005c")
	s.send('B', "game", "80 000000 000002")
	s.quiet(4050 * ms)

	// Readiness: the game's follows when both have moved, and then nobody joins any more.
	s.send('A', "game", "30 00005d 03 01")
	s.get(4070*ms, 0, 'A', "game", "80 000000 00005d")
	s.send('B', "game", "30 00000f 03 01")
	s.get(4070*ms, 0, 'A', "game", "50 000003 07 01")
	s.get(4070*ms, 0, 'B', "game", "50 000003 07 01")
	s.send('A', "game", "80 000000 000003")
	s.send('B', "game", "80 000000 000003")
	s.get(4090*ms, 0, 'B', "game", "80 000000 00000f")
	s.send('C', "game", "30 000000 01")
	s.get(4090*ms, 0, 'C', "game", "50 000000 03 01")
	s.send('C', "game", "80 000000 000000")
	s.get(4110*ms, 0, 'C', "game", "80 000000 000000")
	for i, step := range []string{"02", "03"} {
		at := time.Duration(4110+40*i) * ms
		id := fmt.Sprintf("%06x", 4+i)
		s.send('B', "game", fmt.Sprintf("30 %06x 03 %s", 0x10+i, step))
		s.get(at+20*ms, 0, 'B', "game", fmt.Sprintf("80 000000 %06x", 0x10+i))
		s.send('A', "game", fmt.Sprintf("30 %06x 03 %s", 0x5e+i, step))
		s.get(at+20*ms, 0, 'A', "game", "50 "+id+" 07 "+step)
		s.get(at+20*ms, 0, 'B', "game", "50 "+id+" 07 "+step)
		s.send('A', "game", "80 000000 "+id)
		s.send('B', "game", "80 000000 "+id)
		s.get(at+40*ms, 0, 'A', "game", fmt.Sprintf("80 000000 %06x", 0x5e+i))
	}

	// B leaves, which A is told; then A leaves, and the game closes.
	s.send('B', "game", "30 000012 02")
	s.get(4190*ms, 0, 'B', "game", "50 000006 04")
	s.get(4190*ms, 0, 'A', "game", "50 000006 06 01")
	s.send('B', "game", "80 000000 000006")
	s.send('A', "game", "80 000000 000006")
	s.get(4210*ms, 0, 'B', "game", "80 000000 000012")
	s.send('A', "game", "30 000060 02")
	s.get(4210*ms, 0, 'A', "game", "50 000007 04")
	s.send('A', "game", "80 000000 000007")
	s.get(4230*ms, 0, 'A', "game", "80 000000 000060")
	s.quiet(15 * time.Second)
}

// virtual carries the script out over the core.
type virtual struct{ *rig }

func (v virtual) addr(who byte) int { return int(who - 'A') }

func (v virtual) number(port string) uint16 {
	if port == "main" {
		return mainPort
	}
	return 40000
}

func (v virtual) bytes(hex string) []byte {
	return unhex(v.t, strings.ReplaceAll(hex, "PPPP", fmt.Sprintf("%04x", 40000)))
}

func (v virtual) send(who byte, port, hex string) {
	v.in(v.number(port), client(v.addr(who)), v.bytes(hex))
}

func (v virtual) get(at, span time.Duration, who byte, port, hex string) {
	v.t.Helper()
	v.pass(rigStart.Add(at).Sub(v.now))
	want := v.bytes(hex)
	for limit := v.now.Add(span); ; v.pass(ms) {
		for i, d := range v.sent {
			if d.to == client(v.addr(who)) && d.port == v.number(port) && bytes.Equal(d.b, want) && d.at >= at && d.at <= at+span {
				v.sent = append(v.sent[:i], v.sent[i+1:]...)
				return
			}
		}
		if !v.now.Before(limit) {
			break
		}
	}
	v.t.Fatalf("no %x to %c from the %s port at %v; there are %s", want, who, port, at, v.left())
}

// left is what was sent and not asked for.
func (v virtual) left() string {
	var list []string
	for _, d := range v.sent {
		list = append(list, fmt.Sprintf("\n\t%v: %x to %v from port %d", d.at, d.b, d.to, d.port))
	}
	return strings.Join(list, "")
}

func (v virtual) quiet(until time.Duration) {
	v.t.Helper()
	v.pass(rigStart.Add(until).Sub(v.now))
	if len(v.sent) > 0 {
		v.t.Fatalf("sent, and not in the script: %s", v.left())
	}
}

// The exchange of the issue, to the byte and to the millisecond.
func TestScriptInVirtualTime(t *testing.T) {
	v := virtual{newRig(t, Config{confirm: 20 * ms})}
	playScript(v)
	if len(v.ports) != 1 || v.lobby.Games() != 0 || v.lobby.Players() != 0 {
		t.Errorf("%d ports, %d games and %d players are left", len(v.ports), v.lobby.Games(), v.lobby.Players())
	}
	if s := v.lobby.Stats(); s.Check() != nil || s.Uncut != 0 || s.Messages != 5 || s.Opened != 1 || s.Closed != 1 || s.Game.Refused != 1 {
		t.Errorf("%v: %+v", s.Check(), s)
	}
	// A is free to open another game.
	v.send('A', "main", "30 000009 01 00")
	v.get(v.now.Sub(rigStart), 0, 'A', "main", "50 000002 01 fb 9c41")
}
