package core

import (
	"iter"
	"strconv"
	"strings"
	"time"

	"parley/internal/queue"
)

// serverSide is what a server knows of a client beside the stream.
type serverSide struct {
	conn    *Conn // whose endpoint it is
	version uint16
	asked   queue.Fifo[asked] // the first is being answered
	next    uint64            // number of the next question

	account string // of the player in the game, and its entity
	entity  uint16

	chatBudget time.Duration // how much of the chat rate was not used
	chatAt     time.Time
}

// asked is a question that waits for its answer.
type asked struct {
	Question
	kind EventKind
}

// serve does what a client's message asks for.
func (e *Endpoint) serve(now time.Time, m *Message) (Event, bool) {
	if e.state == StateOpening {
		return e.serveFirst(now, m)
	}
	if e.common(now, m) {
		return Event{}, false
	}
	switch m.Kind {
	case KindLogin:
		return e.ask(now, EventLogin, m)
	case KindRegister:
		return e.ask(now, EventRegister, m)
	case KindVersion:
		return e.refuse(now, "a second version")
	}
	if e.state != StatePlaying {
		// "everything else before a login is exit 2"
		return e.refuse(now, m.Kind.String()+" before a login")
	}
	switch m.Kind {
	case KindChatSend:
		return e.serveChat(now, m)
	case KindTerrainRequest:
		return e.serveTerrain(now, m)
	}
	return e.serveTicked(now, m)
}

// refuse ends the connection because of a message that breaks the rules.
func (e *Endpoint) refuse(now time.Time, why string) (Event, bool) {
	e.count(&e.stats.Bad)
	e.fail(now, Close{Reason: ReasonProtocol, Exit: ExitNetworkError, Text: why})
	return Event{}, false
}

// serveFirst takes the first message: "Client: version. Server: config, or exit 6 (client
// older) or 7 (client newer) and close. Any other first message is exit 2."
func (e *Endpoint) serveFirst(now time.Time, m *Message) (Event, bool) {
	if m.Kind == KindExit {
		e.common(now, m)
		return Event{}, false
	}
	if m.Kind != KindVersion {
		return e.refuse(now, m.Kind.String()+" before the version")
	}
	e.count(&e.stats.Taken)
	text := "version " + strconv.Itoa(int(m.Version))
	switch {
	case m.Version < e.cfg.MinVersion:
		e.fail(now, Close{Reason: ReasonVersion, Exit: ExitClientOutdated, Text: text})
		return Event{}, false
	case m.Version > e.cfg.MaxVersion:
		e.fail(now, Close{Reason: ReasonVersion, Exit: ExitServerOutdated, Text: text})
		return Event{}, false
	}
	e.server.version = m.Version
	e.state = StateLobby
	e.send(now, &Message{Kind: KindConfig, MaxRollbackTicks: uint16(min(e.cfg.MaxRollbackTicks, 1<<16-1)),
		TimeServerPort: e.cfg.TimeServerPort, Extension: e.cfg.extension})
	return e.tell(now, EventOpened, m)
}

// ask notes a registration or a log-in, and tells of it when those before are answered: answers
// carry no number, so they come in the order of the questions.
func (e *Endpoint) ask(now time.Time, kind EventKind, m *Message) (Event, bool) {
	s := &e.server
	if s.asked.Len() >= maxAsked {
		return e.refuse(now, "too many questions at once")
	}
	if len(m.Name)+len(m.Password) > maxEarlyMessage { // of a player in the game, whose messages may be longer
		return e.refuse(now, "a question of "+strconv.Itoa(len(m.Name)+len(m.Password))+" bytes")
	}
	e.count(&e.stats.Taken)
	s.next++
	q := Question{Number: s.next, Name: string(m.Name), Password: string(m.Password)}
	if at := strings.LastIndexByte(q.Name, '@'); kind == EventLogin && at >= 0 {
		q.Name, q.Room = q.Name[:at], q.Name[at+1:]
	}
	s.asked.Push(asked{q, kind})
	if s.asked.Len() == 1 {
		e.question(now)
	}
	return Event{}, false
}

// question tells of the questions that come next, up to the first that has no answer yet.
func (e *Endpoint) question(now time.Time) {
	s := &e.server
	for s.asked.Len() > 0 && e.state < StateClosing {
		q := s.asked.First()
		if q.kind == EventRegister || e.state == StateLobby {
			e.announced.Push(Event{Kind: q.kind, Question: q.Question})
			return
		}
		// A player that is in the game is in already.
		e.answer(now, &Message{Kind: KindLoginResponse, Code: uint8(LoginAlreadyConnected)})
	}
}

// answer sends the answer to the first question.
func (e *Endpoint) answer(now time.Time, m *Message) {
	e.server.asked.Pop()
	e.server.asked.Trim()
	e.send(now, m)
}

// pending reports whether a question is the one that waits for its answer.
func (e *Endpoint) pending(number uint64, kind EventKind) bool {
	s := &e.server
	return e.state < StateClosing && s.asked.Len() > 0 && s.asked.First().Number == number && s.asked.First().kind == kind
}

// answerRegister answers EventRegister. It reports false, and does nothing, if nobody waits
// for it any more.
func (e *Endpoint) answerRegister(now time.Time, number uint64, code RegisterCode) bool {
	if !e.pending(number, EventRegister) {
		return false
	}
	e.now = now
	e.answer(now, &Message{Kind: KindRegisterResponse, Code: uint8(code)})
	e.question(now)
	return true
}

