package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sampleReport is a run of two rounds in which the second was twice as slow for all.
func sampleReport() *Report {
	r := &Report{Rounds: 2}
	for round, slow := range []float64{1, 2} {
		add := func(work, kase, peer string, figures map[string]float64) {
			for name := range figures {
				figures[name] *= slow
			}
			r.add(Sample{Work: work, Case: kase, Peer: peer, Round: round + 1, Figures: figures})
		}
		add("W1", "0%", "replica ordered", map[string]float64{"p99": 60, "bytes": 80, "datagrams": 3})
		add("W1", "5%", "replica ordered", map[string]float64{"p99": 66, "bytes": 160, "datagrams": 3})
		add("W4", "60 Hz", "colyseus", map[string]float64{"cpu": 40, "each": 40, "bytes": 12})
		add("W4", "60 Hz", "replica entities", map[string]float64{"cpu": 10, "each": 10, "bytes": 6})
		add("W2", "64 bytes", "tcp", map[string]float64{"rate": 300_000, "cpu": 5})
		add("W2", "64 bytes", "enet", map[string]float64{"rate": 500_000, "cpu": 1})
		add("W2", "64 bytes", "replica ordered", map[string]float64{"rate": 600_000, "cpu": 2})
	}
	r.add(Sample{Work: "W2", Case: "64 bytes", Peer: "x/net/quic", Round: 1, Error: "it is gone"})
	r.settle()
	return r
}

func TestRowsAreInTheOrderOfWorksAndPeers(t *testing.T) {
	var got []string
	for _, row := range sampleReport().Rows {
		got = append(got, row.Work+" "+row.Peer)
	}
	want := []string{"W1 replica ordered", "W1 replica ordered", "W2 replica ordered", "W2 tcp", "W2 x/net/quic", "W2 enet", "W4 replica entities", "W4 colyseus"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What slows a whole round down does not change a ratio.
func TestRatiosAreOfOneRound(t *testing.T) {
	r := sampleReport()
	other, own := r.row("W4", "60 Hz", "colyseus"), r.row("W4", "60 Hz", "replica entities")
	if got, ok := r.ratio("cpu", other, own); !ok || got != (Spread{4, 4, 4, 2}) {
		t.Errorf("got %v, %v, want 4", got, ok)
	}
	if _, ok := r.ratio("cpu", other, r.row("W2", "64 bytes", "x/net/quic")); ok {
		t.Error("a peer that failed has a ratio")
	}
}

func TestBarsAreMetOrMissed(t *testing.T) {
	for _, tt := range []struct {
		asks string
		met  bool
		by   float64
	}{
		{"replica ordered: messages a second", false, -10},
		{"replica ordered: messages a second by those of tcp", true, 100},
		{"replica ordered: messages a second by those of enet", false, -20},
		{"replica ordered: CPU a million by that of enet", false, -100},
		{"replica ordered: datagrams at 5% by datagrams at 0%", true, 100 * .3 / 1.3},
		{"replica ordered: bytes at 5% by bytes at 0%", false, -100 * .2 / 1.8},
		{"replica entities, 60 Hz: server CPU of colyseus by ours", true, 100.0 / 3},
		{"replica entities, 60 Hz: bytes an object-tick", true, 25},
	} {
		bars := sampleReport().Bars
		i := slices.IndexFunc(bars, func(b Bar) bool { return b.Asks == tt.asks })
		if i < 0 {
			t.Errorf("there is no bar %q", tt.asks)
			continue
		}
		if b := bars[i]; b.Met != tt.met || math.Abs(b.byHow()-tt.by) > .01 {
			t.Errorf("%s: met %v by %v, want %v by %v", tt.asks, b.Met, b.byHow(), tt.met, tt.by)
		}
	}
}

func TestTheTableHasMediansSpreadAndFailures(t *testing.T) {
	var out strings.Builder
	writeTable(&out, sampleReport(), rushWork)
	want := `
W2: one connection, reliable ordered messages of 64 bytes as fast as they go

| case     | peer            |     messages/s | CPU-s/million | of it server | kernel % | delivered % |
| -------- | --------------- | -------------: | ------------: | -----------: | -------: | ----------: |
| 64 bytes | replica ordered | 900000 ±300000 |    3.00 ±1.00 |              |          |             |
| 64 bytes | tcp             | 450000 ±150000 |    7.50 ±2.50 |              |          |             |
| 64 bytes | x/net/quic      | failed: it is gone |               |              |          |             |
| 64 bytes | enet            | 750000 ±250000 |    1.50 ±0.50 |              |          |             |
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestJSONHasEverything(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run.json")
	if err := sampleReport().save(name); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		Rounds  int
		Machine map[string]any
		Rows    []struct {
			Work, Case, Peer string
			Figures          map[string]struct{ Median, Least, Most float64 }
			Errors           []string
		}
		Samples []struct {
			Round   int
			Figures map[string]float64
		}
		Bars []struct {
			Asks    string
			Met     bool
			AtLeast bool `json:"at_least"`
		}
	}
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if back.Rounds != 2 || back.Machine == nil || len(back.Rows) != 8 || len(back.Samples) != 15 || len(back.Bars) == 0 {
		t.Fatalf("got %+v", back)
	}
	if x := back.Rows[2].Figures["rate"]; x.Median != 900_000 || x.Least != 600_000 || x.Most != 1_200_000 {
		t.Errorf("the third row has %+v", x)
	}
	if got := back.Rows[4].Errors; len(got) != 1 || got[0] != "it is gone" {
		t.Errorf("the third row has errors %q", got)
	}
}

// Two runs, of different works, can be shown as one.
func TestEarlierRunsAreShownTogether(t *testing.T) {
	dir := t.TempDir()
	first, second := sampleReport(), sampleReport()
	first.Samples = slices.DeleteFunc(first.Samples, func(s Sample) bool { return s.Work == "W4" })
	second.Samples = slices.DeleteFunc(second.Samples, func(s Sample) bool { return s.Work == "W2" })
	names := []string{filepath.Join(dir, "a.json"), filepath.Join(dir, "b.json")}
	for i, r := range []*Report{first, second} {
		if err := r.save(names[i]); err != nil {
			t.Fatal(err)
		}
	}
	o, err := parseOptions([]string{"-from", strings.Join(names, ","), "-work", "W2,W4"})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := o.run(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| 900000 ±300000 |", "| replica entities |", "| MISSED |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	twice, err := loadReports([]string{names[0], names[0]})
	if err != nil {
		t.Fatal(err)
	}
	if got := twice.row("W2", "64 bytes", "replica ordered").Figures["rate"].Rounds; got != 4 || twice.Rounds != 4 {
		t.Errorf("a run of two rounds, twice, has %d rounds of a figure and %d in all", got, twice.Rounds)
	}
	if err := os.WriteFile(names[0], []byte(`{"samples":[{"work":"W9"}]}`), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := o.run(&out); err == nil {
		t.Error("a run of a work that there is not was taken")
	}
}

func TestPlotsAreDrawnOfWhatThereIs(t *testing.T) {
	dir := t.TempDir()
	if err := writePlots(dir, sampleReport()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.png"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, filepath.Base(f))
	}
	if want := []string{"W1-p99.png", "W2-rate.png", "W4-bytes.png", "W4-cpu.png"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}
