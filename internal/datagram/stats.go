package datagram

// Stats counts every fate of a datagram at one carrier since it was opened.
//
// A datagram given to Write counts in exactly one of OutDatagrams and OutLost.
// A datagram that the carrier received counts in exactly one of InDatagrams, InTruncated and InForged.
type Stats struct {
	InDatagrams uint64 // delivered to the reader
	InBytes     uint64 // payload of those
	InBatches   uint64 // system calls that brought at least one
	InJoined    uint64 // of InDatagrams, how many came joined with others (GRO)
	InTruncated uint64 // larger than the largest that is read, not delivered
	InForged    uint64 // from an address that only sessions of browsers have, not delivered
	InGathers   uint64 // times that the reader waited for more: see udp.Config
	InDropped   uint64 // lost before the read because the receive buffer was full

	OutDatagrams uint64 // taken by the system
	OutBytes     uint64 // payload of those
	OutBatches   uint64 // system calls that took at least one
	OutJoined    uint64 // of OutDatagrams, how many left joined with others (GSO)
	OutLost      uint64 // given up because of an error; OutFaults says which
	OutWaits     uint64 // times that Write waited for room in the send buffer

	// InFaults and OutFaults count the times that the system reported each
	// transient error. One report may cost no datagram (the call was repeated)
	// or several (a joined group).
	InFaults, OutFaults Faults
}

// Faults counts transient errors, indexed by Fault.
type Faults [faultCount]uint64

// Total returns the sum of all faults.
func (f *Faults) Total() (n uint64) {
	for _, c := range f {
		n += c
	}
	return n
}

// Each yields the number of each fault.
func (f Faults) Each(yield func(n uint64, labels ...string)) {
	for fault := Fault(1); fault < faultCount; fault++ {
		yield(f[fault], fault.String())
	}
}

// Fault names an error that does not end the carrier: it concerns one datagram or one
// moment. Each is counted in Stats.
type Fault uint8

const (
	FaultRefused         Fault = iota + 1 // ECONNREFUSED: nobody listens at the peer's port
	FaultNoBuffers                        // ENOBUFS, ENOMEM: the system is short of memory for packets
	FaultTooBig                           // EMSGSIZE: larger than the route or the protocol carries
	FaultWouldBlock                       // EAGAIN: the send buffer stayed full
	FaultNotPermitted                     // EPERM, EACCES: a firewall's or the system's refusal
	FaultInterrupted                      // EINTR: a signal came; the call was repeated
	FaultHostUnreachable                  // EHOSTUNREACH, EHOSTDOWN
	FaultNetUnreachable                   // ENETUNREACH, ENETDOWN
	FaultBadAddress                       // an address that the carrier cannot send to
	FaultOther                            // anything else
	faultCount
)

var faultNames = [faultCount]string{
	"unset", "refused", "no buffers", "too big", "would block", "not permitted",
	"interrupted", "host unreachable", "network unreachable", "bad address", "other",
}

// String returns the fault's name in lower case words.
func (f Fault) String() string {
	if f >= faultCount {
		return "unknown"
	}
	return faultNames[f]
}

// Tally sums up what one batch did, so that a carrier's counters are touched once a batch.
type Tally struct {
	Datagrams, Bytes, Joined, Truncated, Forged uint64
}
