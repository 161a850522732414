module parley/bench

go 1.26.0

require (
	github.com/quic-go/quic-go v0.64.1
	golang.org/x/net v0.62.0
	parley v0.0.0
)

require (
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace parley => ../
