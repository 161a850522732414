package cluster

import (
	"time"
	_ "unsafe" // for linkname
)

// NATS elects a new leader of a stream 4 to 9 s after the old one's last heartbeat, and twice as late if two candidates meet. A room stands still meanwhile.
// No option changes these times, so a node halves the variables that they are in, before its server of NATS runs: their proportions stay as they are. If a
// version of NATS has them no more, the program does not link, and the pauses of TestThreeProcessesInTrouble say whether it still needs this file.
// The NATS of an operator keeps its own times.

//go:linkname minElectionTimeout github.com/nats-io/nats-server/v2/server.minElectionTimeout
var minElectionTimeout time.Duration

//go:linkname maxElectionTimeout github.com/nats-io/nats-server/v2/server.maxElectionTimeout
var maxElectionTimeout time.Duration

//go:linkname hbInterval github.com/nats-io/nats-server/v2/server.hbInterval
var hbInterval time.Duration

func init() {
	minElectionTimeout, maxElectionTimeout, hbInterval = electAfter, electBy, beatEach
}
