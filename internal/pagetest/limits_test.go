package pagetest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// asked is a call with the row written out.
var asked = regexp.MustCompile(`(?:pagetest\.Limit|pagetest\.Reaches|kit\.Held)\(\w+, "([^"]+)", "([^"]+)"`)

// Every row with a figure is asked for by a test.
func TestEveryLimitIsTested(t *testing.T) {
	root := Root(t)
	tested := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // of another program, which has removed it meanwhile
			return nil
		}
		if err == nil && d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range asked.FindAllStringSubmatch(string(text), -1) {
			tested[m[1]+", "+m[2]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range Tables(t, filepath.Join(root, limitsPage))[limitsHeading] {
		name := row["dialect"] + ", " + row["state"]
		switch {
		case row["worst bytes"] == "–":
			t.Logf("%s: no test yet", name)
		case !tested[name]:
			t.Errorf("%s: no test asks for this row", name)
		}
	}
}

func TestHeapCountsWhatIsKept(t *testing.T) {
	before := Heap()
	kept := make([]byte, 1<<20)
	kept[1] = 1
	if got := Heap() - before; got < 1<<20-1<<16 || got > 1<<20+1<<16 {
		t.Errorf("1 MiB is %d bytes", got)
	}
	if kept[1] != 1 {
		t.Error("it has changed")
	}
}
