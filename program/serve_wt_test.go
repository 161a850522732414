package program

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"parley/arena"
	"parley/client"
	"parley/web"
)

// A client of each dialect plays over WebTransport, whose certificate it knows by the hash that the server tells.
func TestServeOverWebTransport(t *testing.T) {
	t.Parallel() // it waits for most of its time
	s := serves(t, "--replica", "127.0.0.1:0", "--relay", "127.0.0.1:0", "--duplex", "127.0.0.1:0", "--registrations", "-1")
	res, err := http.Get("http://" + s.addrs["play"] + "/play/server")
	if err != nil {
		t.Fatal(err)
	}
	var about web.PlayServer
	err = json.NewDecoder(res.Body).Decode(&about)
	res.Body.Close()
	if err != nil || about.WebTransport == nil || len(about.WebTransport.Hashes) != 2 || about.WebTransport.Port == 0 {
		t.Fatalf("/play/server: %+v, %v", about.WebTransport, err)
	}
	for _, dialect := range []string{"replica", "relay", "duplex", "realm"} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		c, err := client.Dial(ctx, dialect+"+wt://"+s.addrs["play"], arena.Game(), client.Config{Name: "ada-" + dialect, Password: "correct horse"})
		if err != nil {
			t.Errorf("%s: %v", dialect, err)
			cancel()
			continue
		}
		if err := c.Say("hello"); err != nil {
			t.Errorf("%s: %v", dialect, err)
		}
		said := false
		for f := range c.Frames(200) {
			for ev := range f.Events() {
				said = said || ev.Kind == client.Said && ev.Text == "hello"
			}
			if said || ctx.Err() != nil {
				break
			}
		}
		if !said {
			t.Errorf("%s: what was said is not heard: %v", dialect, c.Err())
		}
		c.Close()
		cancel()
	}
}
