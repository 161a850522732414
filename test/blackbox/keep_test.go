package blackbox

import (
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/internal/patient"
)

// show sends a pass, and waits until it has let the client in.
func (c *relayClient) show(pass []byte) error {
	if err := c.tell(relayUnordered, pass); err != nil {
		return err
	}
	return until(c, "the pass lets it in", func() bool { return c.proven && c.session.whole() && c.you != 0 && c.records[c.you] != nil })
}

// A server that is killed goes on where it was: a player comes back to the same body, by the token that it was told, and its room
// can be replayed.
func TestAKilledServerGoesOn(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, keep := range []string{"second", "tick"} {
		t.Run(keep, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data")
			s := serve(t, "--keep", keep, "--data", data)
			c := entered(t, s, newRelay, (*relayClient).join)
			await(t, c, "it has a session", c.session.whole)
			start := c.x()
			if err := c.tell(relaySemi, big(nil, uint8(0), float32(0.5), float32(1))); err != nil {
				t.Fatal(err)
			}
			await(t, c, "it walks", func() bool { return math.Abs(c.x()-start) > 2 })
			if err := c.tell(relaySemi, big(nil, uint8(0), float32(0.5), float32(0))); err != nil { // or it would be anywhere
				t.Fatal(err)
			}
			still, last := 0, c.x()
			for end := time.Now().Add(patience); still < 20 && time.Now().Before(end); {
				if err := c.step(); err != nil {
					t.Fatal(err)
				}
				if still++; c.x() != last {
					still, last = 0, c.x()
				}
			}
			token := c.session.token
			s.kill()

			s = serve(t, "--keep", keep, "--data", data, "--seed", "8")
			back := entered(t, s, newRelay, func(c *relayClient, _ string) error { return c.show(big(nil, "S", token[:])) })
			if back.x() != last || back.session.seed != 7 || back.session.token == token {
				t.Errorf("it is at %v, and was at %v; it was told %+v", back.x(), last, back.session)
			}
			s.stop(t, back)
			if text := s.stderr.String(); !strings.Contains(text, "goes on with its own seed") {
				t.Errorf("the log is %q", text)
			}
			if status, out, errs := run(t, "replay", filepath.Join(data, "rooms", "main")); status != 0 || !strings.Contains(out, "each as recorded") {
				t.Errorf("the replay has the status %d: %s%s", status, out, errs)
			}
		})
	}
}

// /readyz says that rooms are not written, in a line, and the process is well all the same. A second server on the folder is told
// so, with the status of a mistake on the command line.
func TestTroubleWithTheDataFolder(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, "--data", data)
	entered(t, s, newRelay, (*relayClient).join)
	for _, keep := range []string{"second", "off"} {
		status, out, errs := run(t, append([]string{"serve", "--data", data, "--keep", keep}, anyPort()...)...)
		if status != 2 || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "another server uses the folder "+data) {
			t.Errorf("a second server has the status %d: %s%s", status, out, errs)
		}
	}
	if err := os.Rename(filepath.Join(data, "rooms"), filepath.Join(data, "away")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(data, "rooms")); err != nil { // so that it is not made anew
		t.Fatal(err)
	}
	patient.Test(t)
	base := "http://" + s.addrs["web"]
	code, body := get(t, base+"/readyz")
	for code == http.StatusOK {
		time.Sleep(10 * time.Millisecond)
		code, body = get(t, base+"/readyz")
	}
	if code != http.StatusServiceUnavailable || strings.Count(body, "\n") != 1 || !strings.Contains(body, `room "main" is not being written`) {
		t.Errorf("/readyz: status %d, %q", code, body)
	}
	if code, body := get(t, base+"/healthz"); code != http.StatusOK || body != "ok\n" {
		t.Errorf("/healthz: status %d, %q", code, body)
	}
	if _, body := get(t, base+"/metrics"); !strings.Contains(body, `parley_keep_rooms{state="trouble"} 1`) {
		t.Error("/metrics does not count the room in trouble")
	}
}
