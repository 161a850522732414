package program

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
)

func TestDecodeOfArguments(t *testing.T) {
	for _, tt := range []struct {
		name string
		line string
		more []string
		want result
	}{{
		name: "one packet is one line of JSON",
		line: "decode --dialect toy --from client 0100076869",
		want: result{0, `{"from":"client","value":7,"text":"hi"}` + "\n", ""},
	}, {
		name: "the side reaches the codec",
		line: "decode --dialect toy --from server 010007",
		want: result{0, `{"from":"server","value":7,"text":""}` + "\n", ""},
	}, {
		name: "flags may follow the packets",
		line: "decode 010007 --from=server --dialect=toy",
		want: result{0, `{"from":"server","value":7,"text":""}` + "\n", ""},
	}, {
		name: "the first channel is the default",
		line: "decode --dialect duo --from client 010007",
		want: result{0, `{"from":"client","channel":"main","value":7,"text":""}` + "\n", ""},
	}, {
		name: "another channel by name",
		line: "decode --dialect duo --from client --channel feed 010007",
		want: result{0, `{"from":"client","channel":"feed","value":7,"text":""}` + "\n", ""},
	}, {
		name: "several packets are several lines",
		line: "decode --dialect toy --from client 010007 010008",
		want: result{0, `{"from":"client","value":7,"text":""}` + "\n" + `{"from":"client","value":8,"text":""}` + "\n", ""},
	}, {
		name: "signs of web pages are printed as they are",
		line: "decode --dialect toy --from client 0100073c26",
		want: result{0, `{"from":"client","value":7,"text":"<&"}` + "\n", ""},
	}, {
		name: "a bad packet names field and offset, with status 1",
		line: "decode --dialect toy --from client 0100",
		want: result{1, "", "parley decode: value: 2 bytes wanted at offset 1, 1 left\n"},
	}, {
		name: "an empty argument is an empty packet",
		line: "decode --dialect toy --from client",
		more: []string{""},
		want: result{1, "", "parley decode: code: 1 byte wanted at offset 0, 0 left\n"},
	}, {
		name: "a bad packet among good ones is numbered and hides none of them",
		line: "decode --dialect toy --from client 010007 02 010008",
		want: result{1, `{"from":"client","value":7,"text":""}` + "\n" + `{"from":"client","value":8,"text":""}` + "\n",
			"parley decode: packet 2: code: unknown code at offset 0\n"},
	}, {
		name: "bad hex is a bad packet",
		line: "decode --dialect toy --from client 01000",
		want: result{1, "", "parley decode: hex: byte 2 has one digit of two at column 5\n"},
	}, {
		name: "spaces inside one argument",
		line: "decode --dialect toy --from client",
		more: []string{"0x01 00 07"},
		want: result{0, `{"from":"client","value":7,"text":""}` + "\n", ""},
	}} {
		t.Run(tt.name, func(t *testing.T) {
			// Standard input must not be touched when there are arguments.
			got := runWith(toys, iotest.ErrReader(errors.New("read")), append(strings.Fields(tt.line), tt.more...))
			got.want(t, tt.want)
		})
	}
}

func TestDecodeOfLines(t *testing.T) {
	const seven = `{"from":"client","value":7,"text":""}` + "\n"
	for _, tt := range []struct {
		name, stdin, out string
	}{
		{"nothing gives nothing", "", ""},
		{"a line a packet", "010007\n010007\n", seven + seven},
		{"the last line needs no end", "010007\n010007", seven + seven},
		{"line ends of Windows", "010007\r\n010007\r\n", seven + seven},
		{"upper case", "01000A\n", `{"from":"client","value":10,"text":""}` + "\n"},
		{"blanks and 0x", " 0x01 00\t07 \n", seven},
		{"a bad line is answered in its place and reading goes on", "010007\n02\n010007\n",
			seven + `{"error":"code: unknown code at offset 0"}` + "\n" + seven},
		{"an empty line is an empty packet", "010007\n\n010007\n",
			seven + `{"error":"code: 1 byte wanted at offset 0, 0 left"}` + "\n" + seven},
		{"a line of blanks is an empty packet", "  \n", `{"error":"code: 1 byte wanted at offset 0, 0 left"}` + "\n"},
		{"one digit is left over", "01000\n", `{"error":"hex: byte 2 has one digit of two at column 5"}` + "\n"},
		{"not hex", "01zz07\n", `{"error":"hex: 'z' is not a hex digit at column 3"}` + "\n"},
		{"a carriage return inside a line", "01\r0007\n", `{"error":"hex: '\\r' is not a hex digit at column 3"}` + "\n"},
		{"a line over the limit", strings.Repeat("0", maxLineBytes+1) + "\n010007\n",
			`{"error":"the line is longer than 4194304 bytes"}` + "\n" + seven},
		{"a line over the limit without an end", strings.Repeat("0", maxLineBytes+1),
			`{"error":"the line is longer than 4194304 bytes"}` + "\n"},
		{"a line of just the limit reaches the codec", strings.Repeat("0", maxLineBytes) + "\r\n010007\n",
			`{"error":"code: unknown code at offset 0"}` + "\n" + seven},
	} {
		t.Run(tt.name, func(t *testing.T) {
			parley(tt.stdin, "decode --dialect toy --from client").want(t, result{0, tt.out, ""})
		})
	}
}

