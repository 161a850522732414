package main

import (
	"net/netip"
	"time"

	"parley/internal/udp"
)

const (
	datagramBatch = 64
	datagramBytes = 256
)

// measureDatagram measures the carrier: a server's socket, and as many players' as it finds datagrams at a time.
func measureDatagram() (c DatagramCost, err error) {
	const rounds = 2000
	c.Batch, c.Bytes = datagramBatch, datagramBytes
	server, err := udp.Listen("127.0.0.1:0", udp.Config{Gather: -1})
	if err != nil {
		return c, err
	}
	defer server.Close()
	small := udp.Config{Batch: 4, NoGRO: true, MaxDatagram: 2048, RecvBuffer: -1, SendBuffer: -1}
	var players []*udp.Socket
	var at []netip.AddrPort
	for range datagramBatch {
		p, err := udp.Dial(server.LocalAddr().String(), small)
		if err != nil {
			return c, err
		}
		defer p.Close()
		players, at = append(players, p), append(at, p.LocalAddr())
	}
	body := make([]byte, datagramBytes)
	out, in := server.NewSendBatch(), server.NewRecvBatch()
	theirs, answer := udp.NewSendBatch(small), players[0].NewRecvBatch()
	note := func(e error) {
		if err == nil {
			err = e
		}
	}
	send := timed(rounds, func() {
		for _, p := range players { // else their buffers would be full soon
			_ = p.Read(answer, time.Now().Add(-time.Second)) // there is none at first
		}
		for _, a := range at {
			out.Append(body, a)
		}
	}, func() { note(server.Write(out)) })
	n := 0
	receive := timed(rounds, func() {
		for _, p := range players {
			theirs.Append(body, server.LocalAddr())
			note(p.Write(theirs))
		}
	}, func() {
		for got := 0; got < datagramBatch && err == nil; {
			note(server.Read(in, time.Now().Add(time.Second)))
			if in.Len() == 0 {
				return
			}
			for m := in.Next(); m != nil; m = in.Next() {
				got++
			}
			n += in.Len()
		}
	})
	c.SendNS, c.Receive = send/datagramBatch, receive*rounds/float64(max(n, 1))
	return c, err
}
