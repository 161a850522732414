// Package tcp has models of TCP downloads, to share a link of simnet with: a sender with an endless supply of data,
// under the congestion control Reno or CUBIC, and its receiver. Tests of fairness use them.
//
//	link := n.NewLink(simnet.Profile{Delay: 20 * time.Millisecond, Rate: 2_000_000})
//	flow := tcp.Join(n, tcp.Cubic, from, to, link, n.NewLink(simnet.Profile{Delay: 20 * time.Millisecond}))
//	n.After(5*time.Second, "download", flow.Start)
//
// A datagram is a segment or an acknowledgement, with as many bytes as those have on a wire. Modelled are slow start,
// congestion avoidance, fast retransmission and recovery with selective acknowledgements, and the retransmission
// timeout. Left out are the opening and the end of a connection, delayed acknowledgements, pacing, HyStart, and a
// receiver that is slow.
//
// Files: flow.go (a download on a network), sender.go (what is in flight and what is lost), window.go (Reno and CUBIC),
// receiver.go.
package tcp
