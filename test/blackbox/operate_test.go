package blackbox

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/arena"
	"parley/internal/patient"
	"parley/internal/promise"
	"parley/play/bots"
	"parley/test/field"
)

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	defer patient.End().Stop()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

func TestTheWebSaysHowItGoes(t *testing.T) {
	s := serve(t)
	base := "http://" + s.addrs["web"]
	for _, page := range []string{"/healthz", "/readyz", "/"} {
		if status, body := get(t, base+page); status != http.StatusOK || body == "" {
			t.Errorf("%s: status %d, %q", page, status, body)
		}
	}
	entered(t, s, newRelay, (*relayClient).join)
	patient.Test(t)
	status, body := get(t, base+"/metrics")
	for !strings.Contains(body, "parley_players 1\n") { // it is told at the end of a tick, and shown a tenth of a second later at most
		time.Sleep(10 * time.Millisecond)
		status, body = get(t, base+"/metrics")
	}
	for _, want := range []string{`parley_ticks_total{fate="on_time"}`, `parley_requests_dropped_total{reason="early"} 0`, `parley_requests_dropped_total{reason="unread"} 0`, "parley_players 1",
		`{dialect="replica"`, `{dialect="stamp"`, `{dialect="relay"`, `{dialect="duplex"`, `{dialect="realm"`, "parley_tick_seconds_bucket", "parley_input_seconds_bucket", `parley_round_trip_seconds_bucket{dialect="relay"`,
		`parley_world_bytes_total{dialect="realm",field="health",kind="player"}`} {
		if !strings.Contains(body, want) {
			t.Errorf("/metrics (status %d) is without %s", status, want)
		}
	}
}

// come opens a client and has it join, more than once where it must: a server whose ticks are late lets nobody in.
func come[C client](s *server, name string, open func(addrs map[string]string) (C, error), join func(c C, name string) error) (c C, err error) {
	for end := time.Now().Add(2 * patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if c, err = open(s.addrs); err != nil {
			continue
		}
		if err = join(c, name); err == nil {
			return c, nil
		}
		c.close()
		name += "x" // who was refused may have registered before
	}
	return c, err
}

// entered is a client that has come, and is closed with the test.
func entered[C client](t *testing.T, s *server, open func(addrs map[string]string) (C, error), join func(c C, name string) error) C {
	t.Helper()
	c, err := come(s, "ann", open, join)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return c
}

// guest is a raw client that is to come. It is prepared before it joins.
type guest struct {
	dialect string
	number  int
	come    func(prepare ...func(client)) (client, error)
}

func newGuest[C client](s *server, dialect string, number int, open func(addrs map[string]string) (C, error)) guest {
	return guest{dialect, number, func(prepare ...func(client)) (client, error) {
		return come(s, fmt.Sprint("player-", number), open, func(c C, name string) error {
			for _, f := range prepare {
				f(c)
			}
			return c.join(name)
		})
	}}
}

// five are guests of all dialects.
func five(s *server, number int) []guest {
	return []guest{newGuest(s, "replica", number, newReplica), newGuest(s, "stamp", number, newStamp), newGuest(s, "relay", number, newRelay),
		newGuest(s, "duplex", number, newDuplex), newGuest(s, "realm", number, newRealm)}
}

// guests are n of each dialect.
func guests(s *server, n int) (list []guest) {
	for i := range n {
		list = append(list, five(s, i)...)
	}
	return list
}

// joinAtOnce is how many guests come at a time: it is no test of a stampede.
const joinAtOnce = 16

// T60: SIGTERM has every client told within 5 s, and the exit status is 0. 50 clients; in the gate,
// which sets PARLEY_PR, 1,000.
func TestEverybodyIsToldOnSIGTERM(t *testing.T) {
	each, sight := 10, "-1"
	if os.Getenv("PARLEY_PR") != "" || os.Getenv("PARLEY_SOAK") != "" {
		each, sight = 200, "16" // it is no test of a million pairs who see each other
	}
	promise.Keeps(t, "T60", "blackbox", 5*each)
	s := serve(t, "--max-players", "2000", "--per-address", "-1", "--sight", sight)
	var joining, staying sync.WaitGroup
	room := make(chan struct{}, joinAtOnce)
	times := make(chan time.Duration, 5*each)
	pace := patient.Pace(t)
	var terminated atomic.Bool
	for _, g := range guests(s, each) {
		joining.Add(1)
		staying.Go(func() {
			room <- struct{}{}
			in := sync.OnceFunc(func() {
				patient.Value(room)
				joining.Done()
			})
			defer in()
			c, err := g.come()
			if err != nil {
				t.Errorf("%s %d: %v", g.dialect, g.number, err)
				return
			}
			defer c.close()
			in()
			for err == nil && !terminated.Load() && !c.told() {
				err = c.step()
			}
			if err == nil {
				err = goodbye(c)
			}
			if err != nil {
				t.Errorf("%s %d: %v", g.dialect, g.number, err)
				return
			}
			times <- pace()
		})
	}
	patient.Done(joining.Wait)
	began := pace()
	terminated.Store(true)
	s.terminate(t)
	patient.Done(staying.Wait)
	close(times)
	var last time.Duration
	told := 0
	for at := range times {
		told++
		last = max(last, at-began)
	}
	if status := s.status(t); status != 0 {
		t.Errorf("exit status %d: %s", status, s.stderr)
	}
	t.Logf("%d of %d were told, the last after %v; the program ended after %v", told, 5*each, last, pace()-began)
	if told != 5*each || last > 5*time.Second {
		t.Errorf("%d of %d were told, the last after %v", told, 5*each, last)
	}
	for line := range strings.Lines(s.stderr.String()) {
		if !strings.Contains(line, "the world is far behind the clock") { // the machine stood still for five seconds
			t.Errorf("a clean end is not worth a word: %s", line)
		}
	}
}

