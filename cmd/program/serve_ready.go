package program

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	front "parley"
)

// ready writes where everything is, all at once: whoever waits for the file finds it whole.
func (f *serveFlags) ready(addrs []front.Addr) error {
	if f.readyFile == "" {
		return nil
	}
	list := map[string]string{}
	for _, a := range addrs {
		list[a.Name] = a.Addr.String()
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	temp := f.readyFile + ".new"
	if err := os.WriteFile(temp, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("--ready-file: %w", err)
	}
	if err := os.Rename(temp, f.readyFile); err != nil {
		return fmt.Errorf("--ready-file: %w", err)
	}
	return nil
}

// unready takes the file away: as long as it is there, so is the server.
func (f *serveFlags) unready() {
	if f.readyFile != "" {
		os.Remove(f.readyFile)
	}
}

// accounts says where they are kept, "" if there are none.
func (f *serveFlags) accounts() string {
	switch {
	case f.realm == front.Off:
		return ""
	case f.postgres != "":
		return "PostgreSQL" // its address may have a password in it
	}
	if dir, err := filepath.Abs(f.data); err == nil {
		return dir
	}
	return f.data
}

// startTable is what people see.
func startTable(addrs []front.Addr, seed uint64, accounts string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "parley serves the arena (seed %d)\n\n", seed)
	for _, a := range addrs {
		where := a.Addr.String()
		if a.Name == "web" {
			where = "http://" + where + "/"
		}
		fmt.Fprintf(&b, "  %-12s %s\n", a.Name, where)
	}
	if accounts != "" {
		fmt.Fprintf(&b, "\n  accounts     %s\n", accounts)
	}
	b.WriteString("\nInterrupt to stop.")
	return b.String()
}
