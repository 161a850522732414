package program

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"parley/simnet"
)

func TestImpairReadsItsNetwork(t *testing.T) {
	for _, tt := range []struct {
		name, line string
		up, down   string
	}{
		{"nothing is a perfect one", "", "perfect", "perfect"},
		{"flags", "--loss 5% --delay 25ms --jitter 5ms --duplicate 0.01 --corrupt 1%", "delay=25ms jitter=5ms loss=0.05 dup=0.01 corrupt=0.01", ""},
		{"words", "--profile delay=10ms,rate=1000", "delay=10ms rate=1000 queue=200ms", ""},
		{"a flag changes words", "--profile delay=10ms,loss=0.5 --loss 0", "delay=10ms", ""},
		{"the two ways differ", "--up delay=1ms --down delay=2ms --rate 2M", "delay=1ms rate=2000000 queue=200ms", "delay=2ms rate=2000000 queue=200ms"},
		{"reordering has a time", "--reorder 10%", "reorder=0.1/20ms", ""},
		{"rates have letters", "--rate 1.5k", "rate=1500 queue=200ms", ""},
		{"in words too", "--profile rate=400k,queue=100ms", "rate=400000 queue=100ms", ""},
		{"a flag changes the queue", "--profile rate=1.5M,queue=100ms --queue 50ms", "rate=1500000 queue=50ms", ""},
		{"there may be no queue", "--rate 1M --queue 0", "rate=1000000 queue=0s", ""},
		{"a time of reordering alone", "--profile reorder=10%/1ms --reorder-by 5ms", "reorder=0.1/5ms", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := impairLines(t, tt.line)
			want := tt.down
			if want == "" {
				want = tt.up
			}
			if got[0]["up"] != tt.up || got[0]["down"] != want {
				t.Errorf("up %q and down %q, want %q and %q", got[0]["up"], got[0]["down"], tt.up, want)
			}
			if last := got[len(got)-1]; last["state"] != "done" {
				t.Errorf("the last line is %v", last)
			}
		})
	}
}

// impairLines runs the command for a moment; a comma in line is a space in a word.
func impairLines(t *testing.T, line string) (lines []map[string]any) {
	t.Helper()
	args := []string{"impair", "--json", "--to", "127.0.0.1:9", "--for", "1ms"}
	for _, word := range strings.Fields(line) {
		args = append(args, strings.ReplaceAll(word, ",", " "))
	}
	var out, errs bytes.Buffer
	if status := ours(builtIn()...).run(args, streams{In: strings.NewReader(""), Out: &out, Err: &errs}); status != 0 {
		t.Fatalf("status %d: %s", status, errs.String())
	}
	for _, l := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		var v map[string]any
		if err := json.Unmarshal([]byte(l), &v); err != nil {
			t.Fatalf("%q: %v", l, err)
		}
		lines = append(lines, v)
	}
	return lines
}

func TestImpairSaysWhatIsWrong(t *testing.T) {
	for _, tt := range []struct{ name, line, want string }{
		{"no server", "impair", "--to is missing; give the address of the server, such as --to 127.0.0.1:7000"},
		{"a share above all", "impair --to a:1 --loss 101%", "give a share from 0 to 1, such as 0.05 or 5%"},
		{"a share that is none", "impair --to a:1 --loss some", "give a share"},
		{"a rate without a number", "impair --to a:1 --rate M", `--rate "M": give whole bits a second, such as 2000000, 400k`},
		{"an unknown letter", "impair --to a:1 --rate 5x", "give whole bits a second"},
		{"a word of a rate", "impair --to a:1 --profile rate=5x", `"rate=5x": give whole bits a second, such as 2000000, 400k`},
		{"a word without a value", "impair --to a:1 --profile delay", `"delay": give a time from 0 to 24h, such as 25ms`},
		{"a delay below 0", "impair --to a:1 --delay -1s", `--delay "-1s": give a time from 0 to 24h`},
		{"a share to reorder", "impair --to a:1 --reorder 2", `--reorder "2" and --reorder-by 20ms: give a share`},
		{"an unknown word", "impair --to a:1 --profile slow", "no such word; the words are delay=, "},
		{"a server without a port", "impair --to 127.0.0.1 --for 1ms", "missing port in address; write host:port"},
		{"a time below 0", "impair --to a:1 --for -1s", "--for is -1s and --every is 0s; give times such as 30s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			status := ours(builtIn()...).run(strings.Fields(tt.line), streams{In: strings.NewReader(""), Out: &out, Err: &errs})
			if status != exitUsage || !strings.Contains(errs.String(), tt.want) || strings.Count(errs.String(), "\n") != 1 {
				t.Errorf("status %d, %q; want one line with %q", status, errs.String(), tt.want)
			}
		})
	}
}

func TestImpairReportsForPeople(t *testing.T) {
	r := impairReport{State: "done", Clients: 3, Delayed: 2, Held: 4, Dropped: 1}
	r.Up = simnet.Stats{Sent: 10, Lost: 1, LostInBurst: 1, Delivered: 8}
	text := r.String()
	for _, want := range []string{"clients: 3, refused: 0", "up    10 in, 2 lost", "8 out", "late  nothing sent yet", "2 segments", "4 times a full queue held", "1 were dropped"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func TestImpairSaysHowItGoes(t *testing.T) {
	var out bytes.Buffer
	for _, span := range []string{"50ms", "1s", "20s"} { // longer where the machine has no time for it
		out.Reset()
		args := []string{"impair", "--to", "127.0.0.1:9", "--for", span, "--every", "5ms"}
		if status := ours(builtIn()...).run(args, streams{Out: &out, Err: &out}); status != 0 {
			t.Fatalf("status %d: %s", status, out.String())
		}
		if strings.Count(out.String(), "clients") > 1 {
			return
		}
	}
	t.Errorf("in 20 s it said only once how it goes:\n%s", out.String())
}
