package cluster

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		child(what)
		return
	}
	// nats.go leaves this behind if a snapshot is stored before the goroutine has begun: it takes up a channel that is gone.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"))
}
