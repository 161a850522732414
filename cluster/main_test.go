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
	goleak.VerifyTestMain(m)
}
