package stamp

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
	kit.Faults(t, dialect, promise.Keeps(t, "T61", "stamp", kit.Rounds(1000, 10_000))/50, 300)
}

func TestAClientThatDoesNotReadHoldsItsServerBack(t *testing.T) {
	const bounds = 256<<10 + 256<<10 + 256<<10 + shell.MaxQueuedEventBytes + MaxData // what waits for its turn, both engines', the client's
	kit.Stalls(t, dialect, []kit.Mode{kit.Reliable, kit.Ordered}, []int{4, 150, 1000, MaxData}, bounds, 0)
}
