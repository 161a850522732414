package line

import (
	"errors"
	"testing"
	"time"

	"parley/play/message"
	"parley/protocol/duplex"
	duplexcore "parley/protocol/duplex/core"
	"parley/protocol/realm"
	realmcore "parley/protocol/realm/core"
	"parley/protocol/relay"
	relaycore "parley/protocol/relay/core"
	"parley/protocol/replica"
	replicacore "parley/protocol/replica/core"
	"parley/protocol/stamp"
	stampcore "parley/protocol/stamp/core"
)

// The attempts of a player that nobody answers come at once, and then less and less often, over each way in turn.
func TestWhenAPlayerTriesAgain(t *testing.T) {
	const ms = time.Millisecond
	begin := time.Now()
	for _, tt := range []struct {
		name  string
		ways  int
		waits []time.Duration
	}{
		{"one way", 1, []time.Duration{0, 500 * ms, 1000 * ms, 2000 * ms, 2000 * ms, 2000 * ms}},
		{"two ways", 2, []time.Duration{0, 0, 500 * ms, 500 * ms, 1000 * ms, 1000 * ms, 2000 * ms}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now := begin
			a := absence{ways: tt.ways, tokens: []message.Token{{1}}, held: begin.Add(30 * time.Second), until: begin.Add(30 * time.Second)}
			tries := 0
			for {
				wait, way, ok := a.next(now)
				if !ok {
					break
				}
				if tries < len(tt.waits) && wait != tt.waits[tries] || way != tries%tt.ways {
					t.Errorf("attempt %d comes after %v over way %d", tries, wait, way)
				}
				now = now.Add(wait)
				tries++
				if !a.failed(now, lost, false) {
					t.Fatal("it gives up although its place is held")
				}
			}
			if left := begin.Add(30 * time.Second).Sub(now); left < 0 || left > 2*time.Second {
				t.Errorf("the last of %d attempts was %v before its place was given up", tries, left)
			}
		})
	}
}

// What a server says of a pass decides which is shown next.
func TestWhichPassIsShownNext(t *testing.T) {
	begin := time.Now()
	for _, tt := range []struct {
		name   string
		tokens int
		first  bool
		after  time.Duration
		hows   []fate
		left   int  // tokens
		ok     bool // there is another attempt
	}{
		{"lost", 2, false, 0, []fate{lost, lost, lost}, 2, true},
		{"over", 2, true, 0, []fate{over}, 2, false},
		{"one token is refused", 2, false, 0, []fate{refused}, 1, true},
		{"both are refused", 2, false, 0, []fate{refused, refused}, 0, false},
		{"both are refused, and it may come anew", 2, true, 0, []fate{refused, lost, refused, lost}, 0, true},
		{"all is refused", 2, true, 0, []fate{refused, refused, refused}, 0, false},
		{"silence while the place is held", 1, true, 29 * time.Second, []fate{silent, silent}, 1, true},
		{"silence when it is not", 1, true, 31 * time.Second, []fate{silent, silent, silent}, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := absence{ways: 1, tokens: make([]message.Token, tt.tokens), first: tt.first, held: begin.Add(30 * time.Second)}
			ok := true
			for i, how := range tt.hows {
				if !ok {
					t.Fatalf("it gives up before attempt %d", i)
				}
				if wait, _, _ := a.next(begin); i > 0 && tt.hows[i-1] == refused && wait != 0 {
					t.Errorf("the next pass is shown after %v", wait)
				}
				ok = a.failed(begin.Add(tt.after), how, false)
			}
			if _, _, next := a.next(begin); ok != tt.ok || next && !ok && tt.hows[0] != over || len(a.tokens) != tt.left {
				t.Errorf("another attempt: %t; %d tokens are left", ok, len(a.tokens))
			}
		})
	}
}

