package cluster

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"parley/internal/patient"
)

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		child(what)
		return
	}
	patient.Abreast("6")
	// nats.go leaves this behind if a snapshot is stored before the goroutine has begun: it takes up a channel that is gone.
	// A server of NATS leaves the other two behind if a stream is being made as it ends: it stops the files of those that it has, and then takes up
	// the new one. A server that was not ended has many more.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"),
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*fileStore).flushStreamStateLoop"), goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server/ats.Register.func1"))
}
