package main

import (
	"encoding/json"
	"errors"
	"testing"
)

// Between two requests clients live on, and what went wrong then is told with the next answer.
func TestAChildIsIdleUntilItIsAsked(t *testing.T) {
	wrong := errors.New("client 3: the server removed it")
	for _, tt := range []struct {
		name  string
		give  error // of the third time
		times int
		want  error
	}{
		{"it lives on until a request comes", nil, 5, nil},
		{"it has nothing to do", errNothing, 3, nil},
		{"something goes wrong", wrong, 3, wrong},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines, times, failed := make(chan []byte, 1), 0, error(nil)
			rest := func(json.RawMessage) (any, error) {
				if times++; times == tt.times {
					lines <- []byte("asked")
				}
				if times == 3 {
					return nil, tt.give
				}
				return nil, nil
			}
			line, ok := nextRequest(lines, rest, &failed)
			if string(line) != "asked" || !ok || times != tt.times || failed != tt.want {
				t.Errorf("%q, %t after %d times, with %v", line, ok, times, failed)
			}
		})
	}
	lines := make(chan []byte)
	close(lines)
	if _, ok := nextRequest(lines, nil, new(error)); ok {
		t.Error("there is a request where there is none")
	}
}
