package core

import (
	"testing"

	"parley/internal/kit"
)

// The conformance kit.

func TestAHandshakeSurvivesAnyLoss(t *testing.T)            { kit.Handshake(t, dialect, 0) }
func TestAHandshakeSurvivesDuplicatesAndDelay(t *testing.T) { kit.HandshakeCopies(t, dialect) }
func TestChurn(t *testing.T)                                { kit.Churn(t, dialect, 2_500, 125_000) }
func TestWhoLeavesIsBelievedAfterASecond(t *testing.T)      { kit.Goodbye(t, dialect) }
