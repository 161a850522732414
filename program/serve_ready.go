package program

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	front "parley"
	"parley/web"
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

// place is a folder that the operator should know of.
type place struct{ what, where string }

// places says where rooms, accounts and the token of the API are kept, as far as there are any.
func (f *serveFlags) places() (list []place) {
	data := f.data
	if dir, err := filepath.Abs(f.data); err == nil {
		data = dir
	}
	switch {
	case f.cluster.name != "" && f.cluster.listen != "":
		list = append(list, place{"rooms", "the cluster " + f.cluster.name + ", this node's part in " + filepath.Join(data, "nats")})
	case f.cluster.name != "":
		list = append(list, place{"rooms", "the cluster " + f.cluster.name + ", in NATS"})
	case f.keep != front.Off:
		list = append(list, place{"rooms", filepath.Join(data, "rooms")})
	}
	switch {
	case f.realm == front.Off:
	case f.postgres != "":
		list = append(list, place{"accounts", "PostgreSQL"}) // its address may have a password in it
	default:
		list = append(list, place{"accounts", data})
	}
	if f.web != front.Off {
		list = append(list, place{"API's token", filepath.Join(data, web.TokenFile)})
	}
	return list
}

// troubles says what is wrong from the start, such as rooms that were left aside: the log, which says so too, is seldom read while one writes a game.
func troubles(err error) (list []place) {
	if err == nil {
		return nil
	}
	for line := range strings.Lines(err.Error()) {
		list = append(list, place{"in trouble", strings.TrimSuffix(line, "\n")})
	}
	return list
}

// mainSeed returns the seed of the main room. A room that was kept goes on with its own, whatever the operator asks for.
func (f *serveFlags) mainSeed(s *front.Server, c front.Config) uint64 {
	rooms, err := s.Rooms()
	if err != nil {
		return c.Seed
	}
	for _, r := range rooms {
		if r.Name != front.MainRoom {
			continue
		}
		renew := "name another --data folder"
		if f.cluster.name != "" {
			renew = "start a cluster with an empty store"
		}
		if f.seed != 0 && r.Seed != f.seed {
			s.Log().Warn("the room main was kept and goes on with its own seed; for a new world, "+renew, "seed", r.Seed, "asked", f.seed)
		}
		if r.Mode != c.Mode {
			s.Log().Warn("the room main was kept and goes on with its own mode; for a new world, "+renew, "mode", r.Mode, "asked", c.Mode)
		}
		return r.Seed
	}
	return c.Seed
}

// startTable is what people see.
func (a *app) startTable(addrs []front.Addr, secure bool, seed uint64, places []place) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s serves %s (seed %d)\n\n", a.name, a.title(), seed)
	for _, at := range addrs {
		where := at.Addr.String()
		if at.Name == "play" && at.Addr.Addr().IsUnspecified() { // a link to click, on this machine
			where = fmt.Sprint("localhost:", at.Addr.Port())
		}
		switch {
		case at.Name == "play" && secure:
			where = "https://" + where + "/"
		case at.Name == "web" || at.Name == "play":
			where = "http://" + where + "/"
		}
		fmt.Fprintf(&b, "  %-12s %s\n", at.Name, where)
	}
	for i, p := range places {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "  %-12s %s\n", p.what, p.where)
	}
	b.WriteString("\nInterrupt to stop.")
	return b.String()
}
