package realm

import (
	"testing"

	"parley/internal/shell/shelltest"
)

// loadVariable is set in the environment of a process of clients.
const loadVariable = "PARLEY_REALM_LOAD"

func TestMain(m *testing.M) { shelltest.Main(m, loadVariable, crowdMain) }
