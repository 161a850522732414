package core

import (
	"testing"

	"parley/internal/kit"
)

// The conformance kit. Of a handshake, only one that loses the client's one answer and then every sync.init for 5 s is
// left without a connection.

func TestAHandshakeSurvivesAnyLoss(t *testing.T)       { kit.Handshake(t, dialectByTurns, 20) }
func TestChurn(t *testing.T)                           { kit.Churn(t, dialect, 2_500, 125_000) }
func TestWhoLeavesIsBelievedAfterASecond(t *testing.T) { kit.Goodbye(t, dialect) }
