package gateway

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"parley/play/message"
	"parley/world"
)

// What players of this server ask of a shared room. The room is quiet.

// ask asks for a wish, and reports whether it is on its way: if not, too much waits for the log.
func (x *shared) ask(a asked, body []byte) bool {
	number, err := x.part.Ask(body)
	if err != nil {
		return false
	}
	a.number = number
	x.count(&a, 1)
	x.asked = append(x.asked, a)
	return true
}

// mustAsk asks for what is not a player's to ask again.
func (x *shared) mustAsk(kind wishKind, p world.PlayerID, text string) {
	x.must(kind, append(appendWish(nil, kind, p), text...))
}

func (x *shared) must(kind wishKind, body []byte) {
	again := func() bool { return x.ask(asked{kind: kind}, body) }
	if len(x.unasked) > 0 || !again() {
		x.unasked = append(x.unasked, again)
	}
}

// inject asks for an action of the world itself.
func (x *shared) inject(action any) error {
	body, err := x.room.sim.AppendInject(appendWish(nil, wishInject, 0), action)
	if err == nil {
		x.askInject(body)
	}
	return err
}

func (x *shared) askInject(body []byte) {
	again := func() bool { return x.ask(asked{kind: wishInject, body: body}, body) }
	if len(x.unasked) > 0 || !again() {
		x.unasked = append(x.unasked, again)
	}
}

// input asks for a steer or an act.
func (x *shared) input(s *Seat, q *request, wish []byte, why world.Reason) {
	if why.Refused() {
		if s.did(q.number); q.ask == askSteer {
			s.view.Refused(x.room.entityOf(s.player), x.room.tickOf(q))
		}
		x.room.judge(s, q.tag, why)
		return
	}
	a := asked{kind: wishInput, seat: s, tag: q.tag, stamp: q.number, steers: q.ask == askSteer, player: s.player.ID, size: len(wish)}
	if !x.mayWish(s, len(wish)) || !x.ask(a, wish) {
		s.did(q.number)
		x.room.judge(s, q.tag, world.TooMany)
	}
}

// steer and act are those of a room that is not shared. A tick that a client has not named is the one in which it is done.
func (x *shared) steer(s *Seat, q *request) {
	b, why := x.room.sim.AppendSteer(appendWish(nil, wishInput, 0), s.player.ID, x.room.tickOf(q), q.shown, q.tick == 0 || q.number != 0, q.steer)
	x.input(s, q, b, why)
}

func (x *shared) act(s *Seat, q *request) {
	b, why := x.room.sim.AppendAct(appendWish(nil, wishInput, 0), s.player.ID, x.room.tickOf(q), q.shown, q.tick == 0 || q.number != 0, q.action, q.params[:len(q.action.Fields)])
	x.input(s, q, b, why)
}

// say asks for a line of chat.
func (x *shared) say(s *Seat, tag uint32, text []byte) world.Reason {
	a := asked{kind: wishSay, seat: s, tag: tag, size: len(text)} // chatRate bounds those of a player
	if !x.hasPlace(a.size) || !x.ask(a, append(appendWish(nil, wishSay, s.player.ID), text...)) {
		return world.TooMany
	}
	return 0
}

// mayWish reports whether an input of a player may wait for the log: when many wait, one of each does, so that players who ask for a hundred times as
// much as others take nothing from them.
func (x *shared) mayWish(s *Seat, size int) bool {
	most := maxWishesOf
	if x.wishes >= maxWishes/2 || x.bytes >= maxWishBytes/2 {
		most = fewWishesOf
	}
	return s.wishes < most && x.hasPlace(size)
}

// hasPlace reports whether what players ask for in the room leaves places for who comes, who leaves and what operators do.
func (x *shared) hasPlace(size int) bool {
	return x.wishes < maxWishes && x.bytes+size <= maxWishBytes
}

// count counts what waits for the log, by 1 or −1.
func (x *shared) count(a *asked, by int) {
	if a.size == 0 {
		return
	}
	x.wishes, x.bytes = x.wishes+by, x.bytes+by*a.size
	if a.kind == wishInput {
		a.seat.wishes += by
	}
}

// answered forgets the first of what was asked for, which the log has.
func (x *shared) answered(n int) {
	for i := range x.asked[:n] {
		x.count(&x.asked[i], -1)
	}
	x.asked = slices.Delete(x.asked, 0, n)
}

// stands has players ask for as much as in a tick, although the log has brought none for as long. What waits for it has bounds of its own; without this,
// it would be those who go on playing in an election whose chat and confirmations are dropped after it.
func (x *shared) stands() {
	now := time.Now()
	if x.room.state != roomQuiet || now.Sub(x.eased) < x.room.hub.every() {
		return
	}
	x.eased = now
	some := false
	for _, side := range x.room.sides {
		if side == nil {
			continue
		}
		for _, s := range side.seats {
			s.handled, some = 0, true
		}
	}
	if some {
		x.claim(now)
	}
}

// join asks for a place for a newcomer.
func (x *shared) join(s *Seat, name string) {
	j := joinWish{name: name, account: s.account}
	if !s.account {
		rand.Read(s.token[:])
		j.session.Token = sha256.Sum256(s.token[:])
	}
	if s.pass != nil && s.pass.Kind == message.PassTicket {
		j.session.Serial, j.session.Expires = s.pass.serial, s.pass.expires
	}
	x.enters(s, wishJoin, j.appendTo(nil))
}

