package gateway

// service is what all dialects have in common: an inbox for what came, a server whose loop the hub stops to publish, and the
// counters of what was sent.
type service struct {
	hub     *Hub
	name    string
	carrier string // what brings its packets
	inbox   inbox
	loop    func(fn func()) error // runs fn while the server's loop stands still; an error if the server is closed
	open    bool                  // while the hub visits: the server is not closed

	// Owned by the server's loop.
	buf   []byte
	costs fieldCosts
}

// newService has the costs of fields counted by their sizes.
func newService(h *Hub, name, carrier string, size fieldSize) service {
	return service{hub: h, name: name, carrier: carrier, inbox: inbox{knock: h.knock}, costs: newFieldCosts(h.Schema(), size)}
}

// Name returns the dialect's name.
func (d *service) Name() string { return d.name }

func (d *service) requests() *inbox { return &d.inbox }

func (d *service) visit(fn func()) {
	d.open = true
	if d.loop(fn) != nil {
		d.open = false
		fn()
	}
}

// FieldBytes returns the bytes of entities' fields that were sent.
func (d *service) FieldBytes() (b FieldBytes) {
	_ = d.loop(func() { b = d.costs.bytes(d.hub.Schema()) }) // a closed server has none
	return b
}
