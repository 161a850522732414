package client

import (
	"fmt"
	"slices"
	"time"

	"parley/world"
)

// kept is something that a player did: an action, or a line of chat.
type kept struct {
	action *world.Action // nil for a line
	params []world.Value
	text   string
	since  time.Time
}

// do does something, or keeps it for when the player is back.
func (c *Client) do(k kept) error {
	if c.watches {
		return ErrSpectator
	}
	c.lock()
	defer c.unlock()
	k.since = time.Now()
	if c.over {
		return errGone
	}
	defer c.stir()
	if !c.waits(k.since) {
		err := c.send(k)
		if !isAway(err) {
			return err
		}
		// The connection has ended, and nothing was sent. Whether the player comes back is told in a moment.
	}
	if len(c.kept) >= maxKept {
		return fmt.Errorf("client: %d actions and lines wait until the player is back: try again then", maxKept)
	}
	k.params = slices.Clone(k.params)
	c.kept = append(c.kept, k)
	return nil
}

// waits reports whether what the player does is kept: it is away, or will be in a moment.
func (c *Client) waits(now time.Time) bool { return c.away || now.Before(c.going) }

// send gives something to the connection.
func (c *Client) send(k kept) (err error) {
	if k.action != nil {
		err = c.core.Act(time.Now(), k.action, k.params)
	} else {
		err = c.core.Say(k.text)
	}
	if err != nil && !isAway(err) {
		return fmt.Errorf("client: %w", err)
	}
	return err
}

// catchUp sends what was kept, unless it is older than a place is held: the game has gone on without it. What the connection does not
// take stays, for the next.
func (c *Client) catchUp() {
	_, hold := c.line.Session()
	if hold == 0 {
		hold = holdUnknown
	}
	for len(c.kept) > 0 {
		k := c.kept[0]
		if time.Since(k.since) <= hold && isAway(c.send(k)) {
			return
		}
		c.kept = slices.Delete(c.kept, 0, 1)
	}
}
