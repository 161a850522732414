package web

import (
	"strings"
	"testing"
)

// Whatever a page sends when it is closed, the answer is the same, and only a token is passed on.
func TestAPageSaysGoodbye(t *testing.T) {
	x := newPlayTest(t, PlayConfig{})
	token := "000102030405060708090a0b0c0d0e0f"
	for _, body := range []string{"", token, token + "00", token[1:], strings.Repeat("zz", 16), strings.Repeat("0", 1<<20)} {
		w := x.call("POST", "/play/leave", "198.51.100.1:5", body)
		if w.Code != 204 || w.Body.Len() != 0 {
			t.Errorf("%.40q: status %d, %q", body, w.Code, w.Body)
		}
	}
	if len(x.lobby.gone) != 1 || x.lobby.gone[0] != [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15} {
		t.Errorf("who has departed: %x", x.lobby.gone)
	}
	x.want(x.call("POST", "/play/leave", "198.51.100.1:5", token, "Origin: https://evil.example"), 403, "")
	x.want(x.call("GET", "/play/leave", "198.51.100.1:5", ""), 405, "")
	if len(x.lobby.gone) != 1 {
		t.Error("a page of another site has had somebody depart")
	}
}
