package storetest

import (
	"testing"

	"parley/account"
)

var _ account.Store = (*Memory)(nil)

func TestMemory(t *testing.T) {
	Run(t, func(*testing.T) account.Store { return &Memory{} })
}
