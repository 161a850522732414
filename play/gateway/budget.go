package gateway

// ipBytes are the headers of IPv4 and UDP, which a budget counts with each packet.
const ipBytes = 28

// recordBytes returns how many bytes of records fit into a tick's budget. A packet takes most of them, and has a header besides. What is left of
// the budget after full packets is saved for the next tick if it would be mostly headers.
func recordBytes(budget, most, header int) int {
	full, rest := budget/(most+header), budget%(most+header)
	if rest -= header; rest < 2*header && full > 0 {
		rest = 0
	}
	return full*most + max(rest, 0)
}
