package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"parley/cluster/core"
	"parley/world"
)

// All servers that run rooms of a cluster have the same Game.Version. A server with another one begins when none of them is left, and goes on with the
// rooms from their newest states, as a single server does. Two versions would not compute the same.

// ErrOtherVersion means that servers of the cluster run its rooms with another Game.Version.
var ErrOtherVersion = errors.New("gateway: another version of the game")

// versionTopic is the question which version of the game a server runs rooms with. The answer of one that runs none is empty.
const versionTopic = "parley.version"

const runs = "runs "

// versions says to the other servers which version this one runs rooms with. It outlives the hub: a server that waits makes one after another.
type versions struct {
	cluster core.Cluster
	err     error                  // why the others hear nothing
	running atomic.Pointer[string] // nil if it runs no rooms
}

func newVersions(c core.Cluster) *versions {
	v := &versions{cluster: c}
	v.err = c.Answer(versionTopic, func(context.Context, []byte) []byte {
		if version := v.running.Load(); version != nil {
			return []byte(runs + *version)
		}
		return nil
	})
	return v
}

// alike returns an error while other servers run rooms with another version of the game than this one's. With the version that main was opened with, a
// server that does not answer is taken for dead.
func (v *versions) alike(ctx context.Context, mine, opened string) error {
	if v.err != nil {
		return v.err
	}
	ctx, cancel := context.WithTimeout(ctx, alikeTime)
	defer cancel()
	for !slices.Contains(v.cluster.Living(), v.cluster.ID()) { // it does not know the others yet
		select {
		case <-time.After(alikeEach):
		case <-ctx.Done():
			return fmt.Errorf("gateway: which servers the cluster has: %w", ctx.Err())
		}
	}
	ask, cancelAsk := context.WithTimeout(ctx, alikeAsk)
	defer cancelAsk()
	answers, err := v.cluster.Ask(ask, versionTopic, nil)
	for node, answer := range answers {
		if text := string(answer); node != v.cluster.ID() && len(text) >= len(runs) && text[len(runs):] != mine {
			return fmt.Errorf("%w: %s runs version %q, and this server has %q: it takes the rooms over when all servers with another version are stopped",
				ErrOtherVersion, v.cluster.Called(node), text[len(runs):], mine)
		}
	}
	var silent *core.SilentError
	if !errors.As(err, &silent) {
		return err
	}
	living := v.cluster.Living()
	for _, node := range silent.Nodes {
		if mine != opened && slices.Contains(living, node) {
			return fmt.Errorf("%w: %s does not say which version it runs, and this server has %q: it takes the rooms over when all servers with another version are stopped",
				ErrOtherVersion, v.cluster.Called(node), mine)
		}
	}
	return nil
}

// errVersions stops a stage whose log is made by servers with another version of the game: the first of them were asked, and have not answered.
var errVersions = fmt.Errorf("%w: a server with another version makes the entries", world.ErrOtherGame)

// sameVersion returns an error if an entry is another version's: of one that this world cannot go on with, or made by a server that runs another now. Those
// from before this server took the room over are done without comparing.
func (x *shared) sameVersion(e *world.Entry) error {
	if !x.current || !x.room.sim.Renewed() {
		return nil
	}
	for range e.Of(world.ItemVersion) {
		return nil
	}
	return errVersions
}
