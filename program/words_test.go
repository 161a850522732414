package program

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// What is logged before the server has started is kept back, and then written.
func TestHeldWords(t *testing.T) {
	r, w := io.Pipe()
	h := &heldWords{w: w}
	h.Write([]byte("one\n"))
	h.release() // it does not wait for a reader
	go func() {
		h.Write([]byte("two\n"))
		w.Close()
	}()
	got := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(r)
		got <- string(text)
	}()
	select {
	case text := <-got:
		if text != "one\ntwo\n" {
			t.Errorf("it says %q", text)
		}
	case <-time.After(time.Minute):
		t.Fatal("it says nothing")
	}
}

// A word of the program does not wait for ever for a reader.
func TestSayingToNobody(t *testing.T) {
	defer func(d time.Duration) { sayPatience = d }(sayPatience)
	sayPatience = time.Millisecond
	r, w := io.Pipe()
	if err := say(w, "hello"); err != nil {
		t.Error(err)
	}
	r.Close()
	sayPatience = time.Minute
	var out bytes.Buffer
	if err := say(&out, "hello"); err != nil || out.String() != "hello" {
		t.Errorf("%q, %v", out.String(), err)
	}
	if err := say(w, "hello"); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

// What a server says is shown in one plain line, an error too.
func TestErrorsArePlain(t *testing.T) {
	if got := sentence(errors.New("refused: \x1b[31mno\nparley: fine\u202e")); got != "refused: ·[31mno; parley: fine·" {
		t.Errorf("%q", got)
	}
	got := parley("", "decode --dialect stamp --from server 0000020005000000000000000207621b9b62c29be280ae")
	if strings.ContainsAny(got.out+got.err, "\x1b\u009b\u202e") {
		t.Errorf("%q %q", got.out, got.err)
	}
}
