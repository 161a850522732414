package cli

import (
	"encoding/hex"

	"parley/protocol/replica"
)

// A replicaShape is the JSON of one kind of packet: just its fields, in the order
// that they are printed.
type replicaShape interface {
	// show takes what p says.
	show(p *replica.Packet)

	// bytes gives p, whose kind is set, what the shape says, and returns its
	// bytes. An error names a field that they have no room for.
	bytes(p *replica.Packet) ([]byte, error)
}

func newReplicaShape(kind replica.Kind) replicaShape {
	switch kind {
	case replica.KindInit:
		return new(replicaInit)
	case replica.KindAccept:
		return new(replicaAccept)
	case replica.KindReject, replica.KindDisconnect:
		return new(replicaFarewell)
	case replica.KindSyncInit:
		return new(replicaSyncInit)
	case replica.KindSyncAck:
		return new(replicaSyncAck)
	case replica.KindAck:
		return new(replicaAck)
	case replica.KindLinkTable:
		return new(replicaTable)
	case replica.KindReplicate:
		return new(replicaReplicate)
	case replica.KindMessage:
		return new(replicaMessage)
	default:
		return new(replicaLink) // link.init, link.accept, link.reject
	}
}

// replicaHead begins each packet that has flags.
type replicaHead struct {
	Packet   string `json:"packet"`
	Reliable bool   `json:"reliable"`
	Ordered  bool   `json:"ordered"`
	Sequence uint16 `json:"sequence"`
}

func (h *replicaHead) show(p *replica.Packet) {
	*h = replicaHead{p.Kind.String(), p.Reliable, p.Ordered, p.Sequence}
}

func (h *replicaHead) fill(p *replica.Packet) {
	p.Reliable, p.Ordered, p.Sequence = h.Reliable, h.Ordered, h.Sequence
}

type replicaInit struct {
	replicaHead
	Extended bool `json:"extended,omitempty"`
}

func (s *replicaInit) show(p *replica.Packet) {
	s.replicaHead.show(p)
	s.Extended = p.Extended
}

func (s *replicaInit) bytes(p *replica.Packet) ([]byte, error) {
	s.fill(p)
	p.Extended = s.Extended
	return p.AppendTo(nil), nil
}

type replicaAccept struct {
	replicaHead
	Received     uint64 `json:"received"`
	Sent         uint64 `json:"sent"`
	SyncInterval uint32 `json:"sync_interval_us"`
	Extended     bool   `json:"extended,omitempty"`
}

func (s *replicaAccept) show(p *replica.Packet) {
	s.replicaHead.show(p)
	s.Received, s.Sent, s.SyncInterval, s.Extended = p.Received, p.Sent, p.SyncInterval, p.Extended
}

func (s *replicaAccept) bytes(p *replica.Packet) ([]byte, error) {
	s.fill(p)
	p.Received, p.Sent, p.SyncInterval, p.Extended = s.Received, s.Sent, s.SyncInterval, s.Extended
	return p.AppendTo(nil), nil
}

// replicaFarewell is a connect.reject or a disconnect.
type replicaFarewell struct {
	replicaHead
	Reason string `json:"reason"`
}

func (s *replicaFarewell) show(p *replica.Packet) {
	s.replicaHead.show(p)
	s.Reason = p.ReasonText()
}

func (s *replicaFarewell) bytes(p *replica.Packet) ([]byte, error) {
	if err := replicaFits("reason", len(s.Reason), replica.MaxReasonBytes); err != nil {
		return nil, err
	}
	s.fill(p)
	p.Reason = []byte(s.Reason)
	return p.AppendTo(nil), nil
}

type replicaSyncInit struct {
	Packet   string `json:"packet"`
	Sequence uint16 `json:"sequence"`
}

func (s *replicaSyncInit) show(p *replica.Packet) {
	*s = replicaSyncInit{p.Kind.String(), p.Sequence}
}

func (s *replicaSyncInit) bytes(p *replica.Packet) ([]byte, error) {
	p.Sequence = s.Sequence
	return p.AppendTo(nil), nil
}

type replicaSyncAck struct {
	Packet   string `json:"packet"`
	Sequence uint16 `json:"sequence"`
	Acked    uint16 `json:"acked"`
	Sent     uint64 `json:"sent"`
	Received uint64 `json:"received"`
}

func (s *replicaSyncAck) show(p *replica.Packet) {
	*s = replicaSyncAck{p.Kind.String(), p.Sequence, p.Acked, p.Sent, p.Received}
}

func (s *replicaSyncAck) bytes(p *replica.Packet) ([]byte, error) {
	p.Sequence, p.Acked, p.Sent, p.Received = s.Sequence, s.Acked, s.Sent, s.Received
	return p.AppendTo(nil), nil
}

type replicaAck struct {
	Packet string `json:"packet"`
	Acked  uint16 `json:"acked"`
}

func (s *replicaAck) show(p *replica.Packet) { *s = replicaAck{p.Kind.String(), p.Acked} }

func (s *replicaAck) bytes(p *replica.Packet) ([]byte, error) {
	p.Acked = s.Acked
	return p.AppendTo(nil), nil
}

