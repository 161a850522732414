package core

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"parley/simnet"
)

// passRoom is a room that wants the pass "good".
func passRoom(t *testing.T) *room {
	judge := func(c *Conn, pass []byte) {
		switch string(pass[2:]) {
		case "good":
			c.Owner = "good"
			c.AnswerPass(0, 0, nil)
		case "silent":
			c.AnswerPass(NoReply, 0, nil)
		default:
			c.AnswerPass(3, 0, nil)
		}
	}
	enter := func(c *Conn) string {
		if c.Owner != "good" {
			return "room needs a ticket"
		}
		return ""
	}
	return newRoom(t, Config{Judge: judge, Enter: enter})
}

func passOf(text string) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{67}, uint16(len(text))), text...)
}

// What a client that shows passes before it joins is told, and where it stands.
func TestPasses(t *testing.T) {
	const rep, refused = "195 0 0001", "REFUSED"
	for _, tt := range []struct {
		name  string
		says  []string // "ok" and "failed" are signals, "!" is another query, all else a pass
		want  []string
		state State
	}{
		{"a good pass", []string{"good", "ok"}, []string{rep}, StateOpen},
		{"a good pass, no feed", []string{"good", "failed"}, []string{rep}, StateOpen},
		{"no pass", []string{"ok"}, []string{refused}, StateClosing},
		{"a bad pass", []string{"bad"}, []string{"195 3"}, StateJoining},
		{"an empty pass", []string{""}, []string{"195 3"}, StateJoining},
		{"a bad pass and in", []string{"bad", "ok"}, []string{"195 3", refused}, StateClosing},
		{"a bad pass, then a good one", []string{"bad", "bad", "good", "ok"}, []string{"195 3", "195 3", rep}, StateOpen},
		{"a good pass, then a bad one", []string{"good", "bad", "ok"}, []string{rep, "195 3", refused}, StateClosing},
		{"three bad passes", []string{"bad", "bad", "bad", "good", "ok"}, []string{"195 3", "195 3", "195 3"}, StateClosing},
		{"a pass that is not looked at", []string{"silent"}, nil, StateJoining},
		{"three of them", []string{"silent", "silent", "silent"}, nil, StateClosing},
		{"another query", []string{"!"}, nil, StateClosed},
	} {
		for _, whole := range []bool{true, false} {
			t.Run(fmt.Sprint(tt.name, ", in one piece ", whole), func(t *testing.T) {
				r := passRoom(t)
				g := r.open("10.0.0.2")
				g.say(CodeConnInit)
				var b []byte
				for _, s := range tt.says {
					switch s {
					case "ok":
						b = append(b, CodeConnOK)
					case "failed":
						b = append(b, CodeConnFailed)
					case "!":
						b = append(b, 66)
					default:
						b = append(b, passOf(s)...)
					}
				}
				if whole {
					g.say(b...)
				} else {
					for i := range b {
						g.say(b[i])
					}
				}
				var got []string
				var buf [1 << 12]byte
				n := g.e.PollBytes(buf[:])
				s := NewStream(gameSchema, FromServer)
				for at := 0; at < n; {
					var m Message
					k, ok := s.Next(buf[at:n], &m)
					if at += k; !ok {
						break
					}
					switch {
					case m.Kind == KindReply && m.Status == 0:
						got = append(got, fmt.Sprintf("%d %d %x", m.Code, m.Status, m.Data))
					case m.Kind == KindReply:
						got = append(got, fmt.Sprintf("%d %d", m.Code, m.Status))
					case m.Kind == KindSignal && m.Code == CodeRefused:
						got = append(got, refused)
					}
				}
				if !slices.Equal(got, tt.want) || g.e.State() != tt.state {
					t.Errorf("%q and %v, want %q and %v", got, g.e.State(), tt.want, tt.state)
				}
				if open := r.mux.joined == 1; open != (tt.state == StateOpen) {
					t.Errorf("in the game: %t", open)
				}
			})
		}
	}
}

// A client with a pass joins when its pass was found good, and not before, whether its feed is there first or not; and is
// told when it was not.
func TestAClientShowsItsPass(t *testing.T) {
	for _, tt := range []struct {
		pass string
		path simnet.Profile
		feed bool
	}{{"good", perfect, true}, {"good", simnet.Profile{Loss: 1}, false}, {"bad", perfect, false}} {
		judged := false
		judge := func(c *Conn, pass []byte) {
			judged = true
			if c.Joined() {
				t.Error("it has joined before its pass was looked at")
			}
			if bytes.Equal(pass, passOf("good")[1:]) {
				c.AnswerPass(0, 0, nil)
			} else {
				c.AnswerPass(3, 0, nil)
			}
		}
		enter := func(*Conn) string {
			if !judged {
				return "no pass"
			}
			return ""
		}
		w := newWorld(t, 1, Config{Judge: judge, Enter: enter, Pass: passOf(tt.pass)[1:]}, tt.path)
		x := w.dial(0)
		if tt.pass == "bad" {
			w.runUntil("refused", func() bool { return x.closed != nil }, 6*time.Second)
			if x.closed.Reason != ReasonRefused || !x.closed.Remote || x.closed.Status != 3 {
				t.Errorf("%v", x.closed)
			}
			continue
		}
		w.runUntil("joining", func() bool { return x.synced > 0 }, 8*time.Second)
		if x.FeedUp() != tt.feed || x.Player() != 1 {
			t.Errorf("feed %t, want %t; player %d", x.FeedUp(), tt.feed, x.Player())
		}
	}
}

// The SID that comes with the reply to a pass is the player's, and the id still names the feed.
func TestAPassBringsTheOwnSID(t *testing.T) {
	e := NewClient(stageStart, serverAddr, serverAddr, Config{Schema: gameSchema, Pass: passOf("x")[1:]}, newShared(1))
	say := func(m Message) { e.HandleBytes(stageStart, m.AppendTo(nil)) }
	say(Message{Kind: KindConnInitRep, Player: 5, Token: 9})
	say(Message{Kind: KindReply, Code: 195, Data: []byte{0x12, 0x34}})
	if e.Player() != 0x1234 || e.State() != StateJoining {
		t.Fatalf("player %d, %v", e.Player(), e.State())
	}
	var buf [MaxDatagram]byte
	n, _, ok := e.PollTransmit(buf[:])
	var d Datagram
	if !ok || !d.Parse(FromClient, buf[:n]) || d.Kind != KindFeedInit || d.Player != 5 {
		t.Errorf("%v %+v", ok, d)
	}
	say(Message{Kind: KindReply, Code: 195, Data: []byte{0x12, 0x35}}) // nobody has asked
	if e.State() != StateClosed {
		t.Errorf("a reply without a query: %v", e.State())
	}
}
