package main

import (
	"os"
	"strings"
	"testing"
)

// docs/scale.md has what the program computes of the costs beside it.
func TestThePageHasTheTables(t *testing.T) {
	c, err := loadCosts("../../docs/scale.json")
	if err != nil {
		t.Fatal(err)
	}
	want, err := tables(&c, assumed)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(strings.TrimSpace(want), "\n\n") {
		if !strings.Contains(string(page), part+"\n") {
			t.Errorf("docs/scale.md does not have this: run `cd bench && go run ./scale` and put it in\n%s", part)
		}
	}
}

// The measuring itself, as small as it goes: what it takes is not looked at.
func TestWhatIsMeasuredIsThere(t *testing.T) {
	d, err := measureDatagram()
	if err != nil {
		t.Fatal(err)
	}
	if d.SendNS <= 0 || d.Receive <= 0 {
		t.Errorf("a datagram: %+v", d)
	}
	w, err := measureWorld(kind{name: "8", perRoom: 8, sight: -1})
	if err != nil {
		t.Fatal(err)
	}
	if w.StepNS <= 0 || w.SightNS <= 0 || w.ViewNS <= 0 || w.SealNS <= 0 || w.EntryBytes == 0 || w.StateBytes == 0 || w.Changes == 0 {
		t.Errorf("a world: %+v", w)
	}
}