// T60: after SIGKILL and a restart at the same ports the players come back.
func TestPlayersComeBackAfterSIGKILL(t *testing.T) {
	promise.Keeps(t, "T60", "blackbox", 1)
	for try := 1; !comeBack(t); try++ {
		if try == 10 {
			t.Fatal("the port was taken by somebody else in each of ten tries")
		}
	}
}

// comeBack is not ok if another process has the port, which was nobody's for a moment.
func comeBack(t *testing.T) (ok bool) {
	t.Helper()
	first := serve(t)
	a := entered(t, first, newReplica, (*replicaClient).join)
	first.kill()
	if err := newServer(t, "--replica", first.addrs["replica"]).tryStart(t); err != nil {
		if !strings.Contains(err.Error(), "in use") {
			t.Fatal(err)
		}
		return false
	}
	// The client of the dead server still speaks: it is told that nobody knows it.
	if err := a.link(0); err != nil {
		t.Fatal(err)
	}
	if err := until(a, "it learns that its server is gone", a.told); err != nil {
		t.Error(err)
	}
	entered(t, first, newReplica, (*replicaClient).join)
	return true
}

// Who is gone without goodbye, its socket closed and nothing said, is seen to go by the others, over each
// dialect that has players. Over UDP that takes as long as the server is patient.
func TestWhoVanishesIsSeenToGo(t *testing.T) {
	prTier(t)
	t.Parallel() // it mostly waits
	s := serve(t)
	watcher := field.Enter(t, "duplex", s.addrs["duplex"], bots.Config{Schema: field.Schema(t, arena.Game())})
	sees := func(n int) {
		t.Helper()
		for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			got := 0
			watcher.See(func(v *bots.Sight) { got = len(v.Things) })
			if got == n {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("it sees %d, want %d", got, n)
			}
		}
	}
	sees(1)
	var vanish []client
	for _, g := range guests(s, 1) {
		if g.dialect == "stamp" {
			continue // it watches, and is not seen
		}
		c, err := g.come()
		if err != nil {
			t.Fatalf("%s: %v", g.dialect, err)
		}
		vanish = append(vanish, c)
		sees(1 + len(vanish))
	}
	began := time.Now()
	for _, c := range vanish { // at once, as it takes longest to wait
		c.close()
	}
	sees(1)
	t.Logf("all were seen to go after %v", time.Since(began).Round(10*time.Millisecond))
}

// What is the user's to put right is one sentence, and the status 2.
func TestMistakesAreOneSentenceAndStatus2(t *testing.T) {
	needProgram(t)
	dir := t.TempDir()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	takenUDP, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer takenUDP.Close()
	file := filepath.Join(dir, "file")
	config := filepath.Join(dir, "parley.toml")
	broken := filepath.Join(dir, "broken.toml")
	for path, text := range map[string]string{file: "", config: "tick-rates = 30\n", broken: "tick-rate ="} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"a TCP port in use", []string{"--realm", taken.Addr().String()}, "in use"},
		{"a UDP port in use", []string{"--replica", takenUDP.LocalAddr().String()}, "in use"},
		{"a web port in use", []string{"--web", taken.Addr().String()}, "in use"},
		{"a port of players in use", []string{"--play", taken.Addr().String()}, "--play: "},
		{"a site that is none", []string{"--play-origins", "game.example"}, "--play-origins"},
		{"an unknown flag", []string{"--tickrate", "20"}, "unknown flag: --tickrate"},
		{"a flag without sense", []string{"--tick-rate", "fast"}, "--tick-rate"},
		{"a tick rate of zero", []string{"--tick-rate", "0"}, "--tick-rate must be 1 to 1000, not 0"},
		{"a bad address", []string{"--stamp", "nowhere"}, "nowhere"},
		{"a data folder that is a file", []string{"--data", file}, "data folder"},
		{"a ready file in no folder", []string{"--ready-file", filepath.Join(dir, "none", "ready")}, "--ready-file"},
		{"a recording in no folder", []string{"--record", filepath.Join(dir, "none", "rec")}, "--record"},
		{"an unknown key in the file", []string{"--config", config}, `"tick-rates"`},
		{"a broken file", []string{"--config", broken}, "--config"},
		{"a file that is not there", []string{"--config", filepath.Join(dir, "none.toml")}, "--config"},
		{"an unknown lobby", []string{"--relay-lobby", "grand"}, "--relay-lobby must be open or connector"},
		{"an unknown profile", []string{"--realm-profile", "x"}, "--realm-profile must be plain or miko"},
		{"an unknown log level", []string{"--log-level", "loud"}, "--log-level"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"serve", "--data", filepath.Join(dir, "data")}, anyPort()...)
			status, stdout, stderr := run(t, append(args, tt.args...)...)
			if status != 2 || stdout != "" {
				t.Errorf("status %d, standard output %q", status, stdout)
			}
			if !strings.HasPrefix(stderr, "parley: ") || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, tt.want) {
				t.Errorf("standard error is %q, which is no sentence with %q", stderr, tt.want)
			}
		})
	}
}