// comeBack asks for the seat of a player.
func (x *shared) comeBack(s *Seat, p *Player) error {
	r := x.room
	own := 0 // its place at its address is free for the new connection
	if p.seat != nil && p.seat.counted && p.seat.from == s.from || p.counted && p.from == s.from {
		own = 1
	}
	if s.from.IsValid() && !r.hub.hasRoomBut(s.from, own) {
		r.hub.stats.Crowded++
		return RefusedCrowd
	}
	r.giveBack(s) // the number of its own entity is the one that it had
	b := appendWish(nil, wishBack, p.ID)
	used, token := world.TokenHash{}, world.TokenHash{}
	if s.pass != nil && s.pass.Kind == message.PassSession {
		used = s.pass.token
	}
	if !s.account {
		rand.Read(s.token[:])
		token = sha256.Sum256(s.token[:])
	}
	s.room, s.considered = r, false
	s.counted = s.from.IsValid() && r.hub.crowd.Enter(s.from)
	x.enters(s, wishBack, append(append(b, used[:]...), token[:]...))
	return nil
}

// enters asks for what brings a connection into the room. First its token must be known to all servers: its player may be told it as soon as the log
// has the wish.
func (x *shared) enters(s *Seat, kind wishKind, body []byte) {
	r := x.room
	s.entering = true
	r.entering++
	if s.account {
		x.entersNow(s, kind, body, nil)
		return
	}
	then := func(err error) { r.do(func() { x.entersNow(s, kind, body, err) }) }
	if !x.all.note(sha256.Sum256(s.token[:]), r.Name(), then) {
		x.entersNow(s, kind, body, RefusedBusy)
	}
}

func (x *shared) entersNow(s *Seat, kind wishKind, body []byte, err error) {
	r := x.room
	var why error
	switch {
	case r.state == roomEnded:
		why = s.noRoom()
	case s.left:
		why = errResumed // nobody is told
	case err != nil, !x.ask(asked{kind: kind, seat: s}, body):
		why = RefusedBusy
	default:
		return
	}
	x.turnAway(s, why)
}

// early keeps what a connection asks for that is not in yet. Alone, a server lets it in with the next tick; here that is when the log has
// it, and clients of duplex do not wait.
func (x *shared) early(s *Seat, q *request) {
	if len(s.early) >= maxRequests {
		x.room.hub.stats.DroppedInput++
		return
	}
	kept := *q
	kept.line = bytes.Clone(q.line)
	s.early = append(s.early, kept)
}

// leave is the end of a player's connection.
func (x *shared) leave(s *Seat, goodbye bool) {
	r, p := x.room, s.player
	r.vacate(s)
	p.seat, p.from, p.counted = nil, s.from, s.counted
	s.counted = false
	r.unseat(s)
	kind := wishLeave
	if r.hub.hold() > 0 && !goodbye && s.canReturn() && s.kicked == nil {
		kind = wishAway
	}
	x.goes(p.ID, s.since, kind)
}

// goes asks that a player be away, or leave. since is when it got the connection that is gone; 0 is any.
func (x *shared) goes(p world.PlayerID, since uint64, kind wishKind) {
	x.must(kind, binary.LittleEndian.AppendUint64(appendWish(nil, kind, p), since))
}

// keepUp is done after each tick: what found the part busy is asked, the others are told who is here, and who is nowhere is away.
func (x *shared) keepUp() {
	for len(x.unasked) > 0 && x.unasked[0]() {
		x.unasked = x.unasked[1:]
	}
	now := time.Now()
	x.claim(now)
	if now.Sub(x.swept) < time.Second {
		return
	}
	stood := now.Sub(x.swept) > silentNode/4 // the room stood still, and it may be that other servers did
	x.swept = now
	was := x.sequence && !stood
	if x.sequence = x.part.Sequences(); !x.sequence {
		return
	}
	for _, p := range x.room.Players() {
		switch at, ok := x.room.sim.Seat(p.ID); {
		case !was:
			x.heard[p.ID] = now // it is heard of from now on
		case ok && !at.Away && p.seat == nil && now.Sub(x.heard[p.ID]) > silentNode:
			x.heard[p.ID] = now
			x.goes(p.ID, at.Since, wishAway) // its server is gone
		}
	}
}

// claim tells the others each second who is here: also while this server has no ticks, as it runs again what it has missed. Else players would be away
// whose server was cut off for nearly as long as silence counts for death.
func (x *shared) claim(now time.Time) {
	if now.Sub(x.told) < time.Second {
		return
	}
	x.told = now
	x.part.Tell(x.here())
}

// here lists the players who are connected to this server.
//
//	here    server u64, players: number u16, dialect and carrier u8: message.Via
func (x *shared) here() []byte {
	b := binary.LittleEndian.AppendUint64(nil, x.node)
	for _, p := range x.room.players {
		if p.seat != nil && len(b) < maxHere {
			b = append(binary.LittleEndian.AppendUint16(b, uint16(p.ID)), byte(p.via()))
		}
	}
	return b
}

// hear takes what another server has told with here. A worker calls it.
func (x *shared) hear(b []byte) { x.claims = append(x.claims, b) }

// hearAll notes who is at another server.
func (x *shared) hearAll() {
	now := time.Now()
	for _, b := range x.claims {
		if len(b) < 8 {
			continue
		}
		node, many := binary.LittleEndian.Uint64(b), (len(b)-8)/3
		if node == x.elseNode || many >= x.elseMany || now.Sub(x.elseAt) > claimTime {
			x.elseNode, x.elseMany, x.elseAt = node, many, now
		}
		for b = b[8:]; len(b) >= 3; b = b[3:] {
			x.heard[world.PlayerID(binary.LittleEndian.Uint16(b))] = now
		}
	}
	x.claims = nil
}

// heir returns the server that has most of the room's players, 0 if none has any.
func (x *shared) heir(now time.Time) uint64 {
	if x.elseMany == 0 || now.Sub(x.elseAt) > claimTime {
		return 0
	}
	return x.elseNode
}