func TestEncode(t *testing.T) {
	for _, tt := range []struct {
		name, line, stdin string
		more              []string
		want              result
	}{{
		name:  "a line of JSON is a line of hex",
		line:  "encode --dialect toy --from client",
		stdin: `{"from":"client","value":7,"text":"hi"}` + "\n" + ` { "from" : "client" } ` + "\r\n",
		want:  result{0, "0100076869\n010000\n", ""},
	}, {
		name:  "the channel reaches the codec",
		line:  "encode --dialect duo --from server --channel feed",
		stdin: `{"from":"server","channel":"feed"}`,
		want:  result{0, "010000\n", ""},
	}, {
		name:  "a bad line is answered in its place and reading goes on",
		line:  "encode --dialect toy --from client",
		stdin: "{\"from\":\n\n7\n{\"from\":\"server\"}\n{\"from\":\"client\"} {}\n{\"from\":\"client\"}\n",
		want: result{0, `{"error":"json: unexpected end of JSON input at offset 8"}` + "\n" +
			`{"error":"json: unexpected end of JSON input at offset 0"}` + "\n" +
			`{"error":"json: a packet is an object in braces, and this is another value at offset 0"}` + "\n" +
			`{"error":"from: the packet is of server, the route of client"}` + "\n" +
			`{"error":"json: invalid character '{' after top-level value at offset 19"}` + "\n" +
			"010000\n", ""},
	}, {
		name: "arguments are objects too",
		line: "encode --dialect toy --from client",
		more: []string{`{"from":"client"}`, `[]`},
		want: result{1, "010000\n", "parley encode: packet 2: json: a packet is an object in braces, and this is another value at offset 0\n"},
	}} {
		t.Run(tt.name, func(t *testing.T) {
			parley(tt.stdin, tt.line, tt.more...).want(t, tt.want)
		})
	}
}

func TestWhatDecodePrintsEncodeTakes(t *testing.T) {
	const packets = "010000\n01ffff\n0100077465787420c3a9\n"
	for _, route := range []string{"--dialect toy --from client", "--dialect duo --from server --channel feed"} {
		decoded := parley(packets, "decode "+route)
		parley(decoded.out, "encode "+route).want(t, result{0, packets, ""})
	}
}

// A program may keep decode running and talk to it line by line: each answer
// must come before the next line is written, even when part of that line is
// there already. The bubble makes an answer that never comes a deadlock that
// is found at once.
func TestLinesAreAnsweredAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, toParley := io.Pipe()
		fromParley, out := io.Pipe()
		status := make(chan int, 1)
		go func() {
			status <- ours(toys...).run([]string{"decode", "--dialect", "toy", "--from", "client"}, streams{in, out, io.Discard})
			out.Close()
		}()
		answers := bufio.NewReader(fromParley)
		part := ""
		for i := range 3 {
			packet := fmt.Sprintf("01000%d\n", i)
			fmt.Fprint(toParley, packet[len(part):]+"01")
			part = "01"
			got, err := answers.ReadString('\n')
			want := fmt.Sprintf(`{"from":"client","value":%d,"text":""}`+"\n", i)
			if got != want || err != nil {
				t.Errorf("got %q, %v; want %q", got, err, want)
			}
		}
		toParley.CloseWithError(errors.New("cable pulled"))
		if _, err := io.Copy(io.Discard, answers); err != nil {
			t.Error(err)
		}
		if got := <-status; got != exitFailed {
			t.Errorf("status after a read error is %d, want %d", got, exitFailed)
		}
	})
}

func TestReadErrorKeepsWhatWasAnswered(t *testing.T) {
	in := io.MultiReader(strings.NewReader("010007\n0100"), iotest.ErrReader(errors.New("disk on fire")))
	got := runWith(toys, in, []string{"decode", "--dialect", "toy", "--from", "client"})
	got.want(t, result{1, `{"from":"client","value":7,"text":""}` + "\n", "parley: cannot read standard input: disk on fire\n"})
}

// brokenWriter fails after some bytes, as a full disk does.
type brokenWriter struct{ left int }

func (w *brokenWriter) Write(p []byte) (int, error) {
	if len(p) > w.left {
		return 0, errors.New("disk full")
	}
	w.left -= len(p)
	return len(p), nil
}

// endless gives the same line for ever: only a write error can end it.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	const line = "010007\n"
	n := 0
	for len(p)-n >= len(line) {
		n += copy(p[n:], line)
	}
	return n, nil
}

func TestWriteErrorEndsTheCommandWithOneSentence(t *testing.T) {
	for _, line := range []string{
		"decode --dialect toy --from client",
		"decode --dialect toy --from client 010007 010007 010007",
		"encode --dialect toy --from client",
		"version", "version --json", "help", "help decode", "completion bash", "",
	} {
		t.Run(line, func(t *testing.T) {
			var errOut strings.Builder
			got := ours(toys...).run(strings.Fields(line), streams{endless{}, &brokenWriter{left: 20}, &errOut})
			if got != exitFailed || errOut.String() != "parley: cannot write the output: disk full\n" {
				t.Errorf("status %d, standard error %q", got, errOut.String())
			}
		})
	}
}

// However broken the input, each line has one answer.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{"", "\n", "010007\n02", "\r\n\r\r\n", "0x\n 0 1\n", "{\"from\":\"client\"}\n{}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, stdin string) {
		lines := strings.Count(stdin, "\n")
		if stdin != "" && !strings.HasSuffix(stdin, "\n") {
			lines++
		}
		for _, command := range []string{"decode", "encode"} {
			got := parley(stdin, command+" --dialect toy --from client")
			if got.status != exitOK || got.err != "" || strings.Count(got.out, "\n") != lines {
				t.Errorf("%s of %q: %d lines wanted, got %+v", command, stdin, lines, got)
			}
		}
	})
}
