package main

import (
	"os"
	"strings"
	"testing"
)

const page = "# A page\n\n| T | part | count | test |\n| --- | --- | ---: | --- |\n| T1 | stamp | 1,000 | `TestOne` |\n| T2 | relay | 3 | `TestTwo` |\n"

func TestWhatFallsShortFails(t *testing.T) {
	for _, tt := range []struct {
		name, tally string
		fails       bool
	}{
		{"all is kept", "T1\tstamp\t1000\tTestOne\nT2\trelay\t4\tTestTwo\n", false},
		{"more than is promised", "T1\tstamp\t1000\tTestOne\nT2\trelay\t4\tTestTwo\nT3\trelay\t4\tTestThree\n", false},
		{"one is short", "T1\tstamp\t999\tTestOne\nT2\trelay\t4\tTestTwo\n", true},
		{"one is absent", "T2\trelay\t4\tTestTwo\n", true},
		{"one is of another part", "T1\trelay\t1000\tTestOne\nT2\trelay\t4\tTestTwo\n", true},
		{"the least of subtests counts", "T1\tstamp\t1000\tTestOne/a\nT1\tstamp\t10\tTestOne/b\nT2\trelay\t4\tTestTwo\n", true},
		{"a line that is torn", "T1\tstamp\t1000\tTestOne\nT2\trelay\t4", true},
		{"nothing was run", "", true},
	} {
		if err := check(page, tt.tally); (err != nil) != tt.fails {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if err := check("# A page\n", ""); err == nil {
		t.Error("a page that promises nothing is kept")
	}
	if err := check(page+"| T2 | relay | 3 | `TestTwo` |\n", ""); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("a row that is there twice: %v", err)
	}
}

// The page of this module can be read.
func TestThePageIsRead(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := readRows(string(text))
	if err != nil || len(rows) < 100 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}
