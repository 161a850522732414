//go:build !unix

package duplex

// canReadRaw says that a main can be waited for without a buffer.
const canReadRaw = false

func (l *line) readable(uintptr) bool { panic("duplex: no raw reads here") }

// tryWrite leaves all to the goroutine.
func (l *line) tryWrite([]byte) int { return 0 }
