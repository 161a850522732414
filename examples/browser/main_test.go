package main

import (
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"parley/internal/patient"
)

// TestMain is the game's whole program if it is called as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		main()
	}
	os.Exit(m.Run())
}

// The page is to be read in one sitting.
func TestThePageIsSmall(t *testing.T) {
	lines := 0
	err := fs.WalkDir(os.DirFS("page"), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(os.DirFS("page"), name)
		lines += strings.Count(string(text), "\n")
		return err
	})
	if err != nil || lines == 0 || lines > 80 {
		t.Errorf("%d lines, want at most 80: %v", lines, err)
	}
}

// The program serves the game, its page, the library that the page uses, and what the library asks for first.
func TestTheServerTellsBrowsersOfTheGame(t *testing.T) {
	patient.Test(t)
	dir := t.TempDir()
	ready := filepath.Join(dir, "ready.json")
	args := []string{"serve", "--play", "127.0.0.1:0", "--play-page", "page", "--replica", "127.0.0.1:0", "--web", "off", "--data", dir, "--ready-file", ready}
	for _, d := range []string{"stamp", "relay", "duplex", "realm", "realm-time"} {
		args = append(args, "--"+d, "off")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		if err := patient.Value(done); err != nil {
			t.Error(err)
		}
	}()
	at := map[string]string{}
	patient.Until(t, "the server is ready", func() bool {
		select {
		case err := <-done:
			done <- err
			t.Fatalf("it ended: %v", err)
		default:
		}
		text, err := os.ReadFile(ready)
		return err == nil && json.Unmarshal(text, &at) == nil
	})
	var said struct {
		Game   string
		Schema struct {
			Kinds, Actions []struct {
				Name   string
				Fields []struct{ Name string }
			}
		}
	}
	get(t, at["play"], "/play/server", func(body []byte) {
		if err := json.Unmarshal(body, &said); err != nil {
			t.Fatal(err)
		}
	})
	var names []string
	for _, k := range append(said.Schema.Kinds, said.Schema.Actions...) {
		names = append(names, k.Name)
		for _, f := range k.Fields {
			names = append(names, k.Name+"."+f.Name)
		}
	}
	list := strings.Join(names, " ")
	for _, want := range []string{"ship", "ship.health", "shot", "fire", "fire.angle"} {
		if !strings.Contains(" "+list+" ", " "+want+" ") {
			t.Errorf("the server of %s tells no %s: %s", said.Game, want, list)
		}
	}
	for path, want := range map[string]string{"/": `src="ships.js"`, "/ships.js": `from "/parley.js"`, "/ships.css": "canvas", "/parley.js": "export{"} {
		get(t, at["play"], path, func(body []byte) {
			if !strings.Contains(string(body), want) {
				t.Errorf("%s has no %s", path, want)
			}
		})
	}
}

func get(t *testing.T, addr, path string, read func(body []byte)) {
	t.Helper()
	answer, err := http.Get("http://" + addr + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", path, answer.Status, err)
	}
	read(body)
}
