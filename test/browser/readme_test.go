package browser

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"parley/internal/promise"
)

// The page of the library's README, two files in a folder, works as it is written.
func TestThePageOfTheReadme(t *testing.T) {
	promise.Keeps(t, "T77", "play page", 1)
	text, err := os.ReadFile("../../sdk/ts/README.md")
	if err != nil {
		t.Fatal(err)
	}
	dir, lines := t.TempDir(), 0
	for _, found := range regexp.MustCompile("(?s)`page/([a-z.]+)`:\n\n```[a-z]+\n(.*?)```").FindAllSubmatch(text, -1) {
		lines += strings.Count(string(found[2]), "\n")
		if err := os.WriteFile(filepath.Join(dir, string(found[1])), found[2], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if lines < 5 || lines > 14 {
		t.Fatalf("the README's page has %d lines", lines)
	}
	s := serve(t, "--play-page", dir)
	p := open(t, s.play())
	p.allow("favicon.ico", "willReadFrequently")
	p.wait(t, "(d => d.some(v => v))(c.getContext('2d').getImageData(400, 290, 40, 12).data)") // what is one's own is in the middle
	bob := s.talker(t, "bob")
	p.click(t, "#c") // it throws
	until(t, "another player sees the ball", func() bool {
		bob.mu.Lock()
		defer bob.mu.Unlock()
		return bob.ball
	})
}
