package core

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"parley/internal/admission"
)

// Behind a proxy no player's address has a connection: ServeAll answers them within a rate, and a forged question has at most three times its
// bytes sent to somebody else, headers counted.
func TestTheTimeServerAnswersAllWithinARate(t *testing.T) {
	c := newClockwork()
	question := []byte("8 bytes!")
	c.ask(outsider, question)
	if c.Stats().Strangers != 1 || len(c.sent[outsider]) != 0 {
		t.Errorf("a stranger is answered: %+v", c.Stats())
	}
	c.ServeAll(admission.Key{1})
	c.ask(outsider, question)
	if len(c.sent[outsider]) != 1 || len(c.sent[outsider][0]) != 16 {
		t.Fatalf("%q", c.sent[outsider])
	}
	for range 1000 { // one second
		c.ask(outsider, question)
		c.advance(time.Millisecond)
	}
	if got := len(c.sent[outsider]); got > 2*guestRate+2 {
		t.Errorf("%d answers in a second", got)
	}
	if st := c.Stats(); st.Limited == 0 || st.In != st.Bursts+st.Exchanges+st.Strangers+st.Limited+st.Running+st.Malformed {
		t.Errorf("%+v", st)
	}
	c.advance(time.Minute)
	clear(c.sent)
	c.ask(outsider, nil)
	c.advance(10 * time.Second)
	const header = 28
	if got := len(c.sent[outsider]) * (header + timeBytes); got == 0 || got > 3*header {
		t.Errorf("an empty datagram of %d bytes brings %d", header, got)
	}
	c.ask(insider, nil)
	c.advance(10 * time.Second)
	if got := len(c.sent[insider]); got != 10 {
		t.Errorf("who has a connection is sent %d times", got)
	}
	// Many addresses share what is for all.
	clear(c.sent)
	answers := 0
	for n := range 20_000 {
		from := netip.MustParseAddrPort(fmt.Sprintf("10.%d.%d.1:9", n>>8, n&255))
		c.ask(from, question)
		answers += len(c.sent[from])
	}
	if answers > guestTotalRate+1 {
		t.Errorf("%d answers at once", answers)
	}
}
