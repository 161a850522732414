package main

import (
	"embed"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

//go:embed enet/*.c enet/*.h
var enetFiles embed.FS

var enetPeers = []Peer{
	enetPeer("enet", "reliable packets on one channel", true),
	enetChannels(),
	enetPacked(),
	enetPeer("enet unreliable", "unreliable, sequenced packets, never throttled", false),
}

// enetChannels is for messages that need no order among all of them.
func enetChannels() Peer {
	p := enetPeer("enet channels", "reliable packets on 64 channels in turn", true)
	p.Ordered, p.Crowd = false, false
	return p
}

// enetPacked is for a sender that has many messages at once.
func enetPacked() Peer {
	p := enetPeer("enet packed", "reliable packets on one channel, each with as many messages as a datagram holds", true)
	p.Crowd, p.Gather = false, 1344 // of a datagram of 1,392 bytes, in messages of 64
	return p
}

// enetPeer is a small program in C: its CPU time is not that of calls between languages.
func enetPeer(name, settings string, reliable bool) Peer {
	return Peer{
		Name: name, Settings: settings, Reliable: reliable, Ordered: reliable, Crowd: true,
		Missing: func() string {
			if _, err := enetProgram(); err != nil {
				return err.Error()
			}
			return ""
		},
		Version: func() string {
			program, err := enetProgram()
			if err != nil {
				return ""
			}
			text, err := exec.Command(program, "version").Output()
			if err != nil {
				return ""
			}
			return strings.TrimSpace(string(text))
		},
		Program: func(string) (*exec.Cmd, error) {
			program, err := enetProgram()
			return exec.Command(program), err
		},
	}
}

// enetProgram compiles it, once.
var enetProgram = sync.OnceValues(func() (string, error) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		return "", fmt.Errorf("there is no C compiler")
	}
	dir, err := unpack(enetFiles, "enet")
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "peer")
	sources, err := filepath.Glob(filepath.Join(dir, "*.c"))
	if err != nil {
		return "", err
	}
	if out, err := exec.Command(cc, append([]string{"-O2", "-Wall", "-o", program}, append(sources, "-lenet", "-lm")...)...).CombinedOutput(); err != nil {
		first, _, _ := strings.Cut(string(out), "\n")
		return "", fmt.Errorf("libenet is not there, or cannot be used: %s", first)
	}
	return program, nil
})
