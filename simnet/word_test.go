package simnet

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestWordsAreRead(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Profile
	}{
		{"rate=2000000", Profile{Rate: 2_000_000}},
		{"rate=400k", Profile{Rate: 400_000}},
		{"rate=400K", Profile{Rate: 400_000}},
		{"rate=1.5M", Profile{Rate: 1_500_000}},
		{"rate=1.50m", Profile{Rate: 1_500_000}},
		{"rate=4.35k", Profile{Rate: 4_350}},
		{"rate=1G", Profile{Rate: 1_000_000_000}},
		{"rate=0", Profile{}},
		{"loss=5%", Profile{Loss: 0.05}},
		{"loss=0.05", Profile{Loss: 0.05}},
		{"dup=1% corrupt=100%", Profile{Duplicate: 0.01, Corrupt: 1}},
		{"reorder=1%/20ms", Profile{Reorder: 0.01, ReorderBy: 20 * time.Millisecond}},
		{"burst=1%/0.3/0/100%", Profile{Burst: &Gilbert{GoodToBad: 0.01, BadToGood: 0.3, LossBad: 1}}},
		{"delay=25ms jitter=0 inorder", Profile{Delay: 25 * time.Millisecond, KeepOrder: true}},
		{"queue=200ms mtu=1200", Profile{Queue: 200 * time.Millisecond, MTU: 1200}},
		{"queue=0", Profile{Queue: -1}},
	} {
		got, err := ParseProfile(tt.text)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %+v, %v; want %+v", tt.text, got, err, tt.want)
		}
		if again, err := ParseProfile(got.String()); err != nil || !reflect.DeepEqual(again, tt.want) {
			t.Errorf("%s, written as %s: got %+v, %v", tt.text, got, again, err)
		}
	}
}

// An error about a word says what may stand there, with an example, and nothing of the functions that read it.
func TestAnErrorAboutAWordSaysWhatMayStandThere(t *testing.T) {
	const (
		span  = "give a time from 0 to 24h, such as 25ms"
		share = "give a share from 0 to 1, such as 0.05 or 5%"
		rate  = "give whole bits a second, such as 2000000, 400k, 1.5M"
		queue = "give the longest wait, such as 200ms; 0 is no queue"
		held  = "such as 0.01/20ms"
		four  = "give four shares"
		bytes = "give a number of bytes, such as 1200"
	)
	for word, want := range map[string]string{
		"delay": span, "delay=": span, "delay=25": span, "delay=-1ms": span, "delay=25h": span, "jitter=x": span,
		"loss": share, "loss=2": share, "loss=101%": share, "loss=-1%": share, "loss=%": share, "loss=NaN": share, "dup=x": share, "corrupt=": share,
		"rate": rate, "rate=": rate, "rate=k": rate, "rate=.5M": rate, "rate=x": rate, "rate=4x": rate, "rate=1kk": rate, "rate=1.5": rate, "rate=1.0005k": rate,
		"rate=-1": rate, "rate=+1": rate, "rate=-1.5k": rate, "rate=1.-5k": rate, "rate=1e6": rate, "rate=1_0k": rate, "rate=99999999999G": rate,
		"queue": queue, "queue=200": queue, "queue=25h": queue, "queue=-1ms": queue,
		"reorder": held, "reorder=0.1": held, "reorder=0.1/": held, "reorder=x/1ms": held, "reorder=/1ms": held,
		"burst": four, "burst=1": four, "burst=0/0/0/0/0": four, "burst=0/0/0/x": four, "burst=0/0/0/2": four,
		"mtu": bytes, "mtu=-1": bytes, "mtu=1k": bytes,
		"inorder=yes": "inorder is a word without a value", "slow": "no such word; the words are delay=", "": "no such word",
	} {
		_, err := ParseProfile("loss=0.1 " + word)
		if word == "" {
			err = new(Profile).Set("", "")
		}
		if err == nil || !strings.Contains(err.Error(), want) || word != "" && !strings.Contains(err.Error(), `"`+word+`"`) {
			t.Errorf("%q: %v; want the word and %q", word, err, want)
			continue
		}
		for _, raw := range []string{"strconv", "invalid", "time:", "parsing"} {
			if strings.Contains(err.Error(), raw) {
				t.Errorf("%q: %v", word, err)
			}
		}
	}
}

func TestAnErrorAboutALineOfAPlanSaysWhatMayStandThere(t *testing.T) {
	for line, want := range map[string]string{
		"seed x":          `seed "x": give a whole number`,
		"calm x":          `calm "x": give a time`,
		"at x crash a":    `at "x": give a time`,
		"skew a x":        `"x": give millionths`,
		"shift a x":       `"x": give a time, such as 1s or -1s`,
		"link a>b rate=x": `"rate=x": give whole bits a second`,
	} {
		_, err := ParsePlan(line)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "strconv") || strings.Contains(err.Error(), "invalid") {
			t.Errorf("%q: %v; want %q", line, err, want)
		}
	}
}

// FuzzParseProfile: whatever is read is valid and is written in a way that reads the same.
func FuzzParseProfile(f *testing.F) {
	for _, text := range []string{
		"", "bad rate=400k queue=200ms", "rate=1.5M queue=0", "queue=-7ns", "loss=5% dup=0.1% corrupt=1e-3 reorder=1%/20ms",
		"burst=1%/0.3/0/1 mtu=1200 inorder", "delay=1h2m3.000000004s jitter=1ns", "rate=0.001k", "rate=.k",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseProfile(text)
		if err != nil {
			return
		}
		if err := p.Validate(); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		again, err := ParseProfile(p.String())
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Fatalf("%q was written as %q and read as %+v, %v; want %+v", text, p, again, err, p)
		}
	})
}
