// Package tcp models TCP connections on a network of simnet: as a download with an endless supply of data, to share a link
// with, and as a pipe that carries the bytes of a dialect and knows what a system would say of it. The congestion control is
// Reno or CUBIC.
//
//	link := n.NewLink(simnet.Profile{Delay: 20 * time.Millisecond, Rate: 2_000_000})
//	flow := tcp.Join(n, tcp.Cubic, from, to, link, n.NewLink(simnet.Profile{Delay: 20 * time.Millisecond}))
//	n.After(5*time.Second, "download", flow.Start)
//
// A datagram is a segment, with an acknowledgement or without, or an acknowledgement alone, with as many bytes as those have
// on a wire. Modelled are slow start, congestion avoidance, fast retransmission and recovery with selective acknowledgements,
// the retransmission timeout, delayed acknowledgements of a peer that answers, and a bound of the rate. Left out are the opening
// and the end of a connection, HyStart, and a receiver that is slow.
//
// Files: pipe.go (one end of a connection), flow.go (a download on a network), sender.go (what is in flight and what is
// lost), window.go (Reno and CUBIC), receiver.go.
package tcp
