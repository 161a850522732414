package core

import (
	"strings"
	"testing"
	"time"
)

// ask hands a reliable package of a peer to the server, which answers it in the same turn.
func ask(h *hall, id uint32) {
	h.mux.HandleDatagram(h.now, near(1), pack(Unordered, true, id, "question"))
	if err := h.mux.First().Peer(near(1)).Send(Unordered, []byte("answer")); err != nil {
		h.t.Fatal(err)
	}
	h.turn()
}

// A confirmation goes along with an answer, in the same turn, if none has gone out for as long as they are gathered.
func TestAConfirmationGoesAlongWithAnAnswer(t *testing.T) {
	h := newHall(t, Config{})
	h.join(near(1))
	ask(h, 1)
	h.wantSent(near(1), `unordered server 1 "answer"`) // it came a moment ago
	h.wait(20 * time.Millisecond)
	h.wantSent(near(1), "confirm [0 1]")
	h.wait(20 * time.Millisecond)
	ask(h, 2)
	h.wantSent(near(1), `unordered server 2 "answer"`)
	h.wait(20 * time.Millisecond)
	h.wantSent(near(1), "confirm [2]")
	h.wait(21 * time.Millisecond)
	ask(h, 3)
	h.wantSent(near(1), `unordered server 3 "answer"`, "confirm [3]")
	h.wait(5 * time.Millisecond)
	ask(h, 4)
	h.wantSent(near(1), `unordered server 4 "answer"`)
	h.wait(20 * time.Millisecond)
	h.wantSent(near(1), "confirm [4]")
}

// However fast one asks, there is one confirmation for 20 ms, and those who fixed their delays have it gathered.
func TestConfirmationsThatGoAlongAreNotMore(t *testing.T) {
	for _, tt := range []struct {
		name  string
		rules Rules
		every time.Duration
		least int
		most  int
	}{
		{"50 in a second", Rules{}, 20 * time.Millisecond, 49, 50},
		{"20 in a second", Rules{}, 50 * time.Millisecond, 20, 20},
		{"1,000 in a second", Rules{}, time.Millisecond, 40, 67}, // each 15 ms: in the last quarter of their time
		{"1,000 in a second, after fixed delays", Rules{ResendAfter: 220 * time.Millisecond}, time.Millisecond, 40, 67},
		{"20 in a second, after fixed delays", Rules{ResendAfter: 220 * time.Millisecond}, 50 * time.Millisecond, 20, 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHall(t, Config{Lobby: NewOpenLobby(OpenConfig{Unproven: true, Rules: tt.rules})})
			h.join(near(1))
			h.wait(100 * time.Millisecond)
			clear(h.out)
			confirmations, along := 0, 0
			for i := range uint32(time.Second / tt.every) {
				ask(h, 1+i)
				for _, what := range h.took(near(1)) {
					if strings.HasPrefix(what, "confirm") {
						confirmations++
						along++
					}
				}
				h.in(near(1), confirmOf(1+i)) // of the answer
				h.wait(tt.every)
				for _, what := range h.took(near(1)) {
					if strings.HasPrefix(what, "confirm") {
						confirmations++
					}
				}
			}
			if confirmations < tt.least || confirmations > tt.most {
				t.Errorf("%d confirmations, %d of them along with answers, want %d to %d", confirmations, along, tt.least, tt.most)
			}
			if quiet := tt.rules.ResendAfter > 0; tt.every >= 50*time.Millisecond && (along == confirmations) == quiet {
				t.Errorf("%d of %d went along", along, confirmations)
			}
		})
	}
}
