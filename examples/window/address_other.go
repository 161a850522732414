//go:build !js

package main

import "os"

// address returns where the game is: what the command line says, or this machine.
func address() string {
	if len(os.Args) > 1 {
		return os.Args[1]
	}
	return "replica://127.0.0.1:7000"
}
