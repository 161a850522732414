package core

import "parley/internal/shell/shelltest"

func init() { cpuTime = shelltest.ProcessCPU }
