package line_test

import (
	"os"
	"testing"

	"parley/internal/patient"
)

func TestMain(m *testing.M) {
	patient.Abreast("8") // tests that come back wait most of the time
	os.Exit(m.Run())
}
