//go:build !linux

package blackbox

// favourSelf: it may not, here.
func favourSelf() bool { return false }
