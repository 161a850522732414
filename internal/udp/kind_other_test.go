//go:build !linux

package udp

func kinds() []kind {
	return []kind{
		{name: "plain", config: Config{Plain: true}},
		{name: "memory", memory: true},
	}
}
