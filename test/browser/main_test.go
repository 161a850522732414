package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

const (
	patience = 30 * time.Second      // for what must come; it is no measure
	turn     = 30 * time.Millisecond // between two looks at a page
	chromium = "/usr/bin/chromium"
)

var (
	program string          // the built parley
	chrome  context.Context // the browser
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "parley-browser-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove(dir)
	program = filepath.Join(dir, "parley")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, "./cmd/parley")
	build.Dir = filepath.Join("..", "..") // in its own module, so that it is the program that users build
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building parley: %v\n%s", err, out)
		return 1
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true), chromedp.UserDataDir(filepath.Join(dir, "profile")), chromedp.WindowSize(1000, 700),
		// A hidden tab is slowed down, as it is for people.
		chromedp.Flag("disable-background-timer-throttling", false), chromedp.Flag("disable-renderer-backgrounding", false))
	all, free := chromedp.NewExecAllocator(context.Background(), options...)
	defer free()
	var stop context.CancelFunc
	chrome, stop = chromedp.NewContext(all, chromedp.WithErrorf(func(string, ...any) {}))
	defer stop()
	if err := chromedp.Do(chrome); err != nil {
		fmt.Fprintln(os.Stderr, "chromium does not start:", err)
		return 1
	}
	return m.Run()
}

// remove takes a folder away, in which processes of a browser that has ended may still write.
func remove(dir string) {
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for range 50 {
		if os.RemoveAll(dir) == nil {
			return
		}
		<-again.C
	}
}
