package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

//go:embed colyseus/*.mjs colyseus/package.json
var colyseusFiles embed.FS

var colyseusPeers = []Peer{{
	Name: "colyseus", Settings: "float32 x and y in an ArraySchema, broadcastPatch in each tick, ws-transport; W5: a StateView a player, of those in its sight", Only: true, Room: &Room{}, Feel: "colyseus", Narrow: "colyseus", TCP: true,
	Missing: func() string {
		if _, err := colyseusFolder(); err != nil {
			return err.Error()
		}
		return ""
	},
	Version: colyseusVersion,
	Program: func(role string) (*exec.Cmd, error) {
		dir, err := colyseusFolder()
		file := map[string]string{
			"room": "server.mjs", "room clients": "clients.mjs", "narrow server": "narrow_server.mjs", "narrow player": "narrow_player.mjs",
			"feel server": "feel_server.mjs", "feel players": "feel_player.mjs",
		}[role]
		cmd := exec.Command("node", filepath.Join(dir, file))
		cmd.Env = append(os.Environ(), "NODE_ENV=production")
		return cmd, err
	},
}}

// colyseusFolder has its packages installed, once.
var colyseusFolder = sync.OnceValues(func() (string, error) {
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return "", fmt.Errorf("there is no %s", program)
		}
	}
	dir, err := unpack(colyseusFiles, "colyseus")
	if err != nil {
		return "", err
	}
	done := filepath.Join(dir, "installed")
	if _, err := os.Stat(done); err == nil {
		return dir, nil
	}
	install := exec.Command("npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel", "error")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return "", fmt.Errorf("npm cannot install it: %s", first)
	}
	return dir, os.WriteFile(done, nil, 0o666)
})

// colyseusVersion says which packages are installed.
func colyseusVersion() string {
	var p struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	text, err := colyseusFiles.ReadFile("colyseus/package.json")
	if err != nil || json.Unmarshal(text, &p) != nil {
		return ""
	}
	node, _ := exec.Command("node", "--version").Output()
	return fmt.Sprintf("%s (ws-transport %s, schema %s, node %s)", p.Dependencies["@colyseus/core"], p.Dependencies["@colyseus/ws-transport"],
		p.Dependencies["@colyseus/schema"], strings.TrimSpace(string(node)))
}
