package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// .ci/release in a repository of its own, with a program that is built in no time. It names the binary after the tag,
// and refuses what it could not name.
func TestRelease(t *testing.T) {
	for _, tool := range []string{"git", "bash"} {
		if _, err := exec.LookPath(tool); err != nil || runtime.GOOS == "windows" {
			t.Skipf("a release is made with bash and git, and %s is not here", tool)
		}
	}
	dir := t.TempDir()
	script, err := os.ReadFile("../../.ci/release")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		".ci/release":        string(script),
		".gitignore":         "/dist/\n",
		"go.mod":             "module parley\n\ngo 1.26\n",
		"cmd/parley/main.go": "package main\n\nfunc main() {}\n",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, args ...string) (string, error) {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(line string) bool { return strings.HasPrefix(line, "GIT_") }),
			"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	git := func(args ...string) {
		t.Helper()
		if out, err := run("git", append([]string{"-c", "user.name=test", "-c", "user.email=test"}, args...)...); err != nil {
			t.Fatalf("git %s: %v: %s", args, err, out)
		}
	}
	target := runtime.GOOS + "/" + runtime.GOARCH
	refused := func(want string) {
		t.Helper()
		if out, err := run("bash", ".ci/release", target); err == nil || !strings.Contains(out, want) {
			t.Errorf("%v: %s, want %q", err, out, want)
		}
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "one")
	refused("this commit has no tag")
	git("tag", "v1.2")
	refused("the tag v1.2 is no version")
	git("tag", "-d", "v1.2")
	git("tag", "v1.2.3")
	if err := os.WriteFile(filepath.Join(dir, "new.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	refused("the checkout has changes that the tag v1.2.3 does not have")
	os.Remove(filepath.Join(dir, "new.txt"))
	if out, err := run("bash", ".ci/release", target); err != nil {
		t.Fatalf("%v: %s", err, out) // it also says so if the binary has another version
	}
	name := fmt.Sprintf("parley_v1.2.3_%s_%s", runtime.GOOS, runtime.GOARCH)
	built, err := os.ReadFile(filepath.Join(dir, "dist", name))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(dir, "dist", "SHA256SUMS"))
	if want := fmt.Sprintf("%x  %s\n", sha256.Sum256(built), name); err != nil || string(sums) != want {
		t.Errorf("the checksums are %q, %v, want %q", sums, err, want)
	}
}
