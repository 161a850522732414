package relay

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// loadVariable is set in the environment of a process that shall be the load of a benchmark,
// which loadMain is.
const loadVariable = "PARLEY_RELAY_LOAD"

var loadMain func()

func TestMain(m *testing.M) {
	if os.Getenv(loadVariable) != "" && loadMain != nil {
		loadMain()
		return
	}
	goleak.VerifyTestMain(m)
}
