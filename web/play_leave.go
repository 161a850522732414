package web

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/netip"
)

// leave answers /play/leave, with which a page whose tab is closed says goodbye: the browser sends it when the connection is gone. The body is the token of the
// session in hex. What is sent says nothing about who has which token: the answer is always the same, and comes at once.
func (p *play) leave(_ http.ResponseWriter, r *http.Request, _ netip.Addr) (int, any, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 2*sessionBytes+1))
	var token [sessionBytes]byte
	if n := 0; err == nil && len(body) == 2*sessionBytes {
		if n, err = hex.Decode(token[:], body); err == nil && n == sessionBytes {
			p.Lobby.Depart(token)
		}
	}
	return http.StatusNoContent, nil, nil
}

// sessionBytes is the size of a session's token.
const sessionBytes = 16
