package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type inner struct {
	ToConns uint64
	RTT     time.Duration
}

type answer uint8

func (a answer) String() string { return [...]string{"yes", "not now"}[a] }

type Embedded struct{ Opened uint64 }

type stats struct {
	Embedded
	Conns   int
	Share   float64
	Socket  inner
	Full    bool
	Name    string    // no number
	ByKind  [3]uint64 // no name
	Answers map[answer]uint64
	ByText  map[string]uint64 // anybody's text is no name
	private uint64
}

func example() Config {
	return Config{Title: "arena & co", Sources: []Source{
		{Name: "replica", Addr: "127.0.0.1:7000", Stats: func() any {
			return stats{Embedded{7}, 3, .5, inner{1234567, 25 * time.Millisecond}, true, "x", [3]uint64{1},
				map[answer]uint64{0: 4, 1: 5}, map[string]uint64{"z": 6}, 9}
		}},
		{Name: "world", Stats: func() any { return &stats{} }},
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

func TestMetricsHaveEveryNumber(t *testing.T) {
	code, body := get(t, example(), "GET", "/metrics")
	for _, line := range []string{
		"# TYPE parley_replica_opened_total counter\nparley_replica_opened_total 7\n",
		"# TYPE parley_replica_conns gauge\nparley_replica_conns 3\n",
		"parley_replica_share 0.5\n",
		"parley_replica_socket_to_conns_total 1.234567e+06\n",
		"parley_replica_socket_rtt_seconds 0.025\n",
		"parley_replica_full 1\n",
		"# TYPE parley_replica_answers_total counter\nparley_replica_answers_total{answer=\"not now\"} 5\nparley_replica_answers_total{answer=\"yes\"} 4\n",
		"parley_world_opened_total 0\n",
		"go_goroutines ",
		"process_cpu_seconds_total ",
	} {
		if !strings.Contains(body, line) {
			t.Errorf("%q is not among the metrics", line)
		}
	}
	if code != 200 || strings.Contains(body, "private") || strings.Contains(body, "by_kind") || strings.Contains(body, "by_text") {
		t.Errorf("status %d:\n%s", code, body)
	}
}

func TestNamesOfMetrics(t *testing.T) {
	for name, want := range map[string]string{
		"In": "in", "ToConns": "to_conns", "RTT": "rtt", "RTTMax": "rtt_max", "AcksOut": "acks_out", "P99": "p99",
		"MaxRTT": "max_rtt", "Sent4Times": "sent4_times", "IDs": "ids",
	} {
		if got := snake(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestThePageShowsWhatHappened(t *testing.T) {
	c := example()
	c.Ready = func() error { return errors.New("the <world> is not made yet") }
	code, body := get(t, c, "GET", "/")
	for _, want := range []string{"arena &amp; co", "<code>127.0.0.1:7000</code>", "<td>Socket · ToConns</td><td>1,234,567</td>", "<td>Answers · not now</td><td>5</td>",
		"Not ready: the &lt;world&gt; is not made yet", "Nothing yet."} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is not on the page:\n%s", want, body)
		}
	}
	if code != 200 {
		t.Errorf("status %d", code)
	}
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
	for _, path := range []string{"/", "/metrics", "/healthz", "/readyz"} {
		if code, _ := get(t, example(), "POST", path); code != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: %d", path, code)
		}
	}
	for _, path := range []string{"/debug/pprof/", "/nosuch", "/metrics/x"} {
		if code, _ := get(t, example(), "GET", path); code != http.StatusNotFound {
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
