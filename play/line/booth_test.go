package line_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"testing"

	"parley/arena"
	"parley/internal/patient"
	"parley/play/line"
	"parley/play/message"
	"parley/play/schema"
	"parley/protocol/duplex"
	duplexcore "parley/protocol/duplex/core"
	"parley/protocol/realm"
	"parley/protocol/relay"
	relaycore "parley/protocol/relay/core"
	"parley/protocol/replica"
	"parley/protocol/stamp"
	"parley/test/field"
	"parley/world"
)

// booth is a server of three dialects that knows passes and sessions, and nothing of a world: a test says what it does.
type booth struct {
	testing.TB
	schema *world.Schema
	at     map[string]string // by dialect; it opens there again
	drop   map[string]func(why string)
	shut   map[string]func()

	mu        sync.Mutex
	hold      uint16
	refusal   string                // whoever comes is told so, unless it is empty
	sessions  map[message.Token]int // the player of each token
	shown     []string              // the passes, in words
	players   int
	confirmed int // sessions, over duplex
	flood     int // how many more sessions a player of duplex is told
}

var boothDialects = []string{"replica", "relay", "duplex"}

func newBooth(t testing.TB) *booth {
	b := &booth{TB: t, schema: field.Schema(t, arena.Game()), at: map[string]string{}, hold: 30, sessions: map[message.Token]int{}}
	for _, d := range boothDialects {
		b.at[d] = field.Any
	}
	b.open()
	t.Cleanup(b.close)
	return b
}

func (b *booth) open() {
	b.Helper()
	b.drop, b.shut = map[string]func(string){}, map[string]func(){}
	b.openReplica()
	b.openRelay()
	b.openDuplex()
}

func (b *booth) close() {
	for _, f := range b.shut {
		f()
	}
	clear(b.shut)
}

// judge looks at a pass. It returns the number of a player and what it is told of its session, or why it is not let in.
func (b *booth) judge(raw []byte) (who int, told message.Session, refusal string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	pass, err := message.ParsePass(raw)
	switch {
	case len(raw) == 0:
		b.shown = append(b.shown, "none")
	case err != nil:
		b.shown = append(b.shown, "malformed")
	case pass.Kind == message.PassRoom:
		b.shown = append(b.shown, fmt.Sprintf("room %s, name %s", pass.Room, pass.Name))
	default:
		b.shown = append(b.shown, string(rune(pass.Kind)))
	}
	switch {
	case b.refusal != "":
		return 0, told, b.refusal
	case err == nil && pass.Kind == message.PassSession:
		if who = b.sessions[pass.Token]; who == 0 {
			return 0, told, "no such session"
		}
	default:
		b.players++
		who = b.players
	}
	rand.Read(told.Token[:])
	told.Hold = b.hold
	b.sessions[told.Token] = who
	return who, told, ""
}

// world is what the booth tells of its world.
func (b *booth) world() message.World {
	return message.World{Seed: 1, Fingerprint: b.schema.Fingerprint()}
}

// passes returns what was shown.
func (b *booth) passes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.shown)
}

// count returns how many players there were.
func (b *booth) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.players
}

