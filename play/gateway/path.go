package gateway

import "parley/internal/pace"

// path is what a tick may do with the path to a player who may ask for terrain. Terrain has its own rules: a chunk holds up all that comes
// behind it, so it goes out only when little is under way. On a narrow path it has a share of the bytes, saved up
// until a chunk may go. Without, a world that always has more to tell would leave a player without ground.
type path struct {
	tick    uint64 // for which the path was asked
	budget  int    // the bytes of that tick; pace.Unlimited on a path that is not narrow
	unacked int    // the bytes that had not arrived
	usual   int    // the bytes that had not arrived of late, without a chunk
	saved   int    // the bytes for terrain; less than 0 after a chunk, which is paid back
}

// measure asks what the path takes in a tick, once.
func (p *path) measure(tick uint64, conn interface{ Pace() (budget, unacked int) }) {
	if p.tick != tick {
		p.tick = tick
		p.budget, p.unacked = conn.Pace()
		p.usual = min(p.usual, p.unacked)
		p.usual += (p.unacked - p.usual) / bulkPatience
	}
}

// share gives terrain its part of a narrow path's budget if the player waits for some, and returns the rest.
func (p *path) share(waits bool) (rest int) {
	part := 0
	if waits {
		part = p.budget / bulkShare
	}
	p.saved = min(p.saved+part, maxBulk)
	return p.budget - part
}

// mayBulk reports whether a chunk may go out now. What is always under way, as on a long path in a busy world, is no reason to wait.
func (p *path) mayBulk() bool {
	return p.unacked < p.usual+bulkUnacked && (p.budget == pace.Unlimited || p.saved > 0)
}

// sentBulk notes what a chunk took.
func (p *path) sentBulk(bytes int) {
	if p.budget != pace.Unlimited {
		p.saved -= bytes
	}
}
