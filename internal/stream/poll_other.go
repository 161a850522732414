//go:build !linux

package stream

// poller is nobody here: each connection has a goroutine that reads it.
type poller struct{}

type polled struct{}

func startPoller(*hub) *poller { return nil }

func (*poller) add(*Conn) bool { return false }
func (*poller) arm(*Conn)      {}
func (*poller) forget(*Conn)   {}
func (*poller) close()         {}