// set changes what the booth does.
func (b *booth) set(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

func must[T any](b *booth, what string, open func(addr string) (T, error)) T {
	b.Helper()
	x, err := open(b.at[what])
	if err != nil {
		b.Fatal(what, err)
	}
	return x
}

func (b *booth) openReplica() {
	conns := map[*replica.Conn]bool{}
	s := must(b, "replica", func(addr string) (*replica.Server, error) {
		return replica.Listen(addr, replica.Config{}, func(c *replica.Conn, ev replica.Event) {
			if ev.Kind != replica.EventMessage || string(ev.Name) != message.ReplicaPass {
				return
			}
			_, told, refusal := b.judge(ev.Data)
			if refusal != "" {
				c.Close(refusal)
				return
			}
			conns[c] = true
			b.check(c.SendReserved(replica.Reliable, message.ReplicaSession, told.AppendTo(nil, message.Little)))
			b.check(c.SendReserved(replica.Ordered, message.ReplicaWorld, b.world().AppendTo(nil, message.Little)))
			b.check(c.SendReserved(replica.Reliable, message.ReplicaTick, message.Fate{}.AppendTo(nil, message.Little)))
			b.check(c.SendReserved(replica.Reliable, message.ReplicaSession, []byte("too short")))
		})
	})
	b.at["replica"] = s.Addr().String()
	b.shut["replica"] = func() { s.Close() }
	b.drop["replica"] = func(why string) {
		b.check(s.Do(func() {
			for c := range conns {
				c.Close(why)
				delete(conns, c)
			}
		}))
	}
}

func (b *booth) openRelay() {
	peers := map[*relay.Peer]bool{}
	var room *relay.Room
	s := must(b, "relay", func(addr string) (*relay.Server, error) {
		lobby := relaycore.NewEntryLobby(relaycore.EntryConfig{GameCodes: 3})
		return relay.Listen(addr, relay.Config{Lobby: lobby}, func(_ *relay.Peer, ev relay.Event) {
			if ev.Kind != relaycore.EventPass {
				return
			}
			who, told, refusal := b.judge(ev.Newcomer.Pass())
			if refusal != "" {
				ev.Newcomer.Refuse(refusal)
				return
			}
			p, err := ev.Newcomer.Admit(room, "")
			if b.check(err); err != nil {
				return
			}
			peers[p] = true
			b.check(p.Send(relay.Unordered, told.AppendTo([]byte{message.RelaySession}, message.Big)))
			b.check(p.Send(relay.Unordered, message.AppendRelayYou([]byte{message.RelayYou}, uint16(who))))
			b.check(p.Send(relay.Unordered, b.world().AppendTo([]byte{message.RelayWorld}, message.Big)))
			b.check(p.Send(relay.Unreliable, append(message.Fate{}.AppendTo([]byte{message.RelayTick}, message.Big), 1, 2, 3)))
			b.check(p.Send(relay.Unordered, []byte{message.RelaySession, 1, 2, 3}))
			b.check(p.Send(relay.Unordered, []byte{77, 1, 2, 3}))
		})
	})
	b.check(s.Do(func() { room = s.NewRoom() }))
	b.at["relay"] = s.Addr().String()
	b.shut["relay"] = func() { s.Close() }
	b.drop["relay"] = func(why string) {
		b.check(s.Do(func() {
			for p := range peers {
				b.check(p.Send(relay.SemiOrdered, message.AppendSaid([]byte{message.RelaySaid}, message.ServerName, []byte(why))))
				p.Close(why)
				delete(peers, p)
			}
		}))
	}
}

func (b *booth) openDuplex() {
	conns := map[*duplex.Conn]bool{}
	var sessions = map[*duplex.Conn]message.Session{}
	s := must(b, "duplex", func(addr string) (*duplex.Server, error) {
		return duplex.Listen(addr, duplex.Config{Schema: schema.Duplex(b.schema), Judge: func(c *duplexcore.Conn, raw []byte) {
			pass, ok := message.ParseSized(raw)
			who, told, refusal := b.judge(pass)
			status := map[string]uint8{"": 0, "game is full": 6, "no such session": 8, "room needs a ticket": 3}[refusal]
			if !ok {
				status = 14
			}
			if c.AnswerPass(status, int16(who), nil); status == 0 {
				sessions[c] = told
			}
		}}, func(c *duplex.Conn, ev duplex.Event) {
			switch {
			case ev.Kind == duplex.EventJoined:
				conns[c] = true
				told := sessions[c]
				for range b.flood {
					b.check(c.Sync(message.DuplexSession, message.Session{Token: message.Token{1}}.AppendTo(nil, message.Big)))
				}
				b.check(c.Sync(message.DuplexSession, told.AppendTo(nil, message.Big)))
				b.check(c.Sync(message.DuplexWorld, b.world().AppendTo(nil, message.Big)))
			case ev.Kind == duplex.EventQuery && ev.Code == message.DuplexConfirm:
				b.set(func() { b.confirmed++ })
				b.check(c.Reply(ev.ID, 0, nil))
			}
		})
	})
	b.at["duplex"] = s.Addr().String()
	b.shut["duplex"] = func() { s.Close() }
	b.drop["duplex"] = func(why string) {
		b.check(s.Do(func() {
			for c := range conns {
				b.check(c.Sync(message.DuplexSaid, message.AppendDuplexSaid(nil, message.ServerName, []byte(why))))
				c.Close(why)
				delete(conns, c)
			}
		}))
	}
}

func (b *booth) check(err error) {
	b.Helper()
	if err != nil {
		b.Error(err)
	}
}

// caller is a player, and the notices that it got.
type caller struct {
	*line.Line
	t       testing.TB
	notices chan line.Notice
}

// deaf reads nothing.
func deaf(*line.Conn) line.Reader {
	return line.Reader{
		Replica: func(replica.Event) {}, Relay: func(relay.Event) {}, Duplex: func(duplex.Event) {}, Realm: func(realm.Event) {}, Stamp: func(stamp.Event) {},
	}
}

// call joins the booth.
func (b *booth) call(c line.Config, dialects ...string) *caller {
	b.Helper()
	x := &caller{t: b, notices: make(chan line.Notice, 1000)}
	c.Game, c.Schema, c.Read = "arena", b.schema, deaf
	for _, d := range dialects {
		c.Ways = append(c.Ways, line.Way{Dialect: d, Addr: b.at[d]})
	}
	c.Notice = func(n line.Notice) { x.notices <- n }
	var err error
	if x.Line, err = line.Dial(b.Context(), c); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { x.Close(context.Background()) })
	return x
}

// token waits until it is told another session than before, and returns its token.
func (x *caller) token(before message.Token) (now message.Token) {
	x.t.Helper()
	patient.Until(x.t, "it is told a session", func() bool {
		now, _ = x.Session()
		return now != before
	})
	return now
}

// wants waits for the next notice, which is of this kind.
func (x *caller) wants(kind line.NoticeKind) line.Notice {
	x.t.Helper()
	n := patient.Value(x.notices)
	if n.Kind != kind {
		x.t.Fatalf("it is told %+v, not a notice of kind %d", n, kind)
	}
	return n
}
