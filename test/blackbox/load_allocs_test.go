package blackbox

import (
	"runtime"
	"slices"
	"strings"
)

// allocSite is a place that allocated, as the calls that led to it, the innermost first.
type allocSite struct {
	Calls string
	Count int64
}

// allocations counts the allocations of this process by place, if they are wanted.
func allocations(wanted bool) map[string]int64 {
	if !wanted {
		return nil
	}
	for range 2 { // what was allocated is in the profile two collections later
		runtime.GC()
	}
	records := make([]runtime.MemProfileRecord, 1<<16)
	n, _ := runtime.MemProfile(records, true)
	counts := map[string]int64{}
	for i := range records[:n] {
		counts[calls(&records[i])] += records[i].AllocObjects
	}
	return counts
}

// calls writes a stack as the names of its functions.
func calls(r *runtime.MemProfileRecord) string {
	var names []string
	for frames, more := runtime.CallersFrames(r.Stack()), true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); f.Function != "" {
			names = append(names, f.Function)
		}
	}
	return strings.Join(names, " < ")
}

// foreign are places that are no part of a tick: TLS, which has its own buffers, the accounts and their
// database, of which the sessions are looked at again now and then, and this test's own questions, which are also
// collections that empty all pools, the runtime's own too.
var foreign = []string{"crypto/tls.", "parley/account", "database/sql.", "blackbox.", "runtime.systemstack", "runtime/metrics.",
	"sync.(*Pool).", "sync.(*poolChain).", "duplex.(*hub).takePiece", "duplex.(*hub).takeBuffer", "runtime.acquireSudog"}

// allocsSince returns what was allocated since, most first, without what is foreign.
func allocsSince(before map[string]int64) (list []allocSite) {
	for where, n := range allocations(true) {
		n -= before[where]
		if n > 0 && !slices.ContainsFunc(foreign, func(f string) bool { return strings.Contains(where, f) }) {
			list = append(list, allocSite{where, n})
		}
	}
	slices.SortFunc(list, func(a, b allocSite) int { return int(b.Count - a.Count) })
	return list
}
