package gateway

import (
	"testing"

	"parley/internal/pace"
)

// paced is a connection with a path.
type paced struct {
	budget, unacked int
	asked           int
}

func (p *paced) Pace() (budget, unacked int) {
	p.asked++
	return p.budget, p.unacked
}

// Terrain goes out when little is under way. On a narrow path it saves its share until a chunk may go, and pays back what the
// chunk took beyond it.
func TestTerrainHasItsShareOfAPath(t *testing.T) {
	conn, p := &paced{budget: pace.Unlimited}, path{}
	for range 3 {
		p.measure(1, conn)
	}
	if conn.asked != 1 {
		t.Errorf("asked %d times in a tick", conn.asked)
	}
	if !p.mayBulk() {
		t.Error("no terrain on a path that is wide and idle")
	}
	if p.sentBulk(1 << 20); p.saved != 0 {
		t.Error("a debt on a path that is wide")
	}
	conn.unacked = bulkUnacked + 100
	if p.measure(2, conn); p.mayBulk() {
		t.Error("terrain behind much that is under way")
	}
	*conn = paced{budget: 800}
	chunks, told := 0, 0
	for tick := range uint64(1000) {
		p.measure(3+tick, conn)
		if rest := p.share(tick%2 == 0); rest < 700 || tick%2 == 1 && rest != 800 {
			t.Fatalf("tick %d: %d bytes of 800 are left", tick, rest)
		} else {
			told += rest
		}
		if p.mayBulk() {
			chunks++
			p.sentBulk(10_000)
		}
	}
	if chunks < 4 || chunks > 6 { // 500 times 100 bytes
		t.Errorf("%d chunks of 10,000 bytes", chunks)
	}
	if told < 700_000 {
		t.Errorf("%d bytes for everything else", told)
	}
	p.saved = 0
	for tick := range uint64(1000) {
		p.measure(5000+tick, conn)
		p.share(true)
	}
	if p.saved > maxBulk {
		t.Errorf("%d bytes were saved", p.saved)
	}
}

// On a long path without a limit, a busy world has always more than bulkUnacked under way. Terrain does not wait for that to end, but a chunk
// still waits for the chunk before.
func TestABusyWorldLeavesRoomForTerrain(t *testing.T) {
	const world, chunk, arrives = 12_000, 9_000, 4 // bytes under way, bytes, ticks
	conn, p := &paced{budget: pace.Unlimited}, path{}
	chunks, last := 0, uint64(0)
	for tick := range uint64(400) {
		if conn.unacked = world; chunks > 0 && tick-last < arrives {
			conn.unacked += chunk
		}
		if p.measure(tick+1, conn); !p.mayBulk() {
			continue
		}
		if chunks > 0 && tick-last < arrives {
			t.Fatalf("tick %d: a chunk behind another", tick)
		}
		chunks, last = chunks+1, tick
		p.sentBulk(chunk)
	}
	if chunks < 50 {
		t.Errorf("%d chunks in 400 ticks", chunks)
	}
}
