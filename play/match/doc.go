// Package match is the queue of players who look for others. Players who ask for the same mode and the same number of players are put
// in a group, in the order of waiting. It opens no rooms and makes no tickets; the server does.
//
//	q := match.New(match.Config{})
//	id, err := q.Join(now, match.Wish{Mode: "duel", Players: 2, From: addr})
//	for {
//		g, ok := q.Take()
//		if !ok {
//			break
//		}
//		// Open a room for g.IDs. Then q.Settle(g), or q.Restore(g) if there is no room to be had.
//	}
//
// Call order: Join, Leave or HandleTimeout, then PollExpired and Take until they return false, then sleep until NextTimeout.
//
// # Life of a wish
//
//	Join         it is at the end of the line of its mode and number of players
//	Leave        its player has hung up: it is out
//	Take         the line is long enough: the group leaves the line, and stands aside while its room is opened
//	Settle       the room is there, and all are still there: they are out of the queue
//	Restore      there is no room: they are at the front of their line again
//	PollExpired  it has waited for Config.Wait: it is out
//
// Files: queue.go (the queue), line.go (the line of one mode and number), limits.go.
//
// It is pure: no clock, no lock, no goroutine. Its owner calls it from one goroutine at a time.
package match
