package program

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/world"
)

// files returns the names and contents of a folder.
func files(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		text, _ := os.ReadFile(filepath.Join(dir, e.Name()))
		if isRecording(filepath.Join(dir, e.Name())) {
			text = []byte("recording of " + fmt.Sprint(len(text)))
		}
		fmt.Fprintf(&b, "%s: %s\n", e.Name(), text)
	}
	return b.String()
}

// Whatever the operator names, nothing is written over that the operator was not told of.
func TestARecordingIsNotWrittenOver(t *testing.T) {
	recording := string(record(t, func(*world.Game) {}))
	half := recording[:20] // of a server that was killed at once
	for _, tt := range []struct {
		name    string
		before  map[string]string
		over    bool
		started bool
		want    string // the files afterwards, or the error
	}{
		{"a new file", nil, false, true, "game.rec: new\n"},
		{"a new file, and the server does not start", nil, false, false, "game.rec: new\n"},
		{"an empty file", map[string]string{"game.rec": ""}, false, true, "game.rec: new\n"},
		{"a recording is kept", map[string]string{"game.rec": recording}, false, true, "game.rec: new\ngame.rec.1: recording of %d\n"},
		{"so are those before it", map[string]string{"game.rec": recording, "game.rec.1": "one", "game.rec.2": "two"}, false, true,
			"game.rec: new\ngame.rec.1: one\ngame.rec.2: two\ngame.rec.3: recording of %d\n"},
		{"one that was cut off is kept too", map[string]string{"game.rec": half}, false, true, "game.rec: new\ngame.rec.1: recording of 20\n"},
		{"a server that does not start leaves all as it was", map[string]string{"game.rec": recording, "game.rec.1": "one"}, false, false,
			"game.rec: recording of %d\ngame.rec.1: one\n"},
		{"another file is refused", map[string]string{"game.rec": "my notes"}, false, true, "game.rec exists and is no recording; name another file, or give --record-over"},
		{"unless the operator says so", map[string]string{"game.rec": "my notes"}, true, true, "game.rec: new\n"},
		{"a recording is written over if the operator says so", map[string]string{"game.rec": recording, "game.rec.1": "one"}, true, true, "game.rec: new\ngame.rec.1: one\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range tt.before {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			before := files(t, dir)
			file, closeFile, err := openRecording(filepath.Join(dir, "game.rec"), tt.over)
			if err != nil {
				if !strings.Contains(err.Error(), tt.want) || files(t, dir) != before {
					t.Errorf("the error is %v, and the files are\n%s", err, files(t, dir))
				}
				return
			}
			file.WriteString("new")
			closeFile(tt.started)
			if got, want := files(t, dir), strings.ReplaceAll(tt.want, "%d", fmt.Sprint(len(recording))); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// A server that is started again and again does not fill the folder.
func TestRecordingsHaveABound(t *testing.T) {
	name := filepath.Join(t.TempDir(), "game.rec")
	for i := range mostRecordings + 2 {
		file, closeFile, err := openRecording(name, false)
		if err != nil {
			if i != mostRecordings+1 || !strings.Contains(err.Error(), "99 earlier recordings exist; move them away") {
				t.Fatalf("at start %d: %v", i+1, err)
			}
			return
		}
		file.WriteString("parleyW\n\x02\x00")
		closeFile(true)
	}
	t.Error("there is no bound")
}
