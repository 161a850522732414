package account

// Cheap makes hashes that take microseconds, for tests of all else.
func Cheap(c Config) Config {
	c.cost = cost{memoryKiB: 8, passes: 1, lanes: 1}
	return c
}