type replicaLink struct {
	replicaHead
	OrderLink uint8 `json:"order_link,omitempty"`
}

func (s *replicaLink) show(p *replica.Packet) {
	s.replicaHead.show(p)
	s.OrderLink = p.OrderLink
}

func (s *replicaLink) fill(p *replica.Packet) error {
	s.replicaHead.fill(p)
	p.OrderLink = s.OrderLink
	return replicaFits("order_link", int(s.OrderLink), replica.MaxOrderLink)
}

func (s *replicaLink) bytes(p *replica.Packet) ([]byte, error) {
	if err := s.fill(p); err != nil {
		return nil, err
	}
	return p.AppendTo(nil), nil
}

type replicaTable struct {
	replicaLink
	Variables []replicaLinked       `json:"variables"`
	Entities  []replicaLinkedEntity `json:"entities"`
}

// replicaLinked is a variable of a table or of one of its entities.
type replicaLinked struct {
	Link uint16 `json:"link"`
	Type string `json:"type"`
	Name string `json:"name"`
}

type replicaLinkedEntity struct {
	Link      uint16          `json:"link"`
	Name      string          `json:"name"`
	Variables []replicaLinked `json:"variables"`
}

func (s *replicaTable) show(p *replica.Packet) {
	s.replicaLink.show(p)
	// Lists that are empty are printed as such, not as null.
	s.Variables, s.Entities = []replicaLinked{}, []replicaLinkedEntity{}
	for v := range p.Table.Variables() {
		s.Variables = append(s.Variables, replicaLinked{v.Link, v.Type.String(), string(v.Name)})
	}
	for e := range p.Table.Entities() {
		shown := replicaLinkedEntity{e.Link, string(e.Name), []replicaLinked{}}
		for v := range e.Variables() {
			shown.Variables = append(shown.Variables, replicaLinked{v.Link, v.Type.String(), string(v.Name)})
		}
		s.Entities = append(s.Entities, shown)
	}
}

func (s *replicaTable) bytes(p *replica.Packet) ([]byte, error) {
	if err := s.fill(p); err != nil {
		return nil, err
	}
	return new(replicaTableBuilder).build(p, s.Variables, s.Entities)
}

type replicaReplicate struct {
	replicaHead
	Timestamp uint64          `json:"timestamp"`
	Entities  []replicaUpdate `json:"entities"`
	Variables []replicaValue  `json:"variables"`
}

type replicaUpdate struct {
	Link      uint16                  `json:"link"`
	Variables []replicaVariableUpdate `json:"variables"`
}

type replicaVariableUpdate struct {
	Link   uint16               `json:"link"`
	Values []replicaEntityValue `json:"values"`
}

type replicaEntityValue struct {
	Entity uint8  `json:"entity"`
	Data   string `json:"data"` // hex
}

type replicaValue struct {
	Link uint16 `json:"link"`
	Data string `json:"data"` // hex
}

func (s *replicaReplicate) show(p *replica.Packet) {
	s.replicaHead.show(p)
	s.Timestamp = p.Time
	s.Entities, s.Variables = []replicaUpdate{}, []replicaValue{}
	for e := range p.Values.Entities() {
		update := replicaUpdate{e.Link, []replicaVariableUpdate{}}
		for u := range e.Variables() {
			values := []replicaEntityValue{}
			for id, data := range u.Values() {
				values = append(values, replicaEntityValue{id, hex.EncodeToString(data)})
			}
			update.Variables = append(update.Variables, replicaVariableUpdate{u.Link, values})
		}
		s.Entities = append(s.Entities, update)
	}
	for v := range p.Values.Variables() {
		s.Variables = append(s.Variables, replicaValue{v.Link, hex.EncodeToString(v.Data)})
	}
}

func (s *replicaReplicate) bytes(p *replica.Packet) ([]byte, error) {
	s.fill(p)
	p.Time = s.Timestamp
	return replicaValues(p, s.Entities, s.Variables)
}

type replicaMessage struct {
	replicaHead
	Timestamp uint64 `json:"timestamp"`
	Name      string `json:"name"`
	Data      string `json:"data"` // hex
	OrderLink uint8  `json:"order_link,omitempty"`
	More      bool   `json:"more,omitempty"`
}

func (s *replicaMessage) show(p *replica.Packet) {
	s.replicaHead.show(p)
	s.Timestamp, s.Name, s.Data = p.Time, string(p.Name), hex.EncodeToString(p.Data)
	s.OrderLink, s.More = p.OrderLink, p.More
}

func (s *replicaMessage) bytes(p *replica.Packet) (b []byte, err error) {
	s.fill(p)
	p.Time, p.Name, p.OrderLink, p.More = s.Timestamp, []byte(s.Name), s.OrderLink, s.More
	if p.Data, err = replicaHex("data", s.Data); err != nil {
		return nil, err
	}
	for _, err := range []error{
		replicaFits("name", len(p.Name), replica.MaxNameBytes),
		replicaFits("data", len(p.Data), replica.MaxDataBytes),
		replicaFits("order_link", int(s.OrderLink), replica.MaxOrderLink),
	} {
		if err != nil {
			return nil, err
		}
	}
	return p.AppendTo(nil), nil
}
