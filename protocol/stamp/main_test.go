package stamp

import (
	"testing"

	"parley/internal/shell/shelltest"
)

// loadVariable is set in the environment of a process that is the load of a benchmark, which loadMain is.
const loadVariable = "PARLEY_STAMP_LOAD"

var loadMain func(what string)

func TestMain(m *testing.M) { shelltest.Main(m, loadVariable, loadMain) }
