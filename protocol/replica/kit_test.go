package replica

import (
	"testing"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/internal/shell"
)

// The conformance kit.

func TestServers(t *testing.T) { kit.Servers(t, dialect) }
func TestClients(t *testing.T) { kit.Clients(t, dialect) }

func TestChurnLeavesNothingBehind(t *testing.T) { kit.ShellChurn(t, dialect, 400) }

func TestSocketFaultsCostNothingReliable(t *testing.T) {
	kit.Faults(t, dialect, promise.Keeps(t, "T61", "replica", kit.Rounds(10, 200)), 150)
}

func TestAClientThatDoesNotReadHoldsItsServerBack(t *testing.T) {
	const windows = 1<<20 + 512<<10 + 256<<10 + 256<<10 + shell.MaxQueuedEventBytes + 2<<20 // ours, the queue, both engines', a message beyond twice
	kit.Stalls(t, dialect, []kit.Mode{kit.Ordered}, []int{150, 1000, 100_000, 1 << 20}, windows, len("kit"))
}
