package connector

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"parley/internal/promise"
)

// vector is a line of testdata/messages.hex.
type vector struct {
	set   *set
	bytes []byte
	says  string
}

func readVectors(t testing.TB) (list []vector) {
	t.Helper()
	text, err := os.ReadFile("testdata/messages.hex")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		cells := strings.Split(line, " | ")
		b, err := hex.DecodeString(strings.ReplaceAll(cells[1], " ", ""))
		if err != nil || len(cells) != 3 {
			t.Fatalf("%q: %v", line, err)
		}
		v := vector{bytes: b, says: cells[2]}
		for i := range sets {
			if sets[i].name == cells[0] {
				v.set = &sets[i]
			}
		}
		if v.set == nil {
			t.Fatalf("%q: no such set", line)
		}
		list = append(list, v)
	}
	return list
}

// T6: bytes that were written from the page are read as what they say, and written again.
func TestVectors(t *testing.T) {
	promise.Keeps(t, "T6", "connector", 1)
	seen := map[string]int{}
	for _, v := range readVectors(t) {
		m := v.set.make()
		msgs := Read(v.bytes)
		if !msgs.Next(m) || say(m) != v.says || msgs.Next(m) || !msgs.OK() {
			t.Errorf("%x is %q, want %q: %v", v.bytes, say(m), v.says, msgs.Err())
			continue
		}
		if got := m.AppendTo(nil); !bytes.Equal(got, v.bytes) {
			t.Errorf("%s: read %x, wrote %x", v.says, v.bytes, got)
		}
		seen[v.set.name+" "+strings.Fields(v.says)[0]]++
	}
	if len(seen) != 2+3+4+8+7+1 {
		t.Errorf("%d messages have vectors: %v", len(seen), seen)
	}
	for message, count := range seen {
		// Those without a field, or whose only field has one value, have one form.
		plain := strings.HasSuffix(message, "Join") || strings.HasSuffix(message, "Leave") || strings.HasSuffix(message, "Left") &&
			!strings.HasSuffix(message, "PeerLeft") || strings.HasSuffix(message, "NotJoined") || strings.HasSuffix(message, "OpenError")
		if count < 3 && !plain && !strings.HasPrefix(message, "relayed") {
			t.Errorf("%s: %d vectors, want 3", message, count)
		}
	}
}

// say puts a message into words.
func say(m Message) string {
	switch m := m.(type) {
	case *ToMain:
		if m.Kind == ToMainPing {
			return fmt.Sprint(m.Kind, " ", m.Ping)
		}
		return fmt.Sprint(m.Kind, " ", m.MaxPlayers)
	case *FromMain:
		switch m.Kind {
		case FromMainPong:
			return fmt.Sprint(m.Kind, " ", m.Ping)
		case FromMainOpened:
			return fmt.Sprint(m.Kind, " ", m.Port)
		}
		return fmt.Sprint(m.Kind, " ", m.Error)
	case *ToGame:
		switch m.Kind {
		case ToGamePing:
			return fmt.Sprint(m.Kind, " ", m.Ping)
		case ToGameReadiness:
			return fmt.Sprint(m.Kind, " ", m.Readiness)
		}
		return m.Kind.String()
	case *FromGame:
		return sayFromGame(m)
	case *Peer:
		return sayPeer(m)
	case *Relayed:
		return fmt.Sprintf("from %d: %s", m.From, sayPeer(&m.Peer))
	}
	panic("no such message")
}

func sayFromGame(m *FromGame) string {
	switch m.Kind {
	case FromGamePong:
		return fmt.Sprint(m.Kind, " ", m.Ping)
	case FromGameJoined, FromGamePeerJoined, FromGamePeerLeft:
		return fmt.Sprint(m.Kind, " ", m.Player)
	case FromGameJoinError:
		return fmt.Sprint(m.Kind, " ", m.Error)
	case FromGameReadiness:
		return fmt.Sprint(m.Kind, " ", m.Readiness)
	}
	return m.Kind.String()
}

func sayPeer(m *Peer) string {
	entity := fmt.Sprintf("%v %d/%d", m.Kind, m.Entity.Player, m.Entity.Index)
	switch m.Kind {
	case PeerChat:
		return fmt.Sprintf("%v %q", m.Kind, m.Text)
	case PeerSpawn:
		return fmt.Sprintf("%s of %d: %d/%d at %v", entity, m.Player, m.Class, m.Type, m.Transform)
	case PeerSetPath:
		if m.Stops {
			return entity + " stops"
		}
		return fmt.Sprintf("%s %v", entity, m.Path)
	case PeerTransform:
		return fmt.Sprintf("%s at %v", entity, m.Transform)
	case PeerChangeHealth:
		return fmt.Sprintf("%s by %v", entity, m.Health)
	case PeerProjectile:
		return fmt.Sprint(m.Kind, " ", m.Projectile)
	}
	return entity
}
