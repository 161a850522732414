package program

import (
	"strings"
	"testing"
)

// fakeCluster is a cluster in which a node is silent, one waits, and a state differs.
const fakeCluster = `{"cluster":"arena","nodes":[{"node":"05c6","name":"fra-1","here":true,"version":"v1","fingerprint":"3b5d","addresses":{},"players":1,"rooms":1,"cpu":0.12},` +
	`{"node":"07e1","name":"fra-2","version":"v1","fingerprint":"3b5d","addresses":{},"players":0,"rooms":1,"cpu":0,"silent":true},` +
	`{"node":"0a00","name":"fra-new","fingerprint":"9f00","addresses":{},"waits":"its schema is another"}],` +
	`"rooms":[{"room":"duel-7","sequencer":"05c6","epoch":2,"tick":812,"awake":true,"stages":[{"node":"05c6","tick":812,"hash":"a6f7","refused":1},{"node":"07e1","tick":812,"lag":1,"lag_ms":50,"hash":"0d13","differs":true,"diverged":3}]},{"room":"duel-8","sequencer":"07e1","awake":true,"stages":[{"node":"07e1","stuck":true}]},{"room":"night","sequencer":"07e1","tick":5,"stages":[{"node":"07e1","tick":5,"hash":"77aa"}]},{"room":"lost","epoch":1,"tick":9,"awake":true,"stages":[]}]}`

// The status of a cluster shows what is wrong with it, and its exit status says so.
func TestClusterStatus(t *testing.T) {
	f := newFakeAPI(t, map[string]string{"GET /v1/cluster": "200 " + fakeCluster})
	got := f.run("cluster", "status")
	want := `NODE     ID    STATE   PLAYERS  ROOMS  CPU  VERSION  SCHEMA
fra-1    05c6  here    1        1      12%  v1       3b5d
fra-2    07e1  silent  0        1      0%   v1       3b5d
fra-new  0a00  waits   0        0      0%   -        9f00

fra-new waits: its schema is another

ROOM    EPOCH  NODE     TICK  LAG      REFUSED  DESYNCS  STATE
duel-7  2      fra-1 *  812   0, 0ms   1        0        a6f7
duel-7  2      fra-2    812   1, 50ms  0        3        0d13 differs
duel-8  0      fra-2 *  -     -        -        -        does not answer
night   0      fra-2 *  5     0, 0ms   0        0        77aa asleep
lost    1      none     9     -        -        -        stands still
`
	if got.out != want || got.status != exitFailed || got.err != "parley: the node fra-2 has not answered in time\n" {
		t.Errorf("status %d, %q; it prints\n%s, want\n%s", got.status, got.err, got.out, want)
	}
	f = newFakeAPI(t, map[string]string{"GET /v1/cluster": "200 " + strings.Replace(fakeCluster, `"silent":true`, `"silent":false`, 1)})
	if got := f.run("cluster", "status", "--json"); got.status != exitFailed || !strings.Contains(got.err, "the room duel-7 is not the same on all nodes") || !strings.HasPrefix(got.out, `{"cluster":"arena","nodes":[`) {
		t.Errorf("status %d, %q; it prints %s", got.status, got.err, got.out)
	}
	f = newFakeAPI(t, map[string]string{"GET /v1/cluster": `409 {"error":"this server is in no cluster; start it with --cluster"}`})
	if got := f.run("cluster", "status"); got.status != exitFailed || got.err != "parley: this server is in no cluster; start it with --cluster\n" {
		t.Errorf("status %d, %q", got.status, got.err)
	}
}
