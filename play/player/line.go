package player

import (
	"context"
	"time"

	"parley/play/message"
	"parley/world"
)

// line is one connection of a player. A player who comes back has a new one.
type line struct {
	*Player
	dialect string
	voice   voice
	memory  memory       // nil if the dialect's client has none
	run     func() error // reads events until there are no more, and returns why
	resumes bool         // it has shown the token of a session

	// Under mu.
	sight   Sight
	stale   bool // memory has more
	entered bool // the server has let the player in

	// Owned by run, and after it by live.
	began   time.Time
	heard   time.Time // when something was told last
	refused string    // why the server does not let the player in
	ignored bool      // the server did not say whether it does
	words   string    // the server's last line of chat
	spoken  time.Time // when that came
}

// dial opens a connection with a pass, and does the dialect's handshake.
func (p *Player) dial(ctx context.Context, at Way, pass []byte) (*line, error) {
	l := &line{Player: p, dialect: at.Dialect, heard: time.Now()}
	l.resumes = len(pass) > 0 && message.PassKind(pass[0]) == message.PassSession
	l.sight.Things, l.sight.Players = map[uint16]Thing{}, map[uint16]string{}
	join := map[string]func(context.Context, string, []byte) error{
		"replica": l.joinReplica, "stamp": l.joinStamp, "relay": l.joinRelay, "duplex": l.joinDuplex, "realm": l.joinRealm,
	}[at.Dialect]
	if err := join(ctx, at.Addr, pass); err != nil {
		return nil, err
	}
	return l, nil
}

// hears notes that something was told.
func (l *line) hears() { l.heard = time.Now() }

// told notes the session of a player who has entered, if it could be read.
func (l *line) told(s message.Session, ok bool) {
	if !ok {
		return
	}
	l.mu.Lock()
	if l.previous = (message.Token{}); l.resumes {
		l.previous = l.session.Token
	}
	l.session = s
	l.mu.Unlock()
	l.enter()
}

// enter notes that the server has let the player in. A player who was away is back.
func (l *line) enter() {
	l.mu.Lock()
	if l.entered {
		l.mu.Unlock()
		return
	}
	l.entered = true
	back := l.away && !l.leaving
	// "A log-in of an account whose player is away is that player again, without a token."
	n := Notice{Kind: Back, Text: l.dialect, Same: l.resumes || l.dialect == "realm", Absence: l.heard.Sub(l.since)}
	if back {
		l.sight.Updates += l.line.sight.Updates
		l.line, l.away = l, false
	}
	l.mu.Unlock()
	if back {
		l.tell(n)
	}
}

// learn changes what is known, and tells that something was told. What comes ahead of the word that the player is back is not
// told yet.
func (l *line) learn(change func(v *Sight)) {
	l.mu.Lock()
	change(&l.sight)
	l.sight.Updates++
	present := l.line == l
	l.mu.Unlock()
	if present {
		l.tell(Notice{Kind: Updated})
	}
}

// hear tells of a line of chat, if it could be read.
func (l *line) hear(name, text []byte, ok bool) {
	if !ok {
		return
	}
	if string(name) == message.ServerName {
		l.words, l.spoken = string(text), time.Now()
	}
	l.tell(Notice{Kind: Said, Name: string(name), Text: string(text)})
}

// watch tells of an action that was done, if it could be read.
func (l *line) watch(d message.Done, ok bool) {
	if ok {
		l.tell(Notice{Kind: Acted, Entity: d.Entity})
	}
}

// readRecords reads what stamp and relay say of entities.
func (l *line) readRecords(b []byte, o world.Order) {
	l.learn(func(v *Sight) {
		for rec := range message.Records(b, o) {
			if len(rec.Fields) == 0 {
				delete(v.Things, rec.Entity)
			} else if k := l.cfg.Schema.Kind(rec.Kind); k != nil {
				v.put(rec.Entity, k, rec.Fields, o)
			}
		}
	})
}

// put notes an entity of which b has all fields, in the order of the schema; a body's come first.
func (v *Sight) put(id uint16, k *world.Kind, b []byte, o world.Order) {
	t := Thing{Kind: k.Number}
	if k.HasBody {
		var body [world.FieldNorm + 1]world.Value
		if _, ok := message.ParseFields(body[:], k.Fields[:len(body)], b, o); !ok {
			return
		}
		t.X, t.Y = body[world.FieldX].Float(), body[world.FieldY].Float()
		t.Angle, t.Norm = float32(body[world.FieldAngle].Float()), float32(body[world.FieldNorm].Float())
	}
	v.Things[id] = t
}
