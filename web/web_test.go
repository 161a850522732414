package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type answer uint8

func (a answer) String() string { return [...]string{"ok", "wrong password"}[a] }

type times struct{}

func (times) Histogram() (uint64, float64, map[float64]uint64) {
	return 3, .75, map[float64]uint64{.1: 1, .5: 2}
}

type table struct{}

func (table) Each(yield func(n uint64, labels ...string)) {
	yield(5, "no buffers")
	yield(6, "refused")
}

type SendStats struct{ First, Resent, Transmitted uint64 }

type reliableStats struct{ SendStats }

type dialectStats struct {
	Conns      int
	Mux        struct{ Opened, Ended uint64 }
	RoundTrips times
	Traffic    struct {
		Out      uint64
		Reliable reliableStats
	}
	Socket struct{ InFaults table }
}

type worldStats struct {
	Players          int
	Ticks, LateTicks uint64
	Behind           time.Duration
	Name             string // no number
	private          uint64
}

type stats struct {
	World    worldStats
	Replica  *dialectStats
	Stamp    *dialectStats // off
	Accounts struct {
		Results map[answer]uint64
		ByText  map[string]uint64 // a text of anybody's is no label
	}
}

func example() Config {
	d := &dialectStats{Conns: 1234567}
	d.Mux.Opened = 7
	d.Traffic.Out, d.Traffic.Reliable = 100, reliableStats{SendStats{60, 20, 80}}
	return Config{Title: "arena & co", Addrs: map[string]string{"replica": "127.0.0.1:7000"}, Stats: func() any {
		s := stats{World: worldStats{Players: 3, Ticks: 10, LateTicks: 4, Behind: 25 * time.Millisecond, private: 9}, Replica: d}
		s.Accounts.Results = map[answer]uint64{0: 4, 1: 5}
		s.Accounts.ByText = map[string]uint64{"ann": 6}
		return s
	}}
}

func get(t *testing.T, c Config, method, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, path, nil)
	r.Host = "127.0.0.1:8080"
	Handler(c).ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestMetricsHaveLabelsAndHelp(t *testing.T) {
	code, body := get(t, example(), "GET", "/metrics")
	for _, line := range []string{
		"# HELP parley_players Players in the game now.",
		"# TYPE parley_players gauge\nparley_players 3\n",
		"# TYPE parley_connections_total counter\nparley_connections_total{dialect=\"replica\",fate=\"ended\"} 0\nparley_connections_total{dialect=\"replica\",fate=\"opened\"} 7\n",
		"parley_connections{dialect=\"replica\",state=\"open\"} 1.234567e+06\n",
		"parley_ticks_total{fate=\"late\"} 4\nparley_ticks_total{fate=\"on_time\"} 6\n",
		"parley_behind_seconds 0.025\n",
		"parley_packets_total{dialect=\"replica\",direction=\"out\",fate=\"other\"} 20\nparley_packets_total{dialect=\"replica\",direction=\"out\",fate=\"resent\"} 20\n",
		"parley_round_trip_seconds_bucket{dialect=\"replica\",le=\"0.5\"} 2\nparley_round_trip_seconds_bucket{dialect=\"replica\",le=\"+Inf\"} 3\nparley_round_trip_seconds_sum{dialect=\"replica\"} 0.75\n",
		"parley_socket_faults_total{dialect=\"replica\",direction=\"in\",fault=\"no_buffers\"} 5\n",
		"parley_account_results_total{result=\"wrong_password\"} 5\n",
		"go_goroutines ",
		"process_cpu_seconds_total ",
	} {
		if !strings.Contains(body, line) {
			t.Errorf("%q is not among the metrics", line)
		}
	}
	if code != 200 || strings.Contains(body, "stamp") || strings.Contains(body, "ann") {
		t.Errorf("status %d:\n%s", code, body)
	}
}

func TestCheckFindsFaults(t *testing.T) {
	type more struct {
		Replica *struct{ Conns, Nonsense uint64 }
		Odd     time.Duration
	}
	got := Check(more{})
	for _, want := range []string{"Replica.Nonsense is in no metric of families.go, and not in leftOut", "Odd is in no metric of families.go, and not in leftOut", "World.Players of families.go is not in the struct"} {
		if !slices.Contains(got, want) {
			t.Errorf("the fault %q is not found", want)
		}
	}
	for _, fault := range got {
		if strings.HasPrefix(fault, "Replica.Conns ") || strings.HasPrefix(fault, "*.Conns ") {
			t.Error(fault)
		}
	}
}

// Whoever asks how often: the counters are read ten times a second at most.
func TestCountersAreReadSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		c := operated(newFake())
		c.Stats = func() any { reads++; return stats{} }
		h := Handler(c)
		for range 200 {
			for _, path := range []string{"/metrics", "/v1/counters"} {
				r := httptest.NewRequest("GET", path, nil)
				r.Host = "127.0.0.1:8080"
				r.Header.Set("Authorization", "Bearer "+testToken)
				h.ServeHTTP(httptest.NewRecorder(), r)
			}
			time.Sleep(5 * time.Millisecond)
		}
		if reads < 9 || reads > 10 {
			t.Errorf("the counters were read %d times in a second", reads)
		}
	})
}

func TestNumbersForPeople(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 12: "12", 1234: "1,234", -1234567: "-1,234,567", .025: "0.025", 1234.5: "1,234.5"} {
		if got := format(v); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
}

func TestHealthAndReadiness(t *testing.T) {
	c := example()
	if code, body := get(t, c, "GET", "/healthz"); code != 200 || body != "ok\n" {
		t.Errorf("healthz: %d %q", code, body)
	}
	if code, body := get(t, c, "GET", "/readyz"); code != 200 || body != "ready\n" {
		t.Errorf("readyz: %d %q", code, body)
	}
	c.Ready = func() error { return errors.New("shutting down") }
	if code, body := get(t, c, "GET", "/readyz"); code != 503 || body != "shutting down\n" {
		t.Errorf("readyz: %d %q", code, body)
	}
}

// Nothing is changed from here, and nothing else is served.
func TestOnlyLookingIsAllowed(t *testing.T) {
	for _, path := range []string{"/", "/operator/app.js", "/metrics", "/healthz", "/readyz"} {
		if code, _ := get(t, operated(newFake()), "POST", path); code != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: %d", path, code)
		}
	}
	for _, path := range []string{"/debug/pprof/", "/nosuch", "/metrics/x", "/operator/", "/operator/index.html", "/operator/page.go"} {
		if code, _ := get(t, operated(newFake()), "GET", path); code != http.StatusNotFound {
			t.Errorf("GET %s: %d", path, code)
		}
	}
}

func TestListenAndClose(t *testing.T) {
	p, err := Listen("127.0.0.1:0", example())
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get("http://" + p.Addr().String() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if string(body) != "ok\n" || res.Header.Get("Content-Security-Policy") == "" {
		t.Errorf("%q with %v", body, res.Header)
	}
	if _, err := Listen(p.Addr().String(), example()); err == nil || !strings.HasPrefix(err.Error(), "web: listen") {
		t.Errorf("a port in use: %v", err)
	}
	if err := p.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