// answerLogin answers EventLogin. With LoginOK the game is asked next: EventEnter. It reports
// false, and does nothing, if nobody waits for it any more.
func (e *Endpoint) answerLogin(now time.Time, number uint64, code LoginCode) bool {
	if !e.pending(number, EventLogin) || e.state != StateLobby {
		return false
	}
	e.now = now
	if code != LoginOK {
		e.answer(now, &Message{Kind: KindLoginResponse, Code: uint8(code)})
		e.question(now)
		return true
	}
	e.state = StateEntering
	q := e.server.asked.First().Question
	q.Password = "" // nobody needs it any more
	e.server.asked.First().Password = ""
	e.announced.Push(Event{Kind: EventEnter, Question: q})
	return true
}

// refuseEntry answers EventEnter with no.
func (e *Endpoint) refuseEntry(now time.Time, code LoginCode) bool {
	if e.state != StateEntering || code == LoginOK {
		return false
	}
	e.now = now
	e.state = StateLobby
	e.answer(now, &Message{Kind: KindLoginResponse, Code: uint8(code)})
	e.question(now)
	return true
}

// Entry is the state with which a player enters the game.
type Entry struct {
	// Entity is the player's own entity, with all fields. The chunk of its position is sent first.
	Entity Entity

	// Sight yields the other entities in the player's sight, with all fields.
	Sight iter.Seq[Entity]

	// Players yields the other players in the game: their entities and names.
	Players iter.Seq2[uint16, string]
}

// enter answers EventEnter with yes: "ok is followed, in this order, by: the chunk that the
// player's entity is in …, entity_create for every entity in sight, meta_action player_joined
// for every player present, the player's own entity_create, then player_joined broadcast to
// all, the newcomer included". The last is the Mux's.
func (e *Endpoint) enter(now time.Time, en *Entry) {
	e.now = now
	q := e.server.asked.First()
	e.server.account, e.server.entity = q.Name, en.Entity.ID
	e.state = StatePlaying
	e.in.limit(MaxMessage)
	e.server.chatAt, e.server.chatBudget = now, time.Second
	// "The tick is that of the messages that follow it": a game that is behind the clock tells its own tick,
	// and when that was due.
	tick, start := e.server.conn.group.tickStart(now)
	e.answer(now, &Message{Kind: KindLoginResponse, Tick: uint16(tick), Timestamp: start})
	if e.source() != nil {
		e.terrain.begin(now, e.cfg.TerrainRate)
		e.terrain.want(ChunkID{en.Entity.Position.BX, en.Entity.Position.BY})
		e.sendChunks(now, 1, true)
		e.terrain.wantAround(en.Entity.Position, e.cfg.SightRadius)
	}
	wire := uint16(e.tick(now))
	if en.Sight != nil {
		for other := range en.Sight {
			e.send(now, &Message{Kind: KindEntityCreate, Tick: wire, Entity: other})
		}
	}
	if en.Players != nil {
		for id, name := range en.Players {
			e.send(now, &Message{Kind: KindMetaAction, Tick: wire, ID: id, Code: uint8(MetaPlayerJoined), Name: []byte(name)})
		}
	}
	e.send(now, &Message{Kind: KindEntityCreate, Tick: wire, Entity: en.Entity})
}

// serveChat takes what a player says: "chat_send of 1–512 bytes, at most 5 a second".
func (e *Endpoint) serveChat(now time.Time, m *Message) (Event, bool) {
	s := &e.server
	if len(m.Text) > e.cfg.MaxChat {
		return e.refuse(now, "a chat_send of "+strconv.Itoa(len(m.Text))+" bytes")
	}
	cost := time.Second / time.Duration(e.cfg.ChatRate)
	s.chatBudget = min(s.chatBudget+now.Sub(s.chatAt), time.Second)
	s.chatAt = now
	if len(m.Text) == 0 || s.chatBudget < cost {
		e.count(&e.stats.ChatFast)
		return Event{}, false
	}
	s.chatBudget -= cost
	e.count(&e.stats.Taken)
	if !e.cfg.OwnChat {
		s.conn.group.Say(s.entity, m.Text)
	}
	return e.tell(now, EventMessage, m)
}

// serveTerrain notes which chunks a client wants. Without a Terrain the game is told.
func (e *Endpoint) serveTerrain(now time.Time, m *Message) (Event, bool) {
	e.count(&e.stats.Taken)
	if e.source() == nil {
		return e.tell(now, EventMessage, m)
	}
	for id := range m.Wanted.All() {
		e.wantChunk(id)
	}
	return Event{}, false
}

// wantChunk notes a chunk that a client wants, or that there is no room for it.
func (e *Endpoint) wantChunk(id ChunkID) {
	if !e.terrain.want(id) {
		e.stats.ChunkUnsaid++
	}
}

// serveTicked takes an entity_update or an action_do: "If it is in the past by at most
// maxRollbackTicks, …; older ones and ones more than 2 ticks ahead are refused (counted; the
// client is sent a correcting entities_update)". What it does is the game's.
//
// The past is counted from the tick that the game has come to, and what is ahead from the tick of the
// clock, by which clients count: while a game catches up with the clock, what its players do now is
// ahead of it, and no less theirs to do.
func (e *Endpoint) serveTicked(now time.Time, m *Message) (Event, bool) {
	at, tick := e.tick(now), e.unwire(now, m.Tick)
	due, _ := e.server.conn.group.dueTick(now)
	if tick > due+maxTicksAhead || tick+uint64(e.cfg.MaxRollbackTicks) < at {
		e.count(&e.stats.Refused)
		return e.tell(now, EventRefused, m)
	}
	e.count(&e.stats.Taken)
	return e.tell(now, EventMessage, m)
}

// tick returns the tick of now: a server's own, or as a client knows it.
func (e *Endpoint) tick(now time.Time) uint64 {
	if e.side == FromClient {
		return e.client.tick(now)
	}
	return e.server.conn.world().Tick(now)
}