// Which ends of a connection are worth coming back for.
func TestWhatAnEndMeans(t *testing.T) {
	in := func() *Conn { return &Conn{entered: true} }
	said := func(text string, ago time.Duration) *Conn {
		end := time.Unix(1000, 0)
		return &Conn{entered: true, words: text, spoken: end.Add(-ago), ended: end}
	}
	for _, tt := range []struct {
		line *Conn
		why  error
		want fate
	}{
		{in(), replica.Close{Reason: replicacore.ReasonTimeout}, lost},
		{in(), replica.Close{Reason: replicacore.ReasonUnknown, Remote: true}, lost},
		{in(), replica.Close{Reason: replicacore.ReasonPeer, Text: "server closing"}, lost},
		{in(), replica.Close{Reason: replicacore.ReasonPeer, Text: "kicked"}, over},
		{in(), replica.Close{Reason: replicacore.ReasonPeer, Text: "resumed elsewhere"}, over},
		{in(), replica.Close{Reason: replicacore.ReasonProtocol}, over},
		{new(Conn), replica.Close{Reason: replicacore.ReasonPeer, Text: "no such session"}, refused},
		{new(Conn), replica.Close{Reason: replicacore.ReasonPeer, Text: "game is full"}, lost},
		{nil, replica.Close{Reason: replicacore.ReasonRejected, Text: "server full"}, lost},
		{&Conn{ignored: true}, replica.Close{Reason: replicacore.ReasonClosed}, silent},

		{in(), stamp.Close{Reason: stampcore.ReasonTimeout}, lost},
		{in(), stamp.Close{Reason: stampcore.ReasonPeer, Text: "server closing"}, lost},
		{in(), stamp.Close{Reason: stampcore.ReasonPeer, Text: emptiedLine}, lost},
		{in(), stamp.Close{Reason: stampcore.ReasonPeer, Text: busyLine}, lost},
		{in(), stamp.Close{Reason: stampcore.ReasonPeer, Text: "kicked"}, over},

		{in(), relay.Close{Reason: relaycore.ReasonSilent}, lost},
		{in(), relay.Close{Reason: relaycore.ReasonRemoved, Text: "the server takes us for a newcomer"}, lost},
		{said("server closing", 0), relay.Close{Reason: relaycore.ReasonRemoved}, lost},
		{said("go away", 0), relay.Close{Reason: relaycore.ReasonRemoved}, over},
		{said("we restart soon", time.Minute), relay.Close{Reason: relaycore.ReasonRemoved}, lost},
		{said("go away", 0), relay.Close{Reason: relaycore.ReasonSilent}, lost},
		{nil, relay.Close{Reason: relaycore.ReasonRefused, Text: "no such session"}, refused},
		{nil, relay.Close{Reason: relaycore.ReasonRefused, Text: "the game is busy: come again"}, lost},
		{&Conn{refused: "ticket was used"}, relay.Close{Reason: relaycore.ReasonRemoved}, refused},

		{in(), duplex.Close{Reason: duplexcore.ReasonLost}, lost},
		{in(), duplex.Close{Reason: duplexcore.ReasonPeer, Remote: true}, lost},
		{said("go away", 0), duplex.Close{Reason: duplexcore.ReasonPeer, Remote: true}, over},
		{said("server closing", 0), duplex.Close{Reason: duplexcore.ReasonPeer, Remote: true}, lost},
		{nil, duplex.Close{Reason: duplexcore.ReasonRefused, Remote: true, Status: 8}, refused},
		{nil, duplex.Close{Reason: duplexcore.ReasonRefused, Remote: true, Status: 6}, lost},
		{nil, duplex.Close{Reason: duplexcore.ReasonRefused, Remote: true}, lost},
		{nil, duplex.Close{Reason: duplexcore.ReasonPeer, Remote: true}, lost},

		{in(), realm.Close{Reason: realmcore.ReasonStream}, lost},
		{in(), realm.Close{Reason: realmcore.ReasonPeer, Exit: realmcore.ExitServerClosed}, lost},
		{in(), realm.Close{Reason: realmcore.ReasonPeer, Exit: realmcore.ExitClientKicked}, over},
		{in(), realm.Close{Reason: realmcore.ReasonPeer, Exit: realmcore.ExitClientBanned}, over},
		{nil, realm.Close{Reason: realmcore.ReasonVersion}, over},
		{nil, &notLetIn{code: realmcore.LoginAlreadyConnected}, lost},
		{nil, &notLetIn{code: realmcore.LoginWrongPassword}, refused},
		{nil, &distrust{errors.New("another certificate")}, over},
		{&Conn{entered: true, other: ErrOtherGame}, replica.Close{Reason: replicacore.ReasonClosed}, over},

		{nil, errors.New("connection refused"), lost},
	} {
		if got := fateOf(tt.line, tt.why); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.why, got, tt.want)
		}
	}
}
