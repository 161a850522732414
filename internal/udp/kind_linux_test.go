package udp

func kinds() []kind {
	return []kind{
		{name: "batched"},
		{name: "batched without GSO and GRO", config: Config{NoGSO: true, NoGRO: true}},
		{name: "batched without GRO", config: Config{NoGRO: true}},
		{name: "plain", config: Config{Plain: true}},
		{name: "memory", memory: true},
	}
}
