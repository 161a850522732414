package player

import (
	"testing"
	"testing/synctest"
	"time"
)

// A bot stays for what it said last, but not for ever.
func TestABotWaitsForWhatIsUnderWay(t *testing.T) {
	for _, tt := range []struct {
		name   string
		notice Notice
		tally  Tally
		asked  bool
		want   time.Duration
	}{
		{"nothing is under way", Notice{}, Tally{Said: 2, Heard: 2}, false, 0},
		{"its line comes back", Notice{Kind: Said, Text: "hello [1]"}, Tally{Said: 1}, false, 300 * time.Millisecond},
		{"another's line does not count", Notice{Kind: Said, Text: "hello [2]"}, Tally{Said: 1}, false, settleTime},
		{"its direction is not seen", Notice{Kind: Said, Text: "hello [1]"}, Tally{Said: 1}, true, settleTime},
		{"the server goes", Notice{Kind: Ended, Text: "closed"}, Tally{Said: 1}, false, 300 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &Bot{Tally: tt.tally, player: new(Player), mark: "[1]", news: make(chan struct{}, 1)}
				begin := time.Now()
				if tt.asked {
					b.since = begin
				}
				time.AfterFunc(300*time.Millisecond, func() { b.notice(tt.notice) })
				b.settle()
				if got := time.Since(begin); got != tt.want {
					t.Errorf("it waited for %v, want %v", got, tt.want)
				}
				time.Sleep(settleTime)
			})
		})
	}
}
