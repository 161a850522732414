// Command scale computes what many players need: machines, bandwidth, and what breaks first. It measures what a datagram, a view, an
// input, an entry and an append cost in CPU time, and a server with bots in bytes and memory, and computes the tables of docs/scale.md.
//
//	cd bench && go run ./scale                                # the tables of the costs that are recorded
//	go run ./scale -measure ../docs/scale.json                # measure, record, and write the tables
//
// # By file
//
//	main.go, child.go      the command line; processes, so that CPU time is that of one role
//	cpu.go                 clocks of CPU time
//	measure_*.go           what is measured: datagrams, worlds, servers with bots, NATS
//	costs.go               what a run has measured; JSON
//	model.go               costs in, needs out; pure
//	table.go               what people read
package main
